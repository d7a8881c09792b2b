"""How hard a release is for each reference solver, and where it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winosmith import metrics
from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.lineage import depths

__all__ = ["Measured", "measured"]

Predictions = tuple[Prediction, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """What one solver makes of one round.

    Attributes:
        accuracy: on dev and test together.
        twins: the share of whole twins that it gets right; None without any.
        last: on the last round's dev, those problems left out that it may have been taught; None
            where there is no last round, or nothing is left of it.
        taught: how many of the last round's dev were left out.
        stability: on the perturbed problems of dev and test; None without any whose depth is
            known, or without the extra `stability`.
    """

    accuracy: metrics.Proportion
    twins: metrics.Proportion | None
    last: metrics.Proportion | None
    taught: int
    stability: metrics.Stability | None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "accuracy": self.accuracy.record(),
            "twins": self.twins and self.twins.record(),
            "last": self.last and self.last.record(),
            "taught": self.taught,
            "stability": self.stability and self.stability.record(),
        }


def measured(
    dataset: Dataset,
    predictions: Predictions,
    *,
    last: tuple[Dataset, Predictions] | None = None,
    train: Dataset | None = None,
    seed: int = 0,
) -> Measured:
    """Measure a solver on a round, and on what the last one published.

    Args:
        dataset: dev and test of this round, with answers.
        predictions: in its order.
        last: the last round's dev with this solver's predictions.
        train: what the solver was taught; None where it was taught nothing of these data.
        seed: of draws.
    """
    graded = metrics.grade(dataset, predictions)
    score = metrics.score(graded, seed=seed)
    old, taught = _on_last(last, train, seed)
    return Measured(score.accuracy, score.twins, old, taught, _stability(graded, seed))


def _on_last(
    last: tuple[Dataset, Predictions] | None, train: Dataset | None, seed: int
) -> tuple[metrics.Proportion | None, int]:
    if last is None:
        return None, 0
    dataset, predictions = last
    known = set(metrics.overlap(dataset, train).rows) if train is not None else set()
    rows = [row for row in range(len(dataset)) if row not in known]
    if not rows:
        return None, len(known)
    part = metrics.grade(dataset.select(rows), [predictions[row] for row in rows])
    return metrics.score(part, seed=seed).accuracy, len(known)


def _stability(graded: metrics.Graded, seed: int) -> metrics.Stability | None:
    found = zip(graded.dataset, depths(graded.dataset), strict=True)
    if not any(p.lineage and any(kind is not None for kind in of) for p, of in found):
        return None
    try:
        return metrics.stability(graded, seed=seed)
    except MissingExtraError:
        return None
