"""What a solver makes of a round, where the round is a strange one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Lineage, Prediction, formats, practice
from winosmith.errors import InputError, RecipeError
from winosmith.published import contents_in, keep_contents
from winosmith.rounds import round_of, run_round
from winosmith.rounds._solving import measured
from winosmith.solver_rule import SolverRule
from winosmith.study import TrainedOn, trained_on
from winosmith.testing import made_twins


def test_perturbed_problems_without_a_known_depth_have_no_stability() -> None:
    """Where the root is gone and no depth is declared, the round is measured all the same."""
    twins = made_twins(20)
    orphans = Dataset(
        replace(p, lineage=Lineage("gone", "gone")) if row < 4 else p for row, p in enumerate(twins)
    )
    said = [Prediction(p.id, p.answer or 0) for p in orphans]
    found = measured(orphans, said)
    assert (found.accuracy.value, found.stability) == (1.0, None)


def test_nothing_is_told_of_a_solver_that_was_taught_the_problems() -> None:
    """One problem of its training set among those asked withholds all figures of the round."""
    twins = made_twins(20)
    said = [Prediction(p.id, p.answer or 0) for p in twins]
    told = measured(twins, said, before=TrainedOn((twins[:2],)), last=(twins[:6], tuple(said[:6])))
    assert (told.accuracy, told.twins, told.stability) == (None, None, None)
    assert told.seen.record()["problems"] == 2
    assert told.last is not None
    assert (told.last.n, told.taught) == (4, 2)
    apart = measured(twins[2:], said[2:], before=TrainedOn((twins[:2],)))
    assert apart.accuracy is not None
    assert apart.accuracy.value == 1.0


def test_a_round_withholds_what_its_solvers_were_taught_before(tmp_path: Path) -> None:
    """Word association knows the twins that ship, whatever they are called; shown ones count, too.

    Its accuracy is withheld in the record, the report and the comparison; that of others is told.
    """
    ships = practice.handwritten()
    formats.write(
        [replace(p, id=f"x{row}", twin_id=f"t{p.twin_id}") for row, p in enumerate(ships)],
        tmp_path / "problems.jsonl",
    )
    table = {
        "name": "ships",
        "data": "problems.jsonl",
        "embed": {"dimensions": 16},
        "filter": {"method": "none"},
        "structure": {"length": False, "overlap": False, "edit": False, "anchor": False},
        "split": {"dev": 0.2, "test": 0.2},
        "solvers": [
            {"name": "words", "solver": "association"},
            {"name": "chance", "solver": "random"},
            {"name": "told", "solver": "random", "trained_on": ["problems.jsonl", "other:web"]},
        ],
    }
    found = run_round(round_of(table, folder=tmp_path), tmp_path / "out")
    solvers, page = found.record["solvers"], found.report.read_text("utf-8")
    for name in ("words", "told"):
        assert solvers[name]["accuracy"] is None
        assert solvers[name]["seen"]["problems"] == solvers[name]["seen"]["n"] > 0
        assert f"Of {name} no accuracy is told" in page
    assert solvers["chance"]["accuracy"]["value"] > 0
    assert "told was trained on web too, which is not here" in page
    assert not [c.what for c in found.changes if c.what.startswith(("words", "told"))]


def test_a_fine_tuned_model_tells_what_it_was_trained_on(tmp_path: Path) -> None:
    """Digests beside the weights tell of each problem, and of those of the model before it."""
    twins = made_twins(12)
    (tmp_path / "tuned" / "model").mkdir(parents=True)
    keep_contents(tmp_path / "tuned" / "model", twins[:2])
    (tmp_path / "again").mkdir()
    keep_contents(tmp_path / "again", twins[4:6], *contents_in(tmp_path / "tuned"))
    for name, rows in (("tuned", {0, 1}), ("again", {0, 1, 4, 5})):
        rule = SolverRule("mine", "encoder", {"model": name})
        assert set(trained_on(rule, tmp_path).overlap(twins).rows) == rows


@pytest.mark.parametrize("cut", ["empty", "no archive", "cut off", "damaged", "another array"])
def test_what_a_model_was_trained_on_can_be_unreadable(tmp_path: Path, cut: str) -> None:
    """A damaged file beside the weights is told with its path, and what to do."""
    file = keep_contents(tmp_path, made_twins(12))
    whole = file.read_bytes()
    damaged = whole[:200] + bytes(100) + whole[300:]
    kept = {"empty": b"", "no archive": b"x" * 99, "cut off": whole[:-40], "damaged": damaged}
    file.write_bytes(kept.get(cut, b""))
    if cut == "another array":
        np.savez(file, sides=np.arange(3))
    with pytest.raises(InputError, match=r"trained_on\.npz: this can't be read .*train it again"):
        contents_in(tmp_path)


def test_what_a_rule_says_wrongly_of_training_is_refused(tmp_path: Path) -> None:
    """A file that is not there, an unknown set and a text in place of a list are told."""
    for named, said in (("gone.jsonl", "there is no file"), ("nothing", "not known")):
        rule = SolverRule("mine", "random", {"trained_on": [named]})
        with pytest.raises(InputError, match=f"the solver mine: trained_on: .*{said}"):
            trained_on(rule, tmp_path)
    with pytest.raises(RecipeError, match="trained_on is a list"):
        SolverRule("mine", "random", {"trained_on": "wsc"})
