"""Hidden problems change no public page, file, search, count or header."""

import re
from typing import Any

import pytest

from tests.web.making import has_seen
from winosmith.web.people.models import get_pseudonym
from winosmith.web.read import downloads
from winosmith.web.read.downloads import FILES, VOTES

HIDDEN: dict[str, dict[str, Any]] = {
    "held": {"state": ("held", "held")},
    "judging": {"state": ("judging", "judging")},
    "withdrawn": {"state": ("withdrawn", "withdrawn")},
    "revised": {"state": ("revised", "revised")},
    "embargo": {"embargo": True},
    "embargo, rejected": {"state": ("rejected", "rejected"), "embargo": True},
    "gold": {"gold": True},
    "rejected, gold": {"state": ("rejected", "rejected"), "gold": True},
}
"""Every way not to be public, except a plain rejection, which the funnel counts."""

PAGES = ("/", "/problems/", "/download/", "/guidelines/", "/card/", "/card/data-card.md")


def _list_queries(author: str) -> list[str]:
    return [
        "",
        "?q=zebra",
        "?q=shelf",
        "?q=-zebra+shelf",
        f"?contributor={author}",
        "?domain=other",
        "?twins=twins",
        "?twins=singles",
        "?agreement=none",
        "?since=2020-01-01",
    ]


def _get_answers(client: Any, author: str) -> dict[str, tuple[Any, ...]]:
    """Return what a visitor can get: status, body, and headers that describe the data."""
    files = [f"/download/{name}?fitting=1" for name in (*FILES, *VOTES)]
    narrowed = [
        f"{path}{query}"
        for path in ("/problems/", "/download/", "/download/problems.jsonl", "/download/votes.csv")
        for query in _list_queries(author)
    ]
    return {path: _get_answer(client, path) for path in (*PAGES, *files, *narrowed)}


def _get_answer(client: Any, path: str) -> tuple[Any, ...]:
    answer = client.get(path)
    body = answer.getvalue()
    body = re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"", body)
    return answer.status_code, body, answer.get("ETag"), answer.get("X-Data-Digest")


@pytest.mark.long
@pytest.mark.parametrize("who", ["visitor", "account"])
def test_hidden_twins_change_no_answer(db, visit, twin, person, ann, monkeypatch, who):
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS_PER_HOUR", 10_000)
    eve = person("eve")
    twin(ann)
    client = visit(eve if who == "account" else None)
    before = _get_answers(client, get_pseudonym(ann))
    kinds = HIDDEN if who == "visitor" else ["embargo"]
    for kind in kinds:
        hidden = twin(ann, word="zebra", domain="farm", **HIDDEN[kind])
        after = _get_answers(client, get_pseudonym(ann))
        assert [(kind, path) for path in before if before[path] != after[path]] == []
        ref = hidden[0].ref
        status, body, *rest = _get_answer(client, f"/problems/{ref}/")
        other = _get_answer(client, "/problems/half999999a/")
        assert (status, body.replace(ref.encode(), b"half999999a"), *rest) == other
        assert status == 404


@pytest.mark.parametrize("state", ["held", "judging", "withdrawn", "revised", "rejected"])
def test_hidden_half_of_a_public_half_is_not_shown(db, visit, twin, state):
    shown, hidden = twin(state=("valid", state))
    for path in (f"/problems/{shown.ref}/", "/problems/", "/"):
        page = visit().get(path).text
        assert hidden.ref not in page
        assert "was too small" not in page.replace('<span class="blank">_</span> ', "")
    assert visit().get(f"/problems/{hidden.ref}/").status_code == 404


def test_reading_a_half_marks_the_other_as_seen(db, visit, twin, person, bob, ann):
    """A judge who read one half must not be asked about the other."""
    eve = person("eve")
    shown, waiting = twin(state=("valid", "judging"))
    visit(bob).get("/problems/")
    visit(eve).get(f"/problems/{shown.ref}/")
    visit(ann).get("/problems/?q=zebra")
    assert [has_seen(who, waiting) for who in (bob, eve, ann)] == [True, True, False]
