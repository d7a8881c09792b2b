"""Pages and the API show visitors the same data, which are those of the downloads."""

import json
from typing import Any

import pytest

from tests.web import world as w
from tests.web.api.calling import call, get
from tests.web.making import single
from winosmith.web.api import families
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import save_agreement
from winosmith.web.perturb.rules import Position, SentenceInput, create_version
from winosmith.web.problems.models import Problem, Twin


def _many(count: int) -> None:
    """Create public problems: twins of a person, and one single problem."""
    bob = Person.objects.create_user("bob")
    for n in range(count):
        twin = Twin.objects.create(ref=f"many-{n}", contributor=bob, domain="social")
        for letter, word in (("a", "large"), ("b", "small"))[: 2 if n else 1]:
            text = f"The cup number {n} hit the jug since the _ was {word}."
            record = {} if n else {"single": True}
            single(f"many-{n}-{letter}", text, twin=twin, answer=int(letter == "b"), record=record)


def test_pages_of_the_api_match_the_site_and_the_downloads(db, visit):
    _many(25)
    browser = visit()
    for asked in ("", "q=cup+-small", "twins=singles", "q=%22number+7%22", "domain=physical"):
        told, address = [], f"problems?{asked}"
        page = browser.get(f"/problems/?{asked}").context["page"]
        while True:
            here = get(address).json()
            assert [one["id"] for one in here["items"]] == [row.ref for row in page.problems]
            told += here["items"]
            if here["next"] is None:
                break
            address = f"problems?{asked}&after={here['next']}"
            page = browser.get(f"/problems/?{page.older}").context["page"]
        assert not page.older
        assert (here["previous"] is None) == (len(told) <= 20)
        if here["previous"]:
            back = get(f"problems?{asked}&before={here['previous']}").json()["items"]
            assert back == told[-len(here["items"]) - 20 : -len(here["items"])]
        file = browser.get(f"/download/problems.jsonl?{asked}").getvalue()
        lines = {
            line["id"]: _without_empty_fields(line) for line in map(json.loads, file.splitlines())
        }
        assert {one["id"]: _without_empty_fields(one) for one in told} == lines
        assert here["count"] == len(told)
        assert not here["more"]


def _without_empty_fields(said: dict[str, Any]) -> dict[str, Any]:
    """Return a problem without its empty fields, as in files."""
    return {
        key: _without_empty_fields(value) if isinstance(value, dict) else value
        for key, value in said.items()
        if value not in (None, False, {}) or (key == "answer" and value == 0)
    }


@pytest.mark.parametrize("state", w.STATES)
def test_problem_in_the_api_matches_its_page(world, state):
    page = w.browser_of(world, "visitor").get(f"/problems/{state}-a/")
    answer = get(f"problems/{state}-a")
    assert answer.status_code == page.status_code
    if page.status_code != 200:
        return
    told, shown = answer.json(), page.context
    halves = {one["problem"]["id"]: one for one in (told, *told["others"])}
    assert halves.keys() == {half.ref for half, *_ in shown["halves"]}
    for half, judged, *_ in shown["halves"]:
        one = halves[half.ref]
        assert one["problem"]["sentence"] == half.sentence
        assert (one["judged"] is None) == (judged is None)
    assert told["problem"]["origin"]["author"] == shown["credit"]
    assert (told["family"] is None) == (shown["family"] is None)


def test_figures_and_models_in_the_api_match_their_pages(world):
    browser = w.browser_of(world, "visitor")
    figures = browser.get("/card/").context["card"]["figures"]
    told = get("figures").json()
    assert {name: told[name] for name in ("problems", "twins", "judged")} == {
        name: figures[name] for name in ("problems", "twins", "judged")
    }
    models = browser.get("/models/").context["models"]
    assert [one["name"] for one in get("models").json()] == [m["model"].name for m in models]


def test_family_is_listed_in_pages_with_parents_first(db, ann, monkeypatch):
    """Hidden versions are omitted, also as parents; a hidden root shows no text."""
    _many(2)
    root = Problem.objects.get(ref="many-1-a")
    refs = _perturb(ann, root, "0001")
    address = f"families/{root.ref}/versions"
    assert [one["problem"]["id"] for one in get(address).json()["items"]] == [root.ref]
    Problem.objects.filter(ref__in=[refs[0], *refs[2:]]).update(state="valid")
    page = get(address).json()
    parents = {one["problem"]["id"]: one["parent"] for one in page["items"]}
    assert parents == {root.ref: None, refs[0]: root.ref, refs[2]: root.ref, refs[3]: refs[0]}
    assert next(iter(parents)) == root.ref
    assert page["next"] is None
    assert get(f"families/{refs[3]}/versions").json() == page
    monkeypatch.setattr(families, "PAGE_SIZE", 3)
    first = get(address).json()
    assert (first["items"], first["next"]) == (page["items"][:3], list(parents)[2])
    rest = get(f"{address}?after={first['next']}").json()
    assert (rest["items"], rest["next"]) == (page["items"][3:], None)
    assert get(f"{address}?after={refs[1]}").status_code == 404
    Problem.objects.filter(pk=root.pk).update(state="withdrawn")
    hidden = get(address)
    assert root.sentence not in hidden.text
    assert root.ref not in {one["problem"]["id"] for one in hidden.json()["items"]}
    assert {one["parent"] for one in hidden.json()["items"]} == {None, refs[0]}


def _perturb(person: Any, root: Problem, parents: str) -> list[str]:
    """Let a person perturb a problem; return the ids of its hidden versions.

    `parents` contains a digit per version: 0 for the root, otherwise the number of the parent.
    """
    save_agreement(person)
    refs = [root.ref]
    for n, parent in enumerate(parents):
        place = Position.for_new_version(person, Problem.objects.get(ref=refs[int(parent)]))
        form = {"sentence": root.sentence.replace("cup", f"very {n} cup", 1), "answer": "0"}
        form |= {f"option_{k}": option for k, option in enumerate(root.options, 1)}
        refs.append(create_version(place, SentenceInput.from_form(form, 2), new_key()))
    return refs[1:]


def test_unchanged_answers_return_304(world):
    for path in ("problems", "problems/public-a", "figures"):
        first = get(path)
        again = get(path, **{"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert "private" in first["Cache-Control"]
    head = call("head", "figures")
    assert (head.status_code, head.content) == (200, b"")
