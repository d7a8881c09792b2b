"""Drawings of an assessment: d1 by answer, the first two components, KL beside its null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from winosmith.report._palette import INK, MUTED, NULL, ONE, TWO
from winosmith.report._svg import NICE, Svg, draw
from winosmith.report._text import clean, cut, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["Bars", "Cloud", "Level", "clouds", "histograms", "levels"]


@dataclass(frozen=True)
class Bars:
    """One panel of `histograms`.

    Attributes:
        name: of the subset ("AFLite").
        edges: the k + 1 edges of the bins.
        counts: (2, k) problems whose answer is option 1, and option 2.
        note: a line under the name, such as its KL and the null's.
    """

    name: str
    edges: ArrayLike
    counts: ArrayLike
    note: str = ""


@dataclass(frozen=True)
class Cloud:
    """One panel of `clouds`.

    Attributes:
        name: of the subset.
        points: (n, 2) coordinates.
        answers: (n,) 0 where option 1 is right, 1 where option 2 is.
        note: a line under the name.
    """

    name: str
    points: ArrayLike
    answers: ArrayLike
    note: str = ""


@dataclass(frozen=True)
class Level:
    """One row of `levels`: a measured value beside what noise alone gives.

    Attributes:
        name: of the row.
        value: as measured; None when it is not defined.
        low, high: the interval of the null; None when there is none.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def histograms(panels: Sequence[Bars], *, what: str = "d₁") -> tuple[Svg, ...]:
    """Draw one histogram by answer for each subset, all on the same axes.

    Each answer's bars are shares of that answer's problems, in percent, so that subsets of
    different sizes compare.
    """
    shares = [_shares(panel.counts) for panel in panels]
    top = 1.04 * max((float(share.max(initial=0)) for share in shares), default=0) or 1
    return tuple(
        _histogram(panel, share, top, what) for panel, share in zip(panels, shares, strict=True)
    )


def _histogram(panel: Bars, share: np.ndarray, top: float, what: str) -> Svg:
    edges = np.asarray(panel.edges, float)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for index, (colour, line, name) in enumerate(_ANSWERS):
            axes.stairs(share[index], edges, fill=True, color=colour, alpha=0.22, linewidth=0)
            axes.stairs(share[index], edges, color=colour, linestyle=line, label=name)
        axes.set(xlim=(edges[0], edges[-1]), ylim=(0, top), xlabel=what, ylabel="% of the answer")
        _name(axes, panel.name, panel.note)

    counts = np.asarray(panel.counts)
    told = (
        f"Histogram of {what} for {panel.name}: {int(counts[0].sum()):,} problems with option 1 "
        f"right, {int(counts[1].sum()):,} with option 2. {panel.note}"
    )
    return draw(paint, title=f"{panel.name}: {what} by answer", description=told.strip())


_ANSWERS = ((ONE, "solid", "option 1"), (TWO, (0, (3, 1.2)), "option 2"))


def _shares(counts: ArrayLike) -> np.ndarray:
    number = np.asarray(counts, float)
    shares: np.ndarray = 100 * number / np.maximum(number.sum(axis=1, keepdims=True), 1)
    return shares


def clouds(
    panels: Sequence[Cloud], *, axes_names: tuple[str, str] = ("d₁", "d₂")
) -> tuple[Svg, ...]:
    """Draw one scatter by answer for each subset, all on the same axes.

    Option 1's points are round, option 2's square. A point takes about 15 bytes; thin the
    subsets to some 1,500 points before.
    """
    everything = np.concatenate([np.asarray(p.points, float).reshape(-1, 2) for p in panels])
    low, high = (
        (everything.min(axis=0), everything.max(axis=0))
        if len(everything)
        else (np.zeros(2), np.ones(2))
    )
    room = 0.04 * np.where(high > low, high - low, 1)
    return tuple(_cloud(panel, low - room, high + room, axes_names) for panel in panels)


