"""A solver as a table of TOML names it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from winosmith import Dataset, Problem
from winosmith.errors import DataError, RecipeError
from winosmith.study import KINDS, LEARNERS, SolverRule, make_solver
from winosmith.testing import made_twins


def test_what_is_taught_changes_the_digest_and_the_same_gives_the_same(tmp_path):
    """A digest stands for the weights: other problems to learn from are another solver."""
    rule = SolverRule("words", "association", {"features": "pairs"}, learn=True)
    digests = [
        make_solver(rule, tmp_path, train).digest
        for train in (None, made_twins(5), made_twins(5), made_twins(9))
    ]
    assert digests[1] == digests[2]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LEARNERS])
def test_only_solvers_that_can_be_taught_are(kind):
    """`learn` is refused where nothing would come of it."""
    options = {"model": "m"} if kind in ("masked", "encoder") else {}
    with pytest.raises(RecipeError, match="learn is for"):
        SolverRule("a", kind, options, learn=True)


def test_a_site_knows_no_learning():
    """Where a file may not say `learn`, it is an unknown option."""
    table = {"name": "a", "solver": "association", "learn": True}
    assert SolverRule.of(table, learns=True).learn
    with pytest.raises(RecipeError, match="unknown key 'learn'"):
        SolverRule.of(table)


def test_a_solver_sees_what_its_table_says(tmp_path):
    """`sees = "pronoun"` is another solver, and refuses what has no pronoun; the blank is usual."""
    table = {"name": "words", "solver": "association", "learn": True}
    taught = [replace(problem, pronoun="they") for problem in made_twins(5)]
    blank, same, other = (
        make_solver(SolverRule.of({**table, **sees}, learns=True), tmp_path, Dataset(taught))
        for sees in ({}, {"sees": "blank"}, {"sees": "pronoun"})
    )
    assert blank.digest == same.digest != other.digest
    assert (blank.about["sees"], other.about["sees"]) == ("blank", "pronoun")
    with pytest.raises(DataError, match="the pronoun of 1 of 1 problems is not known"):
        other.solver.score([Problem("a", "The nurse said _ left.", ("nurse", "cook"))])
    with pytest.raises(RecipeError, match="sees is 'both'; it must be"):
        SolverRule.of({**table, "sees": "both"}, learns=True)
    with pytest.raises(RecipeError, match="unknown key 'sees'"):
        SolverRule.of({"name": "a", "solver": "random", "sees": "pronoun"})
