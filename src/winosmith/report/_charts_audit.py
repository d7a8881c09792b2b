"""Drawings of an audit: what each cue earns, beside what it would if nothing gave answers away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._svg import GONE, INK, MUTED, NULL, Svg, draw
from winosmith.report._text import cut, percent_tick, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Dot:
    """One row of `dots`.

    Attributes:
        name: of the rule.
        value: what it earns, 0–1.
        expected: what it would earn by chance.
        low, high: the band of that.
        named: whether it stands out.
    """

    name: str
    value: float
    expected: float
    low: float
    high: float
    named: bool = False


def dots(rows: Sequence[Dot], *, title: str) -> Svg:
    """Draw one dot a row, over the band of what chance gives.

    Args:
        rows: from the top down.
        title: the drawing's name.
    """

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for place, row in enumerate(rows):
            axes.hlines(place, row.low, row.high, color=NULL, alpha=0.35, linewidth=9)
            axes.plot(row.expected, place, linestyle="", marker="|", color=MUTED)
            colour, marker = (GONE, "D") if row.named else (INK, "o")
            axes.plot(row.value, place, linestyle="", marker=marker, markersize=6, color=colour)
        ends = [end for row in rows for end in (row.low, row.high, row.value)]
        axes.set(xlim=(max(0, min(ends, default=0) - 0.02), min(1, max(ends, default=1) + 0.02)),
                 ylim=(len(rows) - 0.4, -0.7))  # fmt: skip
        axes.set_yticks(range(len(rows)), [cut(row.name, 34) for row in rows], color=INK)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(percent_tick)
        axes.grid(axis="x")

    description = "; ".join(
        f"{row.name}: {shown(row.value, '.1%')}, by chance {shown(row.low, '.1%')} to "
        f"{shown(row.high, '.1%')}"
        for row in rows
    )
    return draw(paint, title=title, description=description, width=460, height=60 + 26 * len(rows))
