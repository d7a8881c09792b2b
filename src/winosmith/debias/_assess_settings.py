"""How an assessment is made: the choices that the published figure leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from winosmith.debias._assess_kl import Direction
from winosmith.errors import DataError


@dataclass(frozen=True, slots=True)
class AssessmentSettings:
    """How an assessment is made.

    Attributes:
        bins: of equal width: along d1 over the range of the rows that the PCA was fitted on,
            along the answer axis over 4 standard deviations to each side.
        bin_width: the other reading of "bin size": bins of this width along d1, instead of `bins`.
        smoothing: problems added to every bin of both histograms; more than 0.
        direction: "1||2" is KL(option 1 || option 2), the paper's; "2||1"; "mean" of both.
        fit: "all" fits the PCA once, on all rows, and projects the subsets: one axis and one
            scale for every panel, so that only the rows differ. "each" fits it on each subset
            anew, which the paper's words suggest ("the principal component analysis on the
            PMI-filtered subset"): then d1 is another direction in every panel.
        draws: of the null; 20 or more.
        points: of a subset in the scatter, at most.
        seed: of the null and of the choice of points.

    Raises:
        DataError: a value that is out of range.
    """

    bins: int = 100
    bin_width: float | None = None
    smoothing: float = 0.5
    direction: Direction = "1||2"
    fit: Literal["all", "each"] = "all"
    draws: int = 200
    points: int = 1_500
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = [
            (self.bins < 2, f"bins is {self.bins}; 2 or more are needed"),
            (
                self.bin_width is not None and not self.bin_width > 0,
                f"bin_width is {self.bin_width}; it must be more than 0",
            ),
            (not self.smoothing > 0, f"smoothing is {self.smoothing}; it must be more than 0"),
            (
                self.direction not in ("1||2", "2||1", "mean"),
                f"direction is {self.direction!r}; it is '1||2', '2||1' or 'mean'",
            ),
            (self.fit not in ("all", "each"), f"fit is {self.fit!r}; it is 'all' or 'each'"),
            (self.draws < 20, f"draws is {self.draws}; an interval needs 20 or more"),
            (self.points < 0, f"points is {self.points}; it must be 0 or more"),
        ]
        for is_wrong, message in wrong:
            if is_wrong:
                raise DataError(message)
