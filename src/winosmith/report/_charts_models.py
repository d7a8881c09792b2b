"""Draw charts of solvers and human tests: accuracy, learning, calibration, depth, test sheets."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.escape import escape_page
from winosmith.report._svg import GONE, INK, KEPT, MUTED, NULL, ONE, TWO, Svg, draw_chart
from winosmith.report._text import format_percent_tick, format_value, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class FractionWithInterval:
    """A fraction with a confidence interval or with the interval expected by chance.

    Attributes:
        name: The name of the solver or rule.
        value: The fraction, 0–1.
        low, high: The ends of the interval.
        marked: Whether to use a different colour and shape, as for people and flagged rules.
        expected: The mean expected by chance, if the interval is the one expected by chance.
    """

    name: str
    value: float
    low: float
    high: float
    marked: bool = False
    expected: float | None = None


def draw_accuracies(rows: Sequence[FractionWithInterval], *, chance: float | None = None) -> Svg:
    """Draw accuracies with their intervals, and a line at chance accuracy.

    Args:
        rows: The rows, from top to bottom.
        chance: The chance accuracy, 0–1; None to draw no line.
    """

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        if chance is not None:
            axes.vlines(chance, -0.75, len(rows) - 0.5, color=NULL, linestyle=(0, (4, 3)))
            axes.text(chance, -0.8, "guessing", ha="center", va="bottom", color=MUTED)
        for place, row in enumerate(rows):
            colour, marker = (GONE, "D") if row.marked else (KEPT, "o")
            axes.hlines(place, row.low, row.high, color=colour, linewidth=2)
            axes.plot(row.value, place, linestyle="", marker=marker, markersize=7, color=colour)
            axes.annotate(format_value(row.value, ".1%"), (row.value, place), (0, 7), color=INK,
                          textcoords="offset points", ha="center", fontsize=11)  # fmt: skip
        ends = [*(row.low for row in rows), *(row.high for row in rows)]
        ends += [] if chance is None else [chance]
        axes.set(xlim=(max(0, min(ends) - 0.05), min(1, max(ends) + 0.05) + 0.01),
                 ylim=(len(rows) - 0.5, -1.2))  # fmt: skip
        axes.set_yticks(range(len(rows)), [truncate(row.name, 20) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(format_percent_tick)
        axes.grid(axis="x")

    description = "; ".join(
        "{} {} ({} to {})".format(
            row.name, *(format_value(value, ".1%") for value in (row.value, row.low, row.high))
        )
        for row in rows
    )
    guessing = "" if chance is None else f"guessing {format_value(chance, '.1%')}; "
    return draw_chart(
        paint, title="Accuracy", description=guessing + description, height=90 + 38 * len(rows)
    )


_CONTINUATION_LOOKS = (
    (KEPT, "solid"),
    (GONE, (0, (5, 2))),
    (ONE, (0, (1.5, 1.5))),
    (TWO, (0, (6, 2, 1.5, 2))),
    (NULL, (0, (3, 3))),
)
"""Colour and dash pattern of each extrapolation; both are unique."""


def draw_learning_curve(
    points: Sequence[tuple[float, float]],
    *,
    runs: Sequence[tuple[float, float]] = (),
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    level: float | None = None,
    level_name: str = "people",
) -> Svg:
    """Draw accuracy against the logarithm of the training size, with up to five extrapolations.

    Args:
        points: The (size, accuracy) points of the curve; accuracies are 0–1.
        runs: The (size, accuracy) points of all runs, drawn smaller.
        lines: The sizes and accuracies along each extrapolation, by name.
        level: A target accuracy, which is drawn as a line.
        level_name: The name of the target.

    Raises:
        ValueError: There are more extrapolations than line styles.
    """
    lines = lines or {}
    if len(lines) > len(_CONTINUATION_LOOKS):
        raise ValueError(
            f"{len(lines)} extrapolations can't be distinguished in one chart; use at most "
            f"{len(_CONTINUATION_LOOKS)}"
        )

    def paint(canvas: Canvas) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        axes = canvas.add_subplot()
        axes.set_xscale("log")
        if level is not None:
            axes.axhline(level, color=INK, linewidth=0.9)
            axes.text(0.01, level, escape_page(level_name), va="bottom", color=MUTED,
                      transform=axes.get_yaxis_transform())  # fmt: skip
        for (name, (sizes, values)), (colour, dash) in zip(
            lines.items(), _CONTINUATION_LOOKS, strict=False
        ):
            axes.plot(sizes, values, color=colour, linestyle=dash, linewidth=1.5,
                      label=escape_page(name))  # fmt: skip
        if runs:
            axes.plot(*zip(*runs, strict=True), linestyle="", marker="o", markersize=3,
                      color=MUTED, alpha=0.6, label="a run")  # fmt: skip
        axes.plot(*zip(*points, strict=True), linestyle="" if lines else "solid", marker="D",
                  markersize=6, linewidth=1.2, color=INK)  # fmt: skip
        low = min([0.5, *(value for _, value in (*points, *runs))])
        axes.set(xlabel="training problems", ylim=(low - 0.03, 1.01))
        axes.yaxis.set_major_formatter(format_percent_tick)
        axes.grid(axis="y")
        axes.xaxis.set_major_locator(LogLocator(numticks=7))
        axes.xaxis.set_major_formatter(lambda value, _: abbreviate_size(value))
        axes.xaxis.set_minor_formatter(NullFormatter())
        if lines or runs:
            canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)

    description = "; ".join(
        f"{format_value(value, '.1%')} at {size:,.0f}" for size, value in points
    )
    return draw_chart(paint, title="Accuracy by training size", description=description, height=320)


def abbreviate_size(size: float) -> str:
    """Format a size with three significant digits and an SI prefix.

    >>> abbreviate_size(160), abbreviate_size(40_398), abbreviate_size(1_084_665)
    ('160', '40.4 k', '1.08 M')
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g}"


