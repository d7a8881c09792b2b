"""How far apart a solver's scores lie, and whether a large lead means a right answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from winosmith.answers import Prediction
from winosmith.errors import DataError
from winosmith.metrics._graded import Graded

__all__ = ["Margins", "margins", "need_scores"]


@dataclass(frozen=True, slots=True)
class Margins:
    """How far the right option's score lies above the best wrong one's.

    Attributes:
        quartiles: the 25th, 50th and 75th percentile of the margin, in the scores' own unit.
        ranking: the probability that a random right answer has a larger lead (of the chosen over
            the next option) than a random wrong one: 0.5 when the lead tells nothing, 1 at best;
            None when all or none are right. A tie has no lead, and is right for its share.
        surest_wrong: the ids of wrong answers with the largest lead, three at most; no ties.
    """

    quartiles: tuple[float, float, float]
    ranking: float | None
    surest_wrong: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "quartiles": list(self.quartiles),
            "ranking": self.ranking,
            "surest_wrong": list(self.surest_wrong),
        }


def margins(graded: Graded) -> Margins:
    """Return how far apart the scores of right and wrong options are.

    Raises:
        DataError: a prediction has no scores.
    """
    need_scores(graded, "margins")
    margin, lead = np.array(
        [
            _margin_and_lead(prediction, problem.answer or 0)
            for problem, prediction in zip(graded.dataset, graded.predictions, strict=True)
        ]
    ).T
    right, wrong = graded.credit, 1 - graded.credit
    ranking = None
    if right.sum() > 0 and wrong.sum() > 0:  # the Mann-Whitney statistic as a probability
        _, place = np.unique(lead, return_inverse=True)
        rights, wrongs = np.bincount(place, right), np.bincount(place, wrong)
        below = np.cumsum(wrongs) - wrongs / 2
        ranking = float(rights @ below / (right.sum() * wrong.sum()))
    surest = [
        row for row in np.argsort(-lead, kind="stable") if not right[row] and not graded.tied[row]
    ][:3]
    low, middle, high = np.quantile(margin, [0.25, 0.5, 0.75])
    return Margins(
        (float(low), float(middle), float(high)),
        ranking,
        tuple(graded.dataset[int(row)].id for row in surest),
    )


def need_scores(graded: Graded, what: str) -> None:
    """Refuse predictions without scores, with a DataError that names the first."""
    bare = next((p.problem_id for p in graded.predictions if not p.scores), None)
    if bare is not None:
        raise DataError(f"{what} needs scores; the prediction for {bare!r} has none")


def _margin_and_lead(prediction: Prediction, answer: int) -> tuple[float, float]:
    scores, choice = prediction.scores, prediction.choice
    best_wrong = max(score for option, score in enumerate(scores) if option != answer)
    margin = scores[answer] - best_wrong
    if len(prediction.chosen) > 1:
        return margin, 0.0
    next_best = max(score for option, score in enumerate(scores) if option != choice)
    return margin, scores[choice] - next_best
