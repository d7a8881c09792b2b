"""Pages and the API show a user the same data; public data are those of the downloads."""

import json
from typing import Any

import pytest

from tests.web import world as w
from tests.web.api.calling import Program, program
from tests.web.making import single
from winosmith.web.api import families
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import save_agreement
from winosmith.web.perturb.rules import Position, SentenceInput, create_version
from winosmith.web.problems.models import Problem, Twin, Version


@pytest.fixture(scope="module")
def callers(stood: Any) -> dict[str, Any]:
    """Return a program for each of four roles."""
    roles = ("owner", "judge", "moderator")
    return {"visitor": Program(), **{role: program(stood.people[role]) for role in roles}}


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
    browser, caller = visit(), Program()
    for asked in ("", "q=cup+-small", "twins=singles", "q=%22number+7%22", "domain=physical"):
        told, address = [], f"problems?{asked}"
        page = browser.get(f"/problems/?{asked}").context["page"]
        while True:
            here = caller.get(address).json()
            assert [one["id"] for one in here["items"]] == [row.ref for row in page.problems]
            told += here["items"]
            if here["next"] is None:
                break
            address = f"problems?{asked}&after={here['next']}"
            page = browser.get(f"/problems/?{page.older}").context["page"]
        assert not page.older
        assert (here["previous"] is None) == (len(told) <= 20)
        if here["previous"]:
            back = caller.get(f"problems?{asked}&before={here['previous']}").json()["items"]
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


@pytest.mark.parametrize("role", ["visitor", "owner", "judge", "moderator"])
@pytest.mark.parametrize("state", w.STATES)
def test_problem_in_the_api_matches_its_page_for_each_role(world, callers, role, state):
    page = w.browser_of(world, role).get(f"/problems/{state}-a/")
    answer = callers[role].get(f"problems/{state}-a")
    assert answer.status_code == page.status_code
    if page.status_code != 200:
        return
    told, shown = answer.json(), page.context
    halves = {one["problem"]["id"]: one for one in (told, *told["others"])}
    assert halves.keys() == {half.ref for half, *_ in shown["halves"]}
    for half, judged, until, may_perturb in shown["halves"]:
        one = halves[half.ref]
        assert one["problem"]["sentence"] == half.sentence
        assert one["state"] == half.state
        assert (one["judged"] is None) == (judged is None)
        assert (one["waits_until"] is None) == (until is None)
        assert (f"/perturb/{half.ref}/" in page.text) == may_perturb
        if one is told:
            assert told["may_perturb"] == may_perturb
    assert told["public"] == shown["public"]
    assert told["problem"]["origin"]["author"] == shown["credit"]
    assert (told["family"] is None) == (shown["family"] is None)


def test_own_twins_in_the_api_match_their_pages(world, callers):
    owner, browser = callers["owner"], w.browser_of(world, "owner")
    shown = browser.get("/write/mine/").context["twins"]
    listed = owner.get("me/twins").json()["items"]
    assert [one["ref"] for one in listed] == [twin.ref for twin, _place in shown]
    page = browser.get("/write/mine/twin-rejected/").context
    told = owner.get("me/twins/twin-rejected").json()
    assert [half["problem"]["id"] for half in told["halves"]] == [
        half["problem"].ref for half in page["halves"]
    ]
    assert told["may_revise"] == page["may_revise"]


def test_figures_and_models_in_the_api_match_their_pages(world, callers):
    browser, caller = w.browser_of(world, "visitor"), callers["visitor"]
    figures = browser.get("/card/").context["card"]["figures"]
    told = caller.get("figures").json()
    assert {name: told[name] for name in ("problems", "twins", "judged")} == {
        name: figures[name] for name in ("problems", "twins", "judged")
    }
    models = browser.get("/models/").context["models"]
    assert [one["name"] for one in caller.get("models").json()] == [m["model"].name for m in models]


def test_family_is_listed_in_pages_with_parents_first(db, ann, monkeypatch):
    _many(2)
    root = Problem.objects.get(ref="many-1-a")
    save_agreement(ann)
    caller, last = program(ann), root.ref
    for n in range(3):
        place = Position.for_new_version(ann, Problem.objects.get(ref=last))
        form = {"sentence": root.sentence.replace("cup", f"very {n} cup", 1), "answer": "0"}
        form |= {f"option_{k}": option for k, option in enumerate(root.options, 1)}
        made = create_version(place, SentenceInput.from_form(form, 2), new_key())
        last = made.ref if n == 1 else last
    page = caller.get(f"families/{root.ref}/versions").json()
    ids = [one["problem"]["id"] for one in page["items"]]
    assert ids[0] == root.ref
    assert len(ids) == 4
    assert page["next"] is None
    parents = {one["problem"]["id"]: one["parent"] for one in page["items"]}
    assert parents[root.ref] is None
    assert [one["public"] for one in page["items"]] == [True, False, False, False]
    assert Version.objects.get(problem__ref=ids[-1]).parent.ref == parents[ids[-1]]
    monkeypatch.setattr(families, "PAGE_SIZE", 3)
    first = caller.get(f"families/{root.ref}/versions").json()
    assert (first["items"], first["next"]) == (page["items"][:3], ids[2])
    rest = caller.get(f"families/{root.ref}/versions?after={ids[2]}").json()
    assert (rest["items"], rest["next"]) == (page["items"][3:], None)
    assert Program().get(f"families/{root.ref}/versions?after={ids[1]}").status_code == 404


def test_unchanged_public_answers_return_304(world, callers):
    """With a token, nothing is cached."""
    for path in ("problems", "problems/public-a", "figures"):
        first = callers["visitor"].get(path)
        again = callers["visitor"].get(path, **{"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert "private" in first["Cache-Control"]
        assert "Authorization" in first["Vary"]
        own = callers["judge"].get(path, **{"If-None-Match": first["ETag"]})
        assert own.status_code == 200
        assert "no-store" in own["Cache-Control"]
    head = callers["visitor"].call("head", "figures")
    assert (head.status_code, head.content) == (200, b"")