def _cloud(panel: Cloud, low: np.ndarray, high: np.ndarray, names: tuple[str, str]) -> Svg:
    points = np.asarray(panel.points, float).reshape(-1, 2)
    answers = np.asarray(panel.answers).ravel()

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for start in range(_LAYERS):  # in turns, so that neither answer hides the other
            for answer, colour in enumerate((ONE, TWO)):
                _dots(axes, points[answers == answer][start::_LAYERS], colour, square=bool(answer))
        for answer, colour in enumerate((ONE, TWO)):
            axes.plot([], [], color=colour, marker="os"[answer], linestyle="", markersize=5,
                      label=f"option {answer + 1}")  # fmt: skip
        axes.set(xlabel=names[0], ylabel=names[1])
        _name(axes, panel.name, panel.note)

    told = (
        f"Scatter of {names[0]} and {names[1]} for {panel.name}: {int((answers == 0).sum()):,} "
        f"problems with option 1 right, {int((answers == 1).sum()):,} with option 2. {panel.note}"
    )
    return draw(paint, title=f"{panel.name}: the first two components by answer",
                description=told.strip())  # fmt: skip


_LAYERS = 6


def _dots(axes: Axes, points: np.ndarray, colour: str, *, square: bool) -> None:
    """Draw points as one path of lines next to no length: their caps are the dots.

    An element a point would take 100 bytes each; this takes 20.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(points):
        return
    span = np.subtract(*axes.get_xlim()[::-1])
    ends = points + np.array([1.5e-4 * span, 0])  # some readers draw no cap at length 0
    codes = np.tile([Path.MOVETO, Path.LINETO], len(points))
    path = Path(np.stack([points, ends], axis=1).reshape(-1, 2), codes)
    axes.add_patch(
        PathPatch(path, fill=False, color=colour, alpha=0.6, linewidth=2.7 if square else 3,
                  capstyle="projecting" if square else "round")
    )  # fmt: skip


def levels(
    rows: Sequence[Level],
    *,
    title: str,
    what: str = "KL divergence, nats",
    null: str = "95 % of the null",
) -> Svg:
    """Draw one diamond a row, over the interval that the null spans."""

    def paint(canvas: Canvas) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = canvas.add_subplot()
        for row, level in enumerate(rows):
            if level.low is not None and level.high is not None:
                axes.plot([level.low, level.high], [row, row], color=NULL, alpha=0.55,
                          linewidth=9, label=null if row == 0 else "_")  # fmt: skip
            if level.value is not None:
                axes.plot(level.value, row, marker="D", color=INK, linestyle="",
                          label="measured" if row == 0 else "_")  # fmt: skip
                axes.annotate(shown(level.value), (level.value, row), (0, 9), ha="center",
                              textcoords="offset points")  # fmt: skip
        axes.set_yticks(
            range(len(rows)),
            [cut(level.name, 22) for level in rows],
            color=INK,
        )
        axes.set(ylim=(len(rows) - 0.4, -0.7), xlabel=what)
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=NICE))
        axes.grid(axis="x")
        axes.set_title(clean(title), pad=30)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        if axes.lines:
            axes.legend(loc="lower left", ncols=2, bbox_to_anchor=(0, 1), borderaxespad=0.4)

    told = "; ".join(_level_in_words(level) for level in rows)
    return draw(paint, title=title, description=told, height=96 + 40 * len(rows))


def _level_in_words(level: Level) -> str:
    null = (
        f" (null {shown(level.low)} to {shown(level.high)})"
        if level.low is not None and level.high is not None
        else ""
    )
    return f"{level.name}: {shown(level.value)}{null}"


def _name(axes: Axes, name: str, note: str) -> None:
    """Put the panel's name over it, a note under the name, and the legend beside it."""
    axes.set_title(cut(name, 30), pad=24)
    axes.text(0, 1.02, clean(note), color=MUTED, transform=axes.transAxes, va="bottom")
    axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.02, 1.08), borderaxespad=0,
                handletextpad=0.4, columnspacing=1)  # fmt: skip
