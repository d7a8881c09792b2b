"""`TwoWay`: a solver of two options, on problems of up to five."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from winosmith.problem import Problem
from winosmith.solve._solver import Scores, Solver

__all__ = ["TwoWay"]


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
