"""A whole round on a site: pool, build, solvers and database, also after an interruption."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import everything
from tests.web.making import fresh
from tests.web.rounds.conftest import CHANCE, TWINS, WORDS
from tests.web.rounds.making import SMALL, carried_out, fill
from winosmith.report import percent
from winosmith.web._site import DONE, is_site_file
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.problems.models import Problem, State
from winosmith.web.rounds import running, running as rules
from winosmith.web.rounds.models import Place, Round
from winosmith.web.rounds.running import store_results, write_pool


def _read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(autouse=True)
def _remove_rounds(site: Any) -> Iterator[None]:
    """Let the next test use the same names."""
    yield
    shutil.rmtree(site.folder / "rounds", ignore_errors=True)


class BreakError(BaseException):
    """Stands for the sudden end of a process."""


def _interrupt(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Interrupt the round at the start of the step with this name."""
    start_step = running.ProgressReporter.__call__

    def broken(self: Any, title: str, total: int | None) -> Any:
        if title == name:
            raise BreakError
        return start_step(self, title, total)

    monkeypatch.setattr(running.ProgressReporter, "__call__", broken)


def test_interrupted_round_resumes_and_places_every_problem(db, monkeypatch):
    """It keeps its pool and its embeddings."""
    refs = fill(TWINS)
    hidden = Problem.objects.filter(ref__in=refs[:6])
    hidden.update(embargo=True)
    made = rules.create_round("one", {**SMALL, "solvers": [WORDS]})
    with monkeypatch.context() as patch:
        _interrupt(patch, "solving with words")
        with pytest.raises(BreakError):
            carried_out(made)
    assert (fresh(made).state, made.doing["step"]) == ("running", "writing")
    vectors = made.folder / "results/build/private/embeddings.npy"
    before = vectors.stat().st_mtime_ns
    hidden.update(embargo=False)  # problems published meanwhile wait for the next round
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
    asked = [(one["sentence"],) for one in _read_records(made.folder / "results/roots.jsonl")]
    assert roots == asked
    assert Problem.objects.exclude(state="valid").count() == 0


@pytest.mark.long
def test_mirror_filter_removes_whole_twins_with_margins(db, visit):
    fill(TWINS)
    recipe = {**SMALL, "filter": {"method": "mirror", "aim": "chance"}, "solvers": [CHANCE]}
    made = rules.create_round("one", recipe)
    carried_out(made)
    rules.publish_round(None, Round.objects.get(pk=made.pk))
    gone = Place.objects.filter(round=made, stage="mirror").select_related("problem")
    assert len(gone) > 10
    assert all("with a margin of" in place.reason for place in gone)
    assert len({place.problem.twin_id for place in gone}) == len(gone) / 2
    page = visit().get("/rounds/round/one/").text
    assert "filter (mirror)" in page
    assert "filtered separately (before the filter:" in page


def test_backup_contains_every_file_of_a_round(carried):
    files = everything(carried.found.folder)
    assert [name for name in files if not is_site_file(f"rounds/one/results/{name}")] == []
    assert DONE.name in files


def test_storing_results_again_changes_nothing(database, carried, stored):
    """A worker may store them again after an interruption."""
    made = stored("one")
    before = list(Place.objects.order_by("pk").values())
    assert len(before) == 2 * TWINS
    assert not store_results(made, carried.found, lambda done: None)  # it is no longer running
    Round.objects.filter(pk=made.pk).update(state="running", record=None)
    assert store_results(made, carried.found, lambda done: None)
    assert list(Place.objects.order_by("pk").values()) == before
    assert Round.objects.get(pk=made.pk).record == json.loads(
        (carried.found.folder / "round.json").read_text("utf-8")
    )


@pytest.mark.long
def test_second_round_is_compared_with_the_first(db, stored):
    """Its solvers also answer the dev split of the first round."""
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
        {line["id"]: line["side"] for line in _read_records(made.folder / name)}
        for name in ("results/build/private/sides.jsonl",)
    ]
    assert len(sides[0]) == 2 * TWINS  # includes the embargoed problems, published before


def test_pool_contains_only_public_problems_and_pseudonyms(database):
    refs = fill(14)
    Problem.objects.filter(ref=refs[0]).update(embargo=True)
    Problem.objects.filter(ref=refs[1]).update(gold=True)
    for ref, state in zip(refs[2:6], (State.HELD, State.JUDGING, State.REJECTED, "withdrawn"),
                          strict=True):  # fmt: skip
        Problem.objects.filter(ref=ref).update(state=state)
    made = rules.create_round("pool", {**SMALL, "solvers": [WORDS]})
    folder = write_pool(made)
    problems, votes = (_read_records(folder / name) for name in ("problems.jsonl", "votes.jsonl"))
    assert {one["id"] for one in problems} == set(refs[6:]) == {v["problem_id"] for v in votes}
    wren = get_pseudonym(Person.objects.get(name="wren"))
    assert {one["origin"]["author"] for one in problems} == {wren}
    whole = (folder / "problems.jsonl").read_text() + (folder / "votes.jsonl").read_text()
    assert "wren" not in whole
    assert "judge-" not in whole


def test_failed_round_states_its_reason_and_can_resume(db, monkeypatch):
    """A solver's missing data are reported before anything is built."""
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
    _interrupt(monkeypatch, "embedding")
    with pytest.raises(BreakError):
        carried_out(made)
    assert (fresh(made).state, made.doing["step"], made.error) == ("running", "checking", "")


def test_cancelled_round_stores_nothing(db, monkeypatch):
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
