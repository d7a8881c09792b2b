"""Charts of human tests: items by number of correct people, and accuracy along the sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.escape import for_page
from winosmith.report._svg import INK, MUTED, ONE, TWO, Svg, draw
from winosmith.report._text import percent_tick, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class SheetPart:
    """A part of a sheet.

    Attributes:
        first, last: its questions, from 1.
        share: accuracy, 0–1.
        low, high: ends of its interval.
        seconds: the median time per question; None if unknown.
    """

    first: int
    last: int
    share: float
    low: float
    high: float
    seconds: float | None = None

    @property
    def middle(self) -> float:
        """The position of its middle in the chart."""
        return (self.first + self.last) / 2


def items_by_right(histogram: Mapping[int, int], of: int, *, title: str) -> Svg:
    """Draw the number of items by number of correct people; below half, bars have another colour.

    Args:
        histogram: number of correct people → number of items.
        of: number of people who were asked.
        title: title of the chart.
    """
    least = min([right for right, n in histogram.items() if n], default=0)
    places = list(range(min(least, of), of + 1))
    sizes = [histogram.get(right, 0) for right in places]

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        bad = [2 * right < of for right in places]
        bars = axes.bar(places, sizes, 0.72, color=[TWO if b else ONE for b in bad],
                        hatch=["//" if b else "" for b in bad], edgecolor=INK,
                        linewidth=0)  # fmt: skip
        axes.bar_label(bars, [f"{n:,}" if n else "" for n in sizes], padding=2, color=INK)
        axes.set(xlabel=f"people of {of} who gave the intended answer", ylabel="items")
        axes.set_ylim(0, 1.14 * max([*sizes, 1]))
        axes.set_xticks(places if len(places) < 14 else places[::-2][::-1])
        axes.invert_xaxis()
        axes.grid(axis="y")
        axes.set_title(for_page(title), pad=14)
        if any(b and n for b, n in zip(bad, sizes, strict=True)):
            axes.text(1, 1.0, "hatched: fewer than half", ha="right", va="bottom", color=MUTED,
                      transform=axes.transAxes)  # fmt: skip

    description = "; ".join(
        f"{n:,} items with {right} of {of}"
        for right, n in zip(places[::-1], sizes[::-1], strict=True)
        if n
    )
    return draw(paint, title=f"{title}: items by people who were right", description=description)


def over_the_sheet(parts: Sequence[SheetPart], *, title: str, note: str = "") -> Svg:
    """Draw the accuracy from the first question to the last, and the time below it, if known.

    Args:
        parts: the parts of the sheet, in order.
        title: title of the chart.
        note: a line under it, such as the change from start to end.
    """
    timed = [part for part in parts if part.seconds is not None]

    def paint(canvas: Canvas) -> None:
        if timed:
            axes, times = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
            times.bar([p.middle for p in timed], [p.seconds or 0 for p in timed],
                      [0.8 * (p.last - p.first + 1) for p in timed], color=MUTED)  # fmt: skip
            times.set(ylabel="seconds", xlabel="question on the sheet")
            times.grid(axis="y")
        else:
            axes = canvas.add_subplot()
            axes.set(xlabel="question on the sheet")
        x = [part.middle for part in parts]
        axes.vlines(x, [p.low for p in parts], [p.high for p in parts], color=ONE, linewidth=1.2)
        axes.plot(x, [p.share for p in parts], color=ONE, marker="o", markersize=5, linewidth=1.6)
        low = min([0.5, *(p.low for p in parts)])
        axes.set(ylim=(low - 0.03, 1.03), ylabel="accuracy")
        axes.yaxis.set_major_formatter(percent_tick)
        axes.grid(axis="y")
        axes.set_title(for_page(title), pad=24 if note else 12)
        if note:
            axes.text(0, 1.04, for_page(note), color=MUTED, transform=axes.transAxes)

    description = "; ".join(
        f"questions {p.first} to {p.last}: {shown(p.share, '.0%')} right"
        + ("" if p.seconds is None else f", {p.seconds:.0f} s each")
        for p in parts
    )
    return draw(paint, title=f"{title}: over the sheet", description=description,
                height=360 if timed else 280)  # fmt: skip
