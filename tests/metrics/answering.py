"""Answers to problems, graded."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from winosmith import Dataset, Prediction, Problem
from winosmith.metrics import Graded, grade


def right_but(
    data: Dataset, wrong: Callable[[Problem], bool] | Collection[str] | Collection[int] = ()
) -> Graded:
    """Return problems answered rightly but for some, told by a rule, by their ids or their rows."""
    picks = wrong if callable(wrong) else lambda p: p.id in wrong or data.row(p.id) in wrong
    return grade(data, [Prediction(p.id, (p.answer or 0) ^ bool(picks(p))) for p in data])


def choosing(data: Dataset, choices: Sequence[int], **parameters: Any) -> Graded:
    """Return problems answered by these choices, with what the file of predictions tells."""
    said = [Prediction(p.id, int(own)) for p, own in zip(data, choices, strict=True)]
    return grade(data, said, parameters=parameters)
