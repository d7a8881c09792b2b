"""A solver as a table of TOML names it."""

from __future__ import annotations

import pytest

from winosmith.errors import RecipeError
from winosmith.study import KINDS, LEARNERS, SolverRule, made_solver
from winosmith.testing import made_twins


def test_what_is_taught_changes_the_digest_and_the_same_gives_the_same(tmp_path):
    """A digest stands for the weights: other problems to learn from are another solver."""
    rule = SolverRule("words", "association", {"features": "pairs"}, learn=True)
    digests = [
        made_solver(rule, tmp_path, train).digest
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
    with pytest.raises(RecipeError, match="'learn' is not for the solver"):
        SolverRule.of(table)
