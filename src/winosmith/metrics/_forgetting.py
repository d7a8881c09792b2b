"""What further training made of what a solver knew before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winosmith.errors import DataError
from winosmith.metrics._compare import Pair, compare
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import Proportion
from winosmith.report import Signature

__all__ = ["Forgetting", "forgetting"]


@dataclass(frozen=True)
class Forgetting:
    """Accuracy on one data set before and after further training (EvoGrad, table 4).

    Attributes:
        before, after: the accuracies.
        change: after minus before, −1 to 1; negative when something was forgotten.
        interval: its 95 % interval, paired, by the cluster bootstrap.
        p_value: that nothing changed, paired and by clusters; see `compare_pair`.
        forgotten: how many problems were right before and are wrong now; whole but for ties.
        learned: how many were wrong before and are right now.
        signature: of the data and both predictions.
    """

    before: Proportion
    after: Proportion
    change: float
    interval: tuple[float, float]
    p_value: float
    forgotten: float
    learned: float
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        return {
            "before": self.before.record(),
            "after": self.after.record(),
            "change": self.change,
            "interval": list(self.interval),
            "p_value": self.p_value,
            "forgotten": self.forgotten,
            "learned": self.learned,
            "signature": str(self.signature),
        }


def forgetting(before: Graded, after: Graded, *, seed: int = 0) -> Forgetting:
    """Measure what a solver forgot in further training.

    Args:
        before: its answers before, from `grade`, on what it is not to forget (WinoGrande's dev).
        after: its answers afterwards, on the same data set.
        seed: of the bootstrap.

    Raises:
        DataError: different data sets.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(10)
    >>> knew = grade(data, [Prediction(p.id, p.answer) for p in data])
    >>> found = forgetting(knew, grade(data, [Prediction(p.id, 0) for p in data]))
    >>> found.change, found.forgotten, found.learned, round(found.p_value, 3)
    (-0.5, 10, 0, 0.002)
    """
    if before.dataset.digest != after.dataset.digest:
        raise DataError("forgetting is measured on one data set; these answers are to two")
    compared = compare({"after": after, "before": before}, seed=seed)
    pair: Pair = compared.pairs[0]
    return Forgetting(
        compared.accuracies["before"],
        compared.accuracies["after"],
        pair.difference,
        pair.interval,
        pair.p_value,
        pair.only_second,
        pair.only_first,
        compared.signature,
    )