@dataclass(frozen=True)
class ConfidenceBin:
    """A bin of problems with similar confidence.

    Attributes:
        confidence: The mean probability of the chosen options, 0–1.
        accuracy: The fraction of correct answers, 0–1.
        low, high: The ends of the accuracy's interval.
        problems: The number of problems.
    """

    confidence: float
    accuracy: float
    low: float
    high: float
    problems: int


def draw_reliability(rows: Sequence[ConfidenceBin], *, name: str, note: str = "") -> Svg:
    """Draw a reliability diagram: accuracy against confidence, and the number of problems per bin.

    Args:
        rows: The bins, sorted by confidence.
        name: The name of the solver.
        note: A line below the name, such as the calibration error.
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
        axes.set(xlim=(left, 1.02), ylim=(-0.02, 1.02), ylabel="accuracy")
        counts.set(xlabel="stated confidence", ylabel="problems", yticks=[])
        for each in (axes.yaxis, counts.xaxis):
            each.set_major_formatter(format_percent_tick)
        axes.grid(axis="y")
        axes.set_title(escape_page(name), pad=22 if note else 12)
        if note:
            axes.text(0, 1.03, escape_page(note), color=MUTED, transform=axes.transAxes)

    description = "; ".join(
        f"{format_value(row.accuracy, '.0%')} correct of {row.problems:,} at "
        f"{format_value(row.confidence, '.0%')}"
        for row in rows
    )
    return draw_chart(paint, title=f"{name}: calibration", description=description, height=340)


_SOLVER_LOOKS = (
    (ONE, "o", "solid"),
    (TWO, "s", (0, (5, 2))),
    (KEPT, "^", (0, (1.5, 1.5))),
    (GONE, "D", (0, (6, 2, 1.5, 2))),
    (NULL, "v", (0, (3, 3))),
)
"""Colour, marker and dash pattern of each solver; all three are unique."""

MAX_SOLVERS = len(_SOLVER_LOOKS)
"""Maximum number of solvers in one chart."""

FULL_SIZE = 15
"""Maximum number of depths for which markers have their full size."""


@dataclass(frozen=True)
class DepthCurve:
    """A curve of fractions by depth.

    Attributes:
        depths: The depths, in ascending order; shape (k,).
        shares: The fraction at each depth, 0–1.
        low, high: The ends of the interval at each depth; empty if there are no intervals.
        marks: The depths at which families were censored.
    """

    depths: Sequence[float]
    shares: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marks: Sequence[float] = ()


def draw_survival(lines: Mapping[str, DepthCurve]) -> Svg:
    """Draw the fraction of error-free families by depth, as step curves with bands.

    A vertical stroke marks a depth at which a family ended without an error.

    Args:
        lines: The curve of each solver, by name; `depths` starts at 0.

    Raises:
        ValueError: There are more solvers than line styles (`MAX_SOLVERS`).
    """
    _check_solver_count(lines)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for (name, line), (colour, _, dash) in zip(lines.items(), _SOLVER_LOOKS, strict=False):
            if len(line.low) and len(line.high):
                axes.fill_between(line.depths, line.low, line.high, step="post", color=colour,
                                  alpha=0.14, lw=0)  # fmt: skip
            axes.step(line.depths, line.shares, where="post", color=colour, linestyle=dash,
                      linewidth=1.8, label=escape_page(name))  # fmt: skip
            at = [[1.0, *line.shares][bisect(line.depths, mark)] for mark in line.marks]
            axes.plot(line.marks, at, linestyle="", marker="|", markersize=8, color=colour)
        axes.set(xlabel="depth", ylabel="families without an error")
        _format_depth_axes(canvas, axes, len(lines))

    return draw_chart(
        paint, title="Families without an error", description=_describe_curves(lines), height=320
    )


def draw_depth_accuracy(
    lines: Mapping[str, DepthCurve],
    counts: Sequence[tuple[float, int]],
    *,
    chance: float | None = None,
) -> Svg:
    """Draw accuracy by depth with bands, above a bar chart of the number of problems.

    Args:
        lines: The accuracies of each solver, by name.
        counts: The (depth, number of problems) pairs.
        chance: The chance accuracy, drawn as a line.

    Raises:
        ValueError: There are more solvers than line styles (`MAX_SOLVERS`).
    """
    _check_solver_count(lines)

    def paint(canvas: Canvas) -> None:
        axes, bars = canvas.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        if chance is not None:
            axes.axhline(chance, color=NULL, linestyle=(0, (4, 3)))
        for (name, line), (colour, marker, dash) in zip(lines.items(), _SOLVER_LOOKS, strict=False):
            x = line.depths
            if len(line.low) and len(line.high):
                axes.fill_between(x, line.low, line.high, color=colour, alpha=0.13, lw=0)
            axes.plot(x, line.shares, color=colour, marker=marker, linestyle=dash, linewidth=1.4,
                      markersize=5 if len(x) <= FULL_SIZE else 3,
                      label=escape_page(name))  # fmt: skip
        bars.bar([at for at, _ in counts], [n for _, n in counts], 0.7, color=MUTED)
        axes.set(ylabel="accuracy")
        bars.set(xlabel="depth", ylabel="problems", yticks=[])
        _format_depth_axes(canvas, axes, len(lines))

    return draw_chart(
        paint, title="Accuracy by depth", description=_describe_curves(lines), height=350
    )


def _check_solver_count(curves: Mapping[str, DepthCurve]) -> None:
    if len(curves) > MAX_SOLVERS:
        raise ValueError(
            f"{len(curves)} solvers can't be distinguished in one chart; use at most {MAX_SOLVERS}"
        )


def _format_depth_axes(canvas: Canvas, axes: Axes, lines: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(format_percent_tick)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(axis="y")
    if lines:
        canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)


def _describe_curves(curves: Mapping[str, DepthCurve]) -> str:
    return "; ".join(
        f"{name}: "
        + ", ".join(
            f"{format_value(share, '.1%')} at depth {depth:g}"
            for depth, share in zip(line.depths, line.shares, strict=True)
        )
        for name, line in curves.items()
    )
