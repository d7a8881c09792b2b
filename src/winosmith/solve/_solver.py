"""`Solver`: what gives each option of a problem a score, and how the scores become answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

from winosmith.answers import Prediction, best_of
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem

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


def known_answers(train: Dataset) -> list[int]:
    """Return the answers of the problems that a solver learns from.

    Raises:
        DataError: there are no problems, or an answer is withheld.
    """
    if not train:
        raise DataError("there are no problems to learn from")
    withheld = [problem.id for problem in train if problem.answer is None]
    if withheld:
        raise DataError(
            f"{len(withheld):,} of the {len(train):,} problems to learn from have no answer "
            f"({first_three(withheld)})"
        )
    return [answer for answer in train.answers if answer is not None]


def first_three(ids: Sequence[str]) -> str:
    """Return the first three ids, for a message."""
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Asks a solver that takes two options about every pair of them.

    An option's score is the mean, over its comparisons, of its own score less the other's. For a
    solver whose scores stand on their own that picks the option with the best one, which is how a
    two-option model is read on the Pronoun Disambiguation Problems. Problems of two options are
    asked as they are, their scores unchanged.

    Attributes:
        solver: a solver of two options.
    """

    solver: Solver

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature."""
        return dict(getattr(self.solver, "parameters", {}))

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one score an option, from the scores of all comparisons."""
        asked = [pair for problem in problems for pair in _comparisons(problem)]
        given = iter(self.solver.score(asked))
        return [
            next(given) if len(problem.options) == 2 else _means(len(problem.options), given)
            for problem in problems
        ]


def _comparisons(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with each two of its options; as it is when it has no more."""
    if len(problem.options) == 2:
        yield problem
        return
    for one, other in combinations(range(len(problem.options)), 2):
        yield replace(
            problem,
            id=":".join([problem.id, *sorted((problem.options[one], problem.options[other]))]),
            options=(problem.options[one], problem.options[other]),
            answer=None,
        )


def _means(options: int, given: Iterator[tuple[float, ...]]) -> tuple[float, ...]:
    sums = [0.0] * options
    for (one, other), (first, second) in zip(combinations(range(options), 2), given, strict=False):
        sums[one] += first - second
        sums[other] += second - first
    return tuple(total / (options - 1) for total in sums)
