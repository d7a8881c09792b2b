"""A drawing of calibration: how often answers of a stated confidence are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._palette import MUTED, NULL, ONE
from winosmith.report._svg import Svg, draw
from winosmith.report._text import clean, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["Stated", "reliability"]


@dataclass(frozen=True)
class Stated:
    """The problems whose answer was given with about one confidence.

    Attributes:
        confidence: the mean probability of the chosen options, 0–1.
        accuracy: the share that is right, 0–1.
        low, high: its interval.
        problems: how many.
    """

    confidence: float
    accuracy: float
    low: float
    high: float
    problems: int


def reliability(rows: Sequence[Stated], *, name: str, note: str = "") -> Svg:
    """Draw accuracy over confidence beside the diagonal, and how many problems each point has.

    Args:
        rows: by increasing confidence.
        name: of the solver.
        note: a line under the name, such as its calibration error.
    """

    def paint(canvas: Canvas) -> None:
        axes, counts = canvas.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        axes.plot([0, 1], [0, 1], color=NULL, linestyle=(0, (4, 3)))
        for row in rows:
            axes.plot([row.confidence] * 2, [row.low, row.high], color=ONE, linewidth=1.2)
        axes.plot([row.confidence for row in rows], [row.accuracy for row in rows], color=ONE,
                  marker="o", markersize=5, linewidth=1.6)  # fmt: skip
        counts.bar([row.confidence for row in rows], [row.problems for row in rows], 0.025,
                   color=MUTED)  # fmt: skip
        least = min((row.confidence for row in rows), default=0.5)
        left = 0.48 if least >= 0.5 else 0.0
        axes.set(xlim=(left, 1.02), ylim=(-0.02, 1.02), ylabel="right")
        counts.set(xlabel="stated confidence", ylabel="problems", yticks=[])
        for each in (axes.yaxis, counts.xaxis):
            each.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.grid(axis="y")
        axes.set_title(clean(name), pad=22 if note else 12)
        if note:
            axes.text(0, 1.03, clean(note), color=MUTED, transform=axes.transAxes)

    told = "; ".join(
        f"{shown(row.accuracy, '.0%')} right of {row.problems:,} at {shown(row.confidence, '.0%')}"
        for row in rows
    )
    return draw(paint, title=f"{name}: calibration", description=told, height=340)
