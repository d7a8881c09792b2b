"""The pages for everyone, their filters, and the way from page to page."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from winosmith.web.judge.models import Verdict
from winosmith.web.people import models
from winosmith.web.people.models import find_person, get_pseudonym
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Twin
from winosmith.web.read.public import Filters, decrypt_key, encrypt_key

pytestmark = pytest.mark.usefixtures("db")


def _refs(**query: str) -> set[str]:
    return set(Filters(query).apply().values_list("ref", flat=True))


def test_each_filter_narrows(twin: Any, ann: Any) -> None:
    """Domain, twins or singles, contributor, days and agreement each leave what they say."""
    social = twin(ann, domain="social")
    single = twin(domain="physical", state=("valid", "rejected"))[:1]
    other = twin(domain="farm")
    old = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    Twin.objects.filter(pk=social[0].twin_id).update(created=old)
    Verdict.objects.create(problem=social[0], counts="3", valid=True)
    Verdict.objects.create(problem=social[1], counts="2,1", valid=True)
    s, one, o = ({row.ref for row in rows} for rows in (social, single, other))
    assert _refs() == s | one | o
    assert (_refs(domain="social"), _refs(domain="physical"), _refs(domain="other")) == (s, one, o)
    assert (_refs(twins="twins"), _refs(twins="singles")) == (s | o, one)
    assert (_refs(contributor=get_pseudonym(ann)), _refs(contributor="p-000000000000")) == (
        s,
        set(),
    )
    assert (_refs(until="2026-01-31"), _refs(until="2026-01-30")) == (s, set())
    assert (_refs(since="2026-02-01"), _refs(since="2026-01-31")) == (one | o, s | one | o)
    assert _refs(since="0001-01-01", until="9999-12-31") == s | one | o
    assert _refs(agreement="all") == {social[0].ref}
    assert _refs(agreement="most") == {social[1].ref}
    assert _refs(agreement="none") == one | o
    assert _refs(domain="social", agreement="all", q="large") == {social[0].ref}


def test_a_pseudonym_tells_of_nobody_who_wrote_nothing_public(
    visit: Any, twin: Any, ann: Any
) -> None:
    """Asked for by their pseudonym they are nobody; a moderator finds them all the same."""
    twin(ann, state=("judging", "held"))
    pages = [
        visit().get(f"/problems/?contributor={name}").content.decode().replace(name, "")
        for name in (get_pseudonym(ann), "p-000000000000")
    ]
    assert pages[0] == pages[1]
    assert find_person(get_pseudonym(ann)) == ann


def test_who_guesses_pseudonyms_has_not_all_of_them_made(
    person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once made, only those of who came since are made anew, and of the erased."""
    monkeypatch.setattr(models, "_cached_keys", {})
    old, gone = person("old"), person("gone")
    assert models.find_person(models.get_pseudonym(old)) == old
    erase(gone, texts=False)
    gone.refresh_from_db()
    new = person("new")
    monkeypatch.setattr(models, "_RECHECKED", 0)
    made, make = [], models.get_pseudonym
    monkeypatch.setattr(models, "get_pseudonym", lambda who: made.append(who.pk) or make(who))
    assert models.find_person("p-000000000000") is None
    assert set(made) == {gone.pk, new.pk}
    assert models.find_person(make(gone)) == gone


@pytest.mark.parametrize(
    "query",
    [
        {"domain": "nowhere"},
        {"contributor": "ann"},
        {"since": "yesterday"},
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"q": "x" * 201},
        {"twins": "3"},
    ],
)
def test_a_filter_that_is_none_is_told(visit: Any, twin: Any, query: dict[str, str]) -> None:
    """A filter that can't be used shows no problem and no file, and says so with status 422."""
    twin()
    for path in ("/problems/", "/download/", "/download/problems.csv"):
        answer = visit().get(path, query)
        assert (answer.status_code, b"shelf" in answer.content) == (422, False)


def test_pages_lead_on_and_back(visit: Any, twin: Any) -> None:
    """Following "Older" shows every problem once, newest first; "Newer" leads the same way back."""
    for _ in range(26):
        twin()
    client, path, seen, pages = visit(), "/problems/?q=trophy", [], []
    while path:
        page = client.get(path).content.decode()
        pages.append(re.findall(r"/problems/(p\d+[ab])/", page))
        seen += [ref for found in client.get(path).context["groups"] for ref in found[2][::-1]]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = "/problems/" + older[1].replace("&amp;", "&") if older else ""
    assert [len(page) > 0 for page in pages] == [True, True, True]
    assert [row.pk for row in seen] == sorted((row.pk for row in seen), reverse=True)
    assert len({row.pk for row in seen}) == len(seen) == 52
    back = page
    for expected in pages[1::-1]:
        newer = re.search(r'rel="prev" href="([^"]+)"', back)
        back = client.get("/problems/" + newer[1].replace("&amp;", "&")).content.decode()
        assert re.findall(r"/problems/(p\d+[ab])/", back) == expected


def test_a_page_mark_tells_nothing() -> None:
    """A mark is undone by this site alone, and another text is none."""
    assert [decrypt_key(encrypt_key(n)) for n in (1, 2, 10**12)] == [1, 2, 10**12]
    mark = encrypt_key(5)
    assert len(mark) == 32
    assert decrypt_key("") is decrypt_key("5") is decrypt_key("é" * 32) is None
    assert decrypt_key(mark[:-1] + ("0" if mark[-1] != "0" else "1")) is None


def test_the_first_page_shows_what_people_agreed_on_most(
    visit: Any, twin: Any, forgotten: None
) -> None:
    """The twin with most votes, all alike, is shown; never the newest, nor one nobody judged."""

    def told() -> str:
        return str(visit().get("/").content.decode())

    kinds = {"lamp": ("3", "3"), "harp": ("10", "7"), "kite": ("2,1", "9"), "desk": ()}
    for word, counts in kinds.items():
        for half, chosen in zip(twin(word=word), counts, strict=False):
            Verdict.objects.create(problem=half, counts=chosen, valid=True)
    page = told()
    assert page.count('<p class="sentence"') == 2
    assert "harp" in page
    assert not any(word in page for word in ("lamp", "kite", "desk"))
    Verdict.objects.all().delete()
    assert '<p class="sentence"' not in told()


@pytest.mark.parametrize("path", ["/problems/", "/perturb/"])
def test_an_empty_list_says_when_problems_become_public(
    db: Any, visit: Any, rules: Any, path: str
) -> None:
    """A valid half waits for the other half, unless the site has no wait."""
    assert "after 14 days" in visit().get(path).content.decode()
    rules(wait_days=0)
    assert "once judges find it valid.</p>" in visit().get(path).content.decode().replace("\n", "")
