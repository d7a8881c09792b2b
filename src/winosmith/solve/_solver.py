"""`Solver`: what gives each option of a problem a score, and how the scores become answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from winosmith.answers import Prediction, best_of
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.solve._training import first_three

__all__ = ["Scores", "Solver", "check_two_options", "predict"]

Scores = Sequence[tuple[float, ...]]
"""One tuple a problem, in their order: a finite score for each option, higher is better."""


class Solver(Protocol):
    """Gives each option of a problem a score, without the answers.

    Answers kept, flipped or absent give equal scores; the order of the problems, and how many are
    asked at once, change a score by less than 1e-4. An option keeps its score wherever it is
    written among the others; the exceptions say so, with their reason.

    A solver that learns from solved problems is made by a function or class method that takes
    them, and a seed; constructors only store what they are given.
    """

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one finite score an option for each problem, in the order of the problems."""
        ...


def predict(solver: Solver, problems: Sequence[Problem]) -> tuple[Prediction, ...]:
    """Return the best option of each problem by the solver's scores.

    The solver is handed the problems without their answers. Where the best scores are equal, within
    `winosmith.answers.TIE`, the prediction says so: those options are tied, and the choice is the
    first of them.

    Raises:
        DataError: the solver does not keep its promise of one finite score an option.

    >>> from winosmith.solve import Random
    >>> [answer.choice for answer in predict(Random(), [Problem("a", "A _ b.", ("x", "y"))])]
    [1]
    """
    scores = solver.score([problem.blind() for problem in problems])
    if len(scores) != len(problems):
        raise DataError(f"the solver gave {len(scores)} results for {len(problems)} problems")
    return tuple(_predicted(problem, own) for problem, own in zip(problems, scores, strict=True))


def _predicted(problem: Problem, scores: Sequence[float]) -> Prediction:
    if len(scores) != len(problem.options) or not all(map(math.isfinite, scores)):
        raise DataError(
            f"the solver gave {problem.id!r} the scores {tuple(scores)}; one finite score for each "
            f"of its {len(problem.options)} options is needed"
        )
    own = tuple(map(float, scores))
    best = best_of(own)
    return Prediction(problem.id, best[0], own, best if len(best) > 1 else ())


def check_two_options(problems: Sequence[Problem], who: str) -> None:
    """Refuse problems with more than two options, with a DataError that names the first three."""
    others = [problem.id for problem in problems if len(problem.options) != 2]
    if others:
        raise DataError(
            f"{len(others):,} of {len(problems):,} problems don't have two options "
            f"({first_three(others)}); {who} tells two apart, so ask through solve.TwoWay"
        )
