"""How hard a release is for each reference solver, and where it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winosmith import metrics
from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.lineage import depths
from winosmith.study import TrainedOn

__all__ = ["Measured", "measured"]

Predictions = tuple[Prediction, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """What one solver makes of one round.

    Attributes:
        accuracy: on dev and test together; None where it is withheld, as all of this round is.
        twins: the share of whole twins that it gets right; None without any.
        last: on the last round's dev, those problems left out that it may have been taught; None
            where there is no last round, or nothing is left of it.
        taught: how many of the last round's dev were left out.
        seen: what it may have been taught of dev and test, and so why figures are withheld.
        stability: on the perturbed problems of dev and test; None without any whose depth is
            known, or without the extra `stability`.
    """

    accuracy: metrics.Proportion | None
    twins: metrics.Proportion | None
    last: metrics.Proportion | None
    taught: int
    seen: metrics.Overlap
    stability: metrics.Stability | None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "accuracy": self.accuracy and self.accuracy.record(),
            "twins": self.twins and self.twins.record(),
            "last": self.last and self.last.record(),
            "taught": self.taught,
            "seen": self.seen.record(),
            "stability": self.stability and self.stability.record(),
        }


def measured(
    dataset: Dataset,
    predictions: Predictions,
    *,
    last: tuple[Dataset, Predictions] | None = None,
    train: Dataset | None = None,
    before: TrainedOn | None = None,
    seed: int = 0,
) -> Measured:
    """Measure a solver on a round, and on what the last one published.

    What it is taught of a round shares no block with dev and test, so that they measure it. Where
    it may have seen any of them before, nothing of this round is told of it, as in `score`.

    Args:
        dataset: dev and test of this round, with answers.
        predictions: in its order.
        last: the last round's dev with this solver's predictions.
        train: what the solver was taught; None where it was taught nothing of these data.
        before: what it was trained on before; None where nothing is known of that.
        seed: of draws.
    """
    before = before or TrainedOn()
    seen = before.overlap(dataset)
    known = TrainedOn((*before.datasets, *([] if train is None else [train])), before.contents)
    old, taught = _on_last(last, known, seed)
    if seen.withheld:
        return Measured(None, None, old, taught, seen, None)
    graded = metrics.grade(dataset, predictions)
    score = metrics.score(graded, seed=seed)
    return Measured(score.accuracy, score.twins, old, taught, seen, _stability(graded, seed))


def _on_last(
    last: tuple[Dataset, Predictions] | None, trained: TrainedOn, seed: int
) -> tuple[metrics.Proportion | None, int]:
    if last is None:
        return None, 0
    dataset, predictions = last
    known = set(trained.overlap(dataset).rows)
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
