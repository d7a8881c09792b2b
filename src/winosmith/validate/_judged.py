"""The mark of generated problems, and what takes it off: people who found them valid."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.lineage import UNVALIDATED
from winosmith.problem import Extra, Problem
from winosmith.validate._votes import VoteRules

__all__ = ["found_valid", "unvalidated", "without_marks"]


def found_valid(kept: Dataset, counted: Iterable[Response], rules: VoteRules) -> frozenset[str]:
    """Return the ids of the kept problems that enough judges read whole, and answered rightly.

    None is when its answer is withheld, or when nobody asks how many chose the right option.

    Args:
        kept: what the votes kept; a problem with too few votes may be among them.
        counted: the votes that count.
        rules: those that the votes were examined by.
    """
    votes = dict.fromkeys(kept.ids, 0)
    for response in counted:
        if response.purpose != "local" and response.problem_id in votes:
            votes[response.problem_id] += 1
    return frozenset(
        problem.id
        for problem in kept
        if rules.correct != "off"
        and problem.answer is not None
        and votes[problem.id] >= rules.judges
    )


def unvalidated(problems: Iterable[Problem]) -> int:
    """Return how many problems were generated and not found valid by people.

    >>> unvalidated([Problem("a", "A _ b.", ("x", "y"), extra=Extra({UNVALIDATED: True}))])
    1
    """
    return sum(bool(problem.extra.get(UNVALIDATED)) for problem in problems)


def without_marks(dataset: Dataset, valid: Collection[str]) -> Dataset:
    """Return the data set, the problems of these ids no longer marked as not validated."""
    return Dataset((_unmarked(p) if p.id in valid else p for p in dataset), dataset.name)


def _unmarked(problem: Problem) -> Problem:
    if UNVALIDATED not in problem.extra:
        return problem
    kept = {key: value for key, value in problem.extra.items() if key != UNVALIDATED}
    return replace(problem, extra=Extra(kept))
