"""Hidden versions change no page, part or file of families."""

import re
from typing import Any

import pytest

from tests.web.growing import family, model, says, version
from tests.web.making import has_seen, single
from winosmith.web.problems.models import Problem
from winosmith.web.read import downloads

pytestmark = pytest.mark.usefixtures("db")

HIDDEN: dict[str, dict[str, Any]] = {
    "held": {"state": "held"},
    "judging": {"state": "judging"},
    "rejected": {"state": "rejected"},
    "withdrawn": {"state": "withdrawn"},
    "revised": {"state": "revised"},
    "embargo": {"embargo": True},
    "gold": {"gold": True},
}
"""The fields of problems that are not public, for each reason."""

HX = {"HTTP_HX_REQUEST": "true"}


def _paths(root: Any) -> list[str]:
    return [
        "/families/",
        "/families/?q=zebra",
        "/families/?q=jug&sort=newest",
        "/families/?sort=fooling",
        f"/families/{root.ref}/",
        f"/families/{root.ref}/?model=all&depth=edit",
        f"/families/{root.ref}/?version={root.ref}",
        f"/families/{root.ref}/below/{root.ref}/?model=alpha",
        "/families/models/",
        "/families/data/problems.jsonl",
        "/families/data/problems.jsonl?model=alpha",
        "/",
        "/problems/?kind=perturbed",
        f"/problems/?family={root.ref}",
        f"/problems/{root.ref}/",
        "/download/",
        "/card/",
        "/perturb/",
        "/perturb/?kind=perturbed",
        "/perturb/?kind=&q=jug",
        "/families/data/alpha.jsonl",
        "/families/data/alpha.jsonl?of=all",
    ]


def _answer(client: Any, path: str) -> tuple[Any, ...]:
    answer = client.get(path, **(HX if "/below/" in path else {}))
    body = answer.getvalue()
    body = re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"", body)
    return answer.status_code, body, answer.get("ETag"), answer.get("X-Data-Digest")


def _looks_missing(client: Any, path: str, ref: str) -> bool:
    """Return whether the page of a hidden id equals that of an id that never existed."""
    (status, body, *_), none = _answer(client, path), _answer(client, path.replace(ref, "none"))
    return (status, body.replace(ref.encode(), b"none")) == none[:2]


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the limit on downloads."""
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS_PER_HOUR", 10_000)


@pytest.mark.parametrize(
    "who",
    [
        "visitor",
        pytest.param("account", marks=pytest.mark.long),
        pytest.param("moderator", marks=pytest.mark.long),
    ],
)
def test_hidden_versions_change_no_answer(visit, person, ann, unlimited, who):
    eve = person("eve", is_moderator=who == "moderator")
    alpha = model("alpha")
    found = family(alpha, by=ann)
    client = visit(None if who == "visitor" else eve)
    before = {path: _answer(client, path) for path in _paths(found["root"])}
    assert {answer[0] for answer in before.values()} == {200}
    for kind, fields in HIDDEN.items():
        sentence = f"The zebra hit the jug and the _ broke {kind} ."
        hidden = version(found["old"], sentence, by=ann, **fields)
        says(alpha, hidden, False)
        under = version(hidden, f"{sentence} Really .", by=ann, **fields)
        says(alpha, under, False)
        after = {path: _answer(client, path) for path in before}
        assert [(kind, path) for path in before if before[path] != after[path]] == []
        asked = f"/families/{found['root'].ref}/?version={hidden.ref}"
        assert _looks_missing(client, asked, hidden.ref)
        assert client.get(asked).status_code == 404
        part = f"/families/{found['root'].ref}/below/{hidden.ref}/"
        assert client.get(part, **HX).status_code == 404
        assert _looks_missing(client, f"/problems/?family={hidden.ref}", hidden.ref)
        if who != "moderator":
            assert client.get(f"/families/{hidden.ref}/").status_code == 404


@pytest.mark.parametrize("kind", HIDDEN)
def test_family_with_only_hidden_versions_is_hidden(visit, kind):
    found = family(model("alpha"))
    Problem.objects.filter(pk__in=[p.pk for p in found.values()]).update(**HIDDEN[kind])
    client = visit()
    for ref in (found["root"].ref, found["old"].ref):
        assert client.get(f"/families/{ref}/").status_code == 404
        assert _looks_missing(client, f"/families/{ref}/", ref)
    assert found["root"].ref not in client.get("/families/").text


@pytest.mark.parametrize("kind", [kind for kind in HIDDEN if kind != "embargo"])
def test_versions_of_a_hidden_root_keep_their_tree(visit, kind):
    """The tree contains no word, verdict or link of its root."""
    alpha = model("alpha")
    root = version(None, "The zebra hit the jug and the _ broke .", **HIDDEN[kind])
    made = version(root, "The horse hit the jug and the _ broke .")
    under = version(made, "The horse hit the old jug and the _ broke .")
    for one, right in ((root, False), (made, True), (under, False)):
        says(alpha, one, right)
    client = visit()
    pages = [f"/families/{root.ref}/", f"/families/{root.ref}/?model=all&version={under.ref}"]
    pages += [f"/families/{made.ref}/", f"/families/{root.ref}/?version={root.ref}"]
    for path in pages:
        told = client.get(path, follow=True).text
        assert "The first sentence is not public." in told
        assert f"/problems/{made.ref}/" in told
        assert "zebra" not in told
        assert f"/problems/{root.ref}/" not in told
        assert f"/perturb/{root.ref}/" not in told
    part = client.get(f"/families/{root.ref}/below/{root.ref}/", **HX).text
    assert made.ref in part
    assert "zebra" not in part
    assert (
        f'href="/families/{root.ref}/?version={under.ref}"'
        in client.get(f"/problems/{under.ref}/").text
    )
    assert client.get(f"/problems/{root.ref}/").status_code == 404


def test_reading_half_of_an_undecided_twin_is_recorded(visit, person, bob):
    """Its reader will not judge the other half."""
    eve = person("eve")
    root = family()["root"]
    waiting = single("otherhalf", twin=root.twin, state="judging")
    visit(bob).get(f"/families/{root.ref}/")
    assert [has_seen(who, waiting) for who in (bob, eve)] == [True, False]
