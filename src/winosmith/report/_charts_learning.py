"""Drawings of a learning curve: its runs, its continuations, and where each meets a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._palette import GONE, INK, KEPT, MUTED, NULL, ONE, RULE, TWO
from winosmith.report._svg import Svg, draw
from winosmith.report._text import clean, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["Reach", "learning", "reaches"]

_LOOKS = (
    (KEPT, "solid"),
    (GONE, (0, (5, 2))),
    (ONE, (0, (1.5, 1.5))),
    (TWO, (0, (6, 2, 1.5, 2))),
    (NULL, (0, (3, 3))),
)
"""Colour and dash for each continuation in turn: either of them tells it apart."""


@dataclass(frozen=True)
class Reach:
    """Where one continuation meets the level.

    Attributes:
        name: of the continuation.
        size: training problems; None for never.
        low, high: the interval's ends; None for never.
    """

    name: str
    size: float | None
    low: float | None = None
    high: float | None = None


def learning(
    points: Sequence[tuple[float, float]],
    *,
    runs: Sequence[tuple[float, float]] = (),
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    level: float | None = None,
    level_name: str = "people",
    title: str = "Accuracy by training size",
) -> Svg:
    """Draw accuracies by the logarithm of the training size, and up to five continuations.

    Args:
        points: (size, accuracy 0–1) of the curve.
        runs: (size, accuracy) of every run, drawn small.
        lines: name → sizes and accuracies of a continuation.
        level: an accuracy to reach, drawn as a line.
        level_name: whose level it is.
        title: the drawing's name.

    Raises:
        ValueError: more continuations than can be told apart.
    """
    lines = lines or {}
    if len(lines) > len(_LOOKS):
        raise ValueError(f"{len(lines)} continuations can't be told apart; {len(_LOOKS)} can")

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.set_xscale("log")
        if level is not None:
            axes.axhline(level, color=INK, linewidth=0.9)
            axes.text(0.01, level, clean(level_name), va="bottom", color=MUTED,
                      transform=axes.get_yaxis_transform())  # fmt: skip
        for (name, (sizes, values)), (colour, dash) in zip(lines.items(), _LOOKS, strict=False):
            axes.plot(sizes, values, color=colour, linestyle=dash, linewidth=1.5,
                      label=clean(name))  # fmt: skip
        if runs:
            axes.plot(*zip(*runs, strict=True), linestyle="", marker="o", markersize=3,
                      color=MUTED, alpha=0.6, label="a run")  # fmt: skip
        axes.plot(*zip(*points, strict=True), linestyle="" if lines else "solid", marker="D",
                  markersize=6, linewidth=1.2, color=INK)  # fmt: skip
        low = min([0.5, *(value for _, value in (*points, *runs))])
        axes.set(xlabel="training problems", ylim=(low - 0.03, 1.01))
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.grid(axis="y")
        _sizes(axes)
        if lines or runs:
            canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)

    told = "; ".join(f"{shown(value, '.1%')} at {size:,.0f}" for size, value in points)
    return draw(paint, title=title, description=told, height=320)


def reaches(
    rows: Sequence[Reach],
    *,
    largest: float,
    title: str = "Training problems needed",
) -> Svg:
    """Draw one diamond a row where its continuation meets the level, over its interval.

    An interval without an upper end runs to the right edge; a row that never meets the level says
    so. The largest size measured is a line.
    """
    known = [v for row in rows for v in (row.size, row.low, row.high) if v is not None]
    right = 3 * max([largest, *known])
    left = 0.5 * min([largest, *known])

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.set_xscale("log")
        axes.axvline(largest, color=NULL, linestyle=(0, (4, 3)))
        axes.text(largest, 1.01, f"measured to {largest:,.0f}", color=MUTED, va="bottom",
                  transform=axes.get_xaxis_transform())  # fmt: skip
        for at, row in enumerate(rows):
            if row.low is not None:
                axes.plot([row.low, row.high or right], [at, at], color=RULE, linewidth=8,
                          solid_capstyle="butt")  # fmt: skip
            if row.size is not None:
                axes.plot(row.size, at, marker="D", color=INK, linestyle="")
                axes.annotate(_short(row.size), (row.size, at), (0, 9), ha="center",
                              textcoords="offset points")  # fmt: skip
            else:
                axes.annotate("never", (right, at), (-6, 9), ha="right",
                              textcoords="offset points", color=MUTED)  # fmt: skip
        axes.set(xlim=(left, right), ylim=(len(rows) - 0.5, -0.8), xlabel="training problems")
        axes.set_yticks(range(len(rows)), [clean(row.name) for row in rows])
        axes.tick_params(axis="y", length=0)
        _sizes(axes)

    told = "; ".join(
        f"{row.name}: {_short(row.size)} ({_short(row.low)} to {_short(row.high)})" for row in rows
    )
    return draw(paint, title=title, description=told, height=70 + 46 * len(rows))


def _sizes(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(numticks=7))
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _short(size: float | None) -> str:
    """Return a size with three digits: 160, 40.4k, 1.08M."""
    if size is None:
        return "never"
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * unit:
            return f"{size / unit:.3g}{name}"
    return f"{size:.3g}"
