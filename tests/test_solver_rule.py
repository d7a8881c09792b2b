"""Solvers declared by a TOML table."""

import subprocess
import sys
from dataclasses import replace

import pytest

from winosmith import Dataset, Problem
from winosmith.errors import DataError, RecipeError
from winosmith.solver_rule import KINDS, LEARNERS, SolverRule
from winosmith.study import make_solver
from winosmith.testing import make_twins


def test_digest_depends_on_the_training_problems(tmp_path):
    """The digest represents the weights: with other training problems, it is another solver."""
    rule = SolverRule("words", "association", {"features": "pairs"}, learn=True)
    digests = [
        make_solver(rule, tmp_path, train).digest
        for train in (None, make_twins(5), make_twins(5), make_twins(9))
    ]
    assert digests[1] == digests[2]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LEARNERS])
def test_learn_is_refused_for_untrainable_solvers(kind):
    options = {"model": "m"} if kind in ("masked", "encoder") else {}
    with pytest.raises(RecipeError, match="learn applies only to"):
        SolverRule("a", kind, options, learn=True)


def test_learn_is_unknown_unless_allowed():
    """The platform's site does not allow it."""
    table = {"name": "a", "solver": "association", "learn": True}
    assert SolverRule.parse(table, learns=True).learn
    with pytest.raises(RecipeError, match="unknown key 'learn'"):
        SolverRule.parse(table)


def test_sees_pronoun_is_another_solver(tmp_path):
    """It refuses problems without a pronoun. The default is `blank`."""
    table = {"name": "words", "solver": "association", "learn": True}
    taught = [replace(problem, pronoun="they") for problem in make_twins(5)]
    blank, same, other = (
        make_solver(SolverRule.parse({**table, **sees}, learns=True), tmp_path, Dataset(taught))
        for sees in ({}, {"sees": "blank"}, {"sees": "pronoun"})
    )
    assert blank.digest == same.digest != other.digest
    assert (blank.about["sees"], other.about["sees"]) == ("blank", "pronoun")
    with pytest.raises(DataError, match="the pronoun of 1 of 1 problems is unknown"):
        other.solver.score([Problem("a", "The nurse said _ left.", ("nurse", "cook"))])
    with pytest.raises(RecipeError, match="sees is 'both'; it must be"):
        SolverRule.parse({**table, "sees": "both"}, learns=True)
    with pytest.raises(RecipeError, match="unknown key 'sees'"):
        SolverRule.parse({"name": "a", "solver": "random", "sees": "pronoun"})


NEW_KIND = """
from winosmith.options import declaration
from winosmith.solver_rule import KINDS, Kind

@declaration
class Shortest(Kind):
    limit: int = 9
    "Number of characters that count."

    def build(self, solve, parts):
        return self

    def score(self, problems):
        return [tuple(-float(min(len(o), self.limit)) for o in p.options) for p in problems]

KINDS["shortest"] = Shortest

from winosmith import Problem
from winosmith.cli import main
from winosmith.solver_rule import SolverRule
from winosmith.study import make_solver
from pathlib import Path

made = make_solver(SolverRule("s", "shortest", {"limit": 2}), Path())
print(made.about, made.solver.score([Problem("a", "The _ fell.", ("cup", "x"))]))
main(["solve", "--solver", "shortest", "--limit", "2", "data.jsonl", "--out", "out.jsonl"])
"""


def test_one_declaration_adds_a_kind_of_solver(tmp_path):
    """It gives the kind its table, its options of the command, and its solver."""
    rows = [
        f'{{"id": "{n}", "sentence": "The _ fell {n}.", "options": ["cup", "x"]}}' for n in "ab"
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(rows), "utf-8")
    (tmp_path / "kind.py").write_text(NEW_KIND, "utf-8")
    run = subprocess.run(
        [sys.executable, "kind.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "{'solver': 'shortest'} [(-2.0, -1.0)]" in run.stdout
    answers = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert len(answers) == 3
    assert all("-1.0" in line for line in answers[1:])
