"""Drawings of stability: how many families are still right, and accuracy, by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._palette import GONE, KEPT, MUTED, NULL, ONE, TWO
from winosmith.report._svg import Svg, draw
from winosmith.report._text import clean, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["ALONG", "Along", "depth_accuracy", "survival"]

_LOOKS = (
    (ONE, "o", "solid"),
    (TWO, "s", (0, (5, 2))),
    (KEPT, "^", (0, (1.5, 1.5))),
    (GONE, "D", (0, (6, 2, 1.5, 2))),
    (NULL, "v", (0, (3, 3))),
)
"""Colour, marker and dash for each solver in turn: any one of them tells it apart."""

ALONG = len(_LOOKS)
"""How many solvers one drawing can tell apart."""

FEW = 15
"""More depths than this have small markers."""


@dataclass(frozen=True)
class Along:
    """Shares at depths.

    Attributes:
        depths: from the smallest, (k,).
        shares: one a depth, 0–1.
        low, high: the intervals' ends, one a depth; empty without intervals.
        marks: depths at which families were censored.
    """

    depths: Sequence[float]
    shares: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marks: Sequence[float] = ()


def survival(lines: Mapping[str, Along], *, title: str = "Families without an error") -> Svg:
    """Draw the share of families without an error by depth, as steps with their bands.

    A small upright stroke marks a depth at which a family ended without an error.

    Args:
        lines: solver → its curve; `depths` begins with 0.
        title: the drawing's name.

    Raises:
        ValueError: more solvers than can be told apart (`ALONG`).
    """
    _check(lines)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for (name, line), (colour, _, dash) in zip(lines.items(), _LOOKS, strict=False):
            if len(line.low) and len(line.high):
                axes.fill_between(line.depths, line.low, line.high, step="post", color=colour,
                                  alpha=0.14, lw=0)  # fmt: skip
            axes.step(line.depths, line.shares, where="post", color=colour, linestyle=dash,
                      linewidth=1.8, label=clean(name))  # fmt: skip
            at = [_at(line, mark) for mark in line.marks]
            axes.plot(line.marks, at, linestyle="", marker="|", markersize=8, color=colour)
        axes.set(xlabel="depth", ylabel="families without an error")
        _finish(canvas, axes, len(lines))

    return draw(paint, title=title, description=_told(lines), height=320)


def _at(line: Along, depth: float) -> float:
    """Return the share at a depth: that of the last step that is not beyond it."""
    before = [share for at, share in zip(line.depths, line.shares, strict=True) if at <= depth]
    return before[-1] if before else 1.0


def depth_accuracy(
    lines: Mapping[str, Along],
    counts: Sequence[tuple[float, int]],
    *,
    title: str = "Accuracy by depth",
    chance: float | None = None,
) -> Svg:
    """Draw accuracies by depth with their bands, and under them how many problems there are.

    Args:
        lines: solver → its accuracies.
        counts: (depth, problems).
        title: the drawing's name.
        chance: what guessing gives, drawn as a line.

    Raises:
        ValueError: more solvers than can be told apart (`ALONG`).
    """
    _check(lines)

    def paint(canvas: Canvas) -> None:
        axes, bars = canvas.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        if chance is not None:
            axes.axhline(chance, color=NULL, linestyle=(0, (4, 3)))
        for (name, line), (colour, marker, dash) in zip(lines.items(), _LOOKS, strict=False):
            x = line.depths
            if len(line.low) and len(line.high):
                axes.fill_between(x, line.low, line.high, color=colour, alpha=0.13, lw=0)
            axes.plot(x, line.shares, color=colour, marker=marker, linestyle=dash, linewidth=1.4,
                      markersize=5 if len(x) <= FEW else 3, label=clean(name))  # fmt: skip
        bars.bar([at for at, _ in counts], [n for _, n in counts], 0.7, color=MUTED)
        axes.set(ylabel="right")
        bars.set(xlabel="depth", ylabel="problems", yticks=[])
        _finish(canvas, axes, len(lines))

    return draw(paint, title=title, description=_told(lines), height=350)


def _check(lines: Mapping[str, Along]) -> None:
    if len(lines) > ALONG:
        raise ValueError(f"{len(lines)} solvers can't be told apart; {ALONG} can")


def _finish(canvas: Canvas, axes: Axes, lines: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    if lines:
        canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)


def _told(lines: Mapping[str, Along]) -> str:
    return "; ".join(
        f"{name}: "
        + ", ".join(
            f"{shown(share, '.1%')} at depth {depth:g}"
            for depth, share in zip(line.depths, line.shares, strict=True)
        )
        for name, line in lines.items()
    )
