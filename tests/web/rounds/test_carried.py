"""A whole round on a site: pool, build, solvers, database; broken off, it goes on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.making import fresh
from tests.web.rounds.conftest import CHANCE, TWINS, WORDS
from tests.web.rounds.making import SMALL, carried_out, fill
from winosmith.report import percent
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.problems.models import Problem, State
from winosmith.web.rounds import running, running as rules
from winosmith.web.rounds.models import Place, Round
from winosmith.web.rounds.running import store_results, write_pool


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(autouse=True)
def _no_files_stay(site: Any) -> Iterator[None]:
    """Let the next test use the same names."""
    yield
    shutil.rmtree(site.folder / "rounds", ignore_errors=True)


class BreakError(BaseException):
    """Stands for what ends a process in the middle."""


def _break_off(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the round break off when its step begins."""
    place = running.ProgressReporter._find_step

    def broken(self: Any, title: str) -> int:
        if title == name:
            raise BreakError
        return place(self, title)

    monkeypatch.setattr(running.ProgressReporter, "_find_step", broken)


def test_a_round_goes_on_after_a_break_and_accounts_for_its_pool(
    db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off before its solvers, it keeps pool and vectors, ends, and places every problem."""
    refs = fill(TWINS)
    hidden = Problem.objects.filter(ref__in=refs[:6])
    hidden.update(embargo=True)
    made = rules.create_round("one", {**SMALL, "solvers": [WORDS]})
    with monkeypatch.context() as patch:
        _break_off(patch, "solving with words")
        with pytest.raises(BreakError):
            carried_out(made)
    assert (fresh(made).state, made.doing["step"]) == ("running", "writing")
    vectors = made.folder / "results/build/private/embeddings.npy"
    before = vectors.stat().st_mtime_ns
    hidden.update(embargo=False)  # what becomes public meanwhile is for the next round
    carried_out(made)
    assert (fresh(made).state, made.error, made.busy) == ("done", "", False)
    assert vectors.stat().st_mtime_ns == before

    places = Place.objects.filter(round=made)
    assert set(places.values_list("problem__ref", flat=True)) == set(refs[6:])
    assert places.filter(stage="").count() == made.record["build"]["kept"]
    assert made.record["people"]["agree"] > 0.9
    for place in places.filter(stage="aflite"):
        by = f"{percent(place.score, 0)} of the ensemble in phase {place.phase}"
        assert place.reason == f"guessed: predicted by {by}"
        assert place.score == pytest.approx(place.guessed / place.asked)
        assert place.score >= SMALL["filter"]["threshold"]
        assert place.asked <= SMALL["filter"]["ensemble_size"]
    roots = list(places.exclude(root=None).order_by("root").values_list("problem__sentence"))
    asked = [(one["sentence"],) for one in _records(made.folder / "results/roots.jsonl")]
    assert roots == asked
    assert Problem.objects.exclude(state="valid").count() == 0


@pytest.mark.long
def test_a_round_by_the_mirror_filter_is_carried_out_and_shown(db: Any, visit: Any) -> None:
    """Whole twins go, each with its margin, and the page names the filter and what is left."""
    fill(TWINS)
    recipe = {**SMALL, "filter": {"method": "mirror", "aim": "chance"}, "solvers": [CHANCE]}
    made = rules.create_round("one", recipe)
    carried_out(made)
    rules.publish_round(None, Round.objects.get(pk=made.pk))
    gone = Place.objects.filter(round=made, stage="mirror").select_related("problem")
    assert len(gone) > 10
    assert all("with a margin of" in place.reason for place in gone)
    assert len({place.problem.twin_id for place in gone}) == len(gone) / 2
    page = visit().get("/rounds/round/one/").content.decode()
    assert "filter (mirror)" in page
    assert "filtered separately (before the filter:" in page


def test_what_came_of_a_round_is_stored_once(database: Any, carried: Any, stored: Any) -> None:
    """Stored again, as after an interrupt, no place and no figure changes."""
    made = stored("one")
    before = list(Place.objects.order_by("pk").values())
    assert len(before) == 2 * TWINS
    assert not store_results(made, carried.found, lambda done: None)  # it runs no more
    Round.objects.filter(pk=made.pk).update(state="running", record=None)
    assert store_results(made, carried.found, lambda done: None)
    assert list(Place.objects.order_by("pk").values()) == before
    assert Round.objects.get(pk=made.pk).record == json.loads(
        (carried.found.folder / "round.json").read_text("utf-8")
    )


@pytest.mark.long
def test_the_second_round_is_compared_with_the_first(db: Any, stored: Any) -> None:
    """Its solvers answer the last round's dev, and each figure stands beside the last one."""
    first = stored("one")
    shutil.copytree(first.carried_in, first.folder / "results")
    Problem.objects.filter(pk__in=Problem.objects.values("pk")[:6]).update(embargo=True)
    made = rules.create_round("two", {**SMALL, "solvers": [CHANCE]})
    carried_out(made)
    made = Round.objects.get(pk=made.pk)
    assert (made.state, made.error) == ("done", "")
    by_name = {what: (last, now) for what, last, now, _form in made.changes}
    assert by_name["collected"] == (2 * TWINS, 2 * TWINS - 6)
    assert made.record["people"] is None
    assert made.record["solvers"]["chance"]["last"]["n"] > 0
    assert (made.folder / "results/predictions/chance.last.jsonl").exists()
    stayed, new = (sum(made.record["sides"][key].values()) for key in ("stayed", "new"))
    assert (stayed, new) == (made.record["build"]["kept"], 0)
    sides = [
        {line["id"]: line["side"] for line in _records(made.folder / name)}
        for name in ("results/build/private/sides.jsonl",)
    ]
    assert len(sides[0]) == 2 * TWINS  # what is under embargo now was published before


def test_the_pool_is_what_downloads_have(database: Any) -> None:
    """Nobody's name and nothing that is not public is handed over; votes stand under pseudonyms."""
    refs = fill(14)
    Problem.objects.filter(ref=refs[0]).update(embargo=True)
    Problem.objects.filter(ref=refs[1]).update(gold=True)
    for ref, state in zip(refs[2:6], (State.HELD, State.JUDGING, State.REJECTED, "withdrawn"),
                          strict=True):  # fmt: skip
        Problem.objects.filter(ref=ref).update(state=state)
    made = rules.create_round("pool", {**SMALL, "solvers": [WORDS]})
    folder = write_pool(made)
    problems, votes = (_records(folder / name) for name in ("problems.jsonl", "votes.jsonl"))
    assert {one["id"] for one in problems} == set(refs[6:]) == {v["problem_id"] for v in votes}
    wren = get_pseudonym(Person.objects.get(name="wren"))
    assert {one["origin"]["author"] for one in problems} == {wren}
    whole = (folder / "problems.jsonl").read_text() + (folder / "votes.jsonl").read_text()
    assert "wren" not in whole
    assert "judge-" not in whole


def test_why_a_round_failed_is_told_and_it_can_go_on(
    db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a solver lacks is told before anything is built; put right, the round goes on."""
    fill(TWINS, votes=False)
    away = {"name": "away", "solver": "hunting", "collection": "texts-of-mine"}
    made = rules.create_round("one", {**SMALL, "solvers": [away]})
    carried_out(made)
    assert fresh(made).state == "failed"
    assert "texts-of-mine" in made.error
    assert not (made.folder / "results").exists()
    rules.resume_round(made)
    (db.folder / "texts-of-mine").mkdir()
    (db.folder / "texts-of-mine" / "one.txt").write_text("The trophy is large.\n")
    _break_off(monkeypatch, "embedding")
    with pytest.raises(BreakError):
        carried_out(made)
    assert (fresh(made).state, made.doing["step"], made.error) == ("running", "checking", "")


def test_a_cancelled_round_stores_nothing(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled while a step is at work, a round goes no further, and says nothing of an error."""
    fill(TWINS, votes=False)
    made = rules.create_round("one", {**SMALL, "solvers": [WORDS]})
    noted = running.ProgressReporter._update_row

    def cancelled(self: Any, **changes: object) -> None:
        if self.doing.get("step") == "embedding":
            rules.cancel_round(made)
        noted(self, **changes)

    monkeypatch.setattr(running.ProgressReporter, "_update_row", cancelled)
    carried_out(made)
    assert (fresh(made).state, made.error, made.record) == ("cancelled", "", None)
    assert not Place.objects.exists()
