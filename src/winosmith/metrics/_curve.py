"""Learning curves: where they would reach a human's level, if they went on as each form says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from winosmith.errors import DataError
from winosmith.metrics._curve_area import area_under_curve
from winosmith.metrics._curve_fit import Extrapolation, extrapolated
from winosmith.metrics._curve_forms import FORMS

__all__ = ["CurvePoint", "LearningCurve", "learning_curve"]

Take = Literal["best", "mean"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The runs of one training size.

    Attributes:
        size: training problems.
        accuracies: one a run, 0–1, in the order given.
        taken: the one that the curve goes through.
    """

    size: int
    accuracies: tuple[float, ...]
    taken: float

    @property
    def mean(self) -> float:
        """The mean over the runs, 0–1."""
        return float(np.mean(self.accuracies))

    @property
    def spread(self) -> float | None:
        """The standard deviation of the runs (n − 1); None for a single one."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else None


@dataclass(frozen=True)
class LearningCurve:
    """A learning curve and its continuations.

    Attributes:
        points: by increasing size.
        human: the level to reach, 0–1.
        take: how one accuracy a size was taken from its runs.
        area: under the points taken; see `area_under_curve`.
        extrapolations: one a form that could be fitted.
    """

    points: tuple[CurvePoint, ...]
    human: float
    take: Take
    area: float
    extrapolations: tuple[Extrapolation, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "points": [
                {
                    "size": point.size,
                    "taken": point.taken,
                    "mean": point.mean,
                    "spread": point.spread,
                    "runs": list(point.accuracies),
                }
                for point in self.points
            ],
            "human": self.human,
            "take": self.take,
            "area": self.area,
            "extrapolations": [found.record() for found in self.extrapolations],
        }


def learning_curve(
    runs: Mapping[int, Sequence[float]], *, human: float = 0.94, take: Take = "best"
) -> LearningCurve:
    """Fit every form to a learning curve, and say where each reaches the human level.

    Each form is fitted by least squares to one accuracy a size. Its 95 % band is that of the
    fitted curve by the delta method, with Student's t for the few degrees of freedom; the interval
    of the size is where the band crosses the human level (inverse regression; for a straight line
    this is Fieller's interval). It says how well the points fix the form's parameters, and nothing
    about whether the form is right: compare the forms for that, and what each would have said of
    the largest size without it (`last`).

    Args:
        runs: training size → accuracies of its runs, 0–1; three sizes or more.
        human: the level to reach, 0–1: 0.94 on WinoGrande (section 4.1).
        take: "best" of the runs, as the paper's figure 2 has the best of ten seeds: it is
            optimistic, by more where runs differ more; or their "mean", which runs that fell to
            chance pull down.

    Raises:
        DataError: fewer than three sizes, a size without a run, or accuracies that are no shares.

    >>> table4 = {160: [0.515], 640: [0.586], 2558: [0.669], 10234: [0.758], 40398: [0.793]}
    >>> curve = learning_curve(table4, human=0.941)
    >>> [(e.form.name, e.reaches and round(e.reaches, -3)) for e in curve.extrapolations][:2]
    [('fourth root', 118000.0), ('logarithm', 491000.0)]
    """
    _check(runs, human)
    points = tuple(
        CurvePoint(
            size,
            tuple(map(float, own)),
            float(max(own) if take == "best" else np.mean(own)),
        )
        for size, own in sorted(runs.items())
    )
    x = np.log2([float(point.size) for point in points])
    y = np.array([point.taken for point in points])
    with np.errstate(over="ignore", invalid="ignore"):  # a bad fit may leave the numbers' range
        fitted = [extrapolated(form, x, y, human) for form in FORMS]
    return LearningCurve(
        points,
        human,
        take,
        area_under_curve(y.tolist(), [point.size for point in points]),
        tuple(found for found in fitted if found is not None),
    )


def _check(runs: Mapping[int, Sequence[float]], human: float) -> None:
    if len(runs) < 3:
        raise DataError(f"there are {len(runs)} training sizes; a curve needs three or more")
    if min(runs) < 1 or not all(runs.values()):
        raise DataError("every training size must be 1 or more, and have a run")
    values = [human, *(value for own in runs.values() for value in own)]
    wrong = next((value for value in values if not 0 <= value <= 1), None)
    if wrong is not None:
        raise DataError(f"an accuracy is a share of 0–1, not {wrong}")
