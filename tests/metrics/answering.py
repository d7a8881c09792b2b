"""Graded predictions for tests of metrics."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from winosmith import Dataset, Prediction, Problem
from winosmith.metrics import Graded, grade


def right_but(
    data: Dataset, wrong: Callable[[Problem], bool] | Collection[str] | Collection[int] = ()
) -> Graded:
    """Return the data graded with correct answers, except for the problems in `wrong`.

    Args:
        data: the problems.
        wrong: a condition on problems, or the ids or rows of those to answer incorrectly.
    """
    picks = wrong if callable(wrong) else lambda p: p.id in wrong or data.row(p.id) in wrong
    return grade(data, [Prediction(p.id, (p.answer or 0) ^ bool(picks(p))) for p in data])


def choosing(data: Dataset, choices: Sequence[int], **parameters: Any) -> Graded:
    """Return the data graded with these choices; parameters are those of a predictions file."""
    said = [Prediction(p.id, int(own)) for p, own in zip(data, choices, strict=True)]
    return grade(data, said, parameters=parameters)
