"""Draw charts of filters (funnel, AFLite's phases and scores), assessments and audits.

Assessment charts show d₁ by answer and the first two components. Audit charts compare the accuracy
of each cue with chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from winosmith.escape import escape_page
from winosmith.report._charts_models import FractionWithInterval
from winosmith.report._svg import (
    GONE,
    INK,
    KEPT,
    MUTED,
    NULL,
    ONE,
    PAGE,
    RULE,
    TICK_STEPS,
    TWO,
    Svg,
    draw_chart,
)
from winosmith.report._text import format_percent_tick, format_value, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


def draw_funnel(
    stages: Sequence[tuple[str, int]], *, title: str = "Problems left after each step"
) -> Svg:
    """Draw a bar for each stage, with the number of remaining problems and of removed problems.

    `stages` are (name, number of remaining problems) pairs in order; the first is the input.
    """
    most = max((count for _, count in stages), default=0) or 1
    losses = [before[1] - after[1] for before, after in pairwise([*stages[:1], *stages])]

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for row, ((name, count), lost) in enumerate(zip(stages, losses, strict=True)):
            axes.barh(row, most, 0.34, color=RULE)
            axes.barh(row, count, 0.34, color=KEPT)
            axes.text(0, row - 0.3, truncate(name, 40), color=INK)
            axes.text(most, row - 0.3, f"{count:,}", ha="right", color=INK, weight="bold")
            if lost > 0:
                axes.text(0.84 * most, row - 0.3, f"−{lost:,}", ha="right", color=MUTED)
        axes.set(xlim=(0, most), ylim=(len(stages) - 0.7, -0.85))
        axes.axis("off")

    description = "; ".join(f"{name}: {count:,}" for name, count in stages)
    return draw_chart(paint, title=title, description=description, height=20 + 46 * len(stages))


def draw_phase_sizes(sizes: Sequence[int], removed: Sequence[int]) -> Svg:
    """Draw the number of remaining problems and of removed problems after each phase.

    Args:
        sizes: The number of problems at the start of each phase.
        removed: The number of problems that each phase removed.
    """
    title = "Problems left"
    phases = np.arange(1, len(sizes) + 1)
    left = np.asarray(sizes) - np.asarray(removed)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.bar(phases, left, 0.8, color=KEPT, label="left")
        axes.bar(phases, removed, 0.8, bottom=left, color=GONE, hatch="////",
                 edgecolor=PAGE, linewidth=0, label="removed")  # fmt: skip
        axes.legend(loc="lower right", ncols=2, borderaxespad=0, bbox_to_anchor=(1, 1.04))
        _set_phase_axis(axes, len(phases), title)
        _format_count_axis(axes)

    description = "No phase was run."
    if len(sizes):
        description = (
            f"{sizes[0]:,} problems at the start of phase 1, {int(left[-1]):,} left after phase "
            f"{len(sizes)}; {int(np.sum(removed)):,} were removed."
        )
    return draw_chart(paint, title=title, description=description)


def draw_phase_chance(
    counts: Sequence[float],
    chance: Sequence[tuple[float, float]],
) -> Svg:
    """Draw each phase's number of problems at the threshold, and the number expected by chance.

    Args:
        counts: The number of such problems in each phase, with the real answers.
        chance: The mean number in the null draws of each phase, and the chance limit.
    """
    title = "Problems at the threshold"
    phases = np.arange(1, len(counts) + 1)
    mean, high = np.asarray(chance, float).reshape(-1, 2).T

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        dot = "o" if len(counts) < 30 else ""
        axes.fill_between(phases, mean, high, color=NULL, alpha=0.3, linewidth=0,
                          label="up to the chance limit")  # fmt: skip
        if len(counts) == 1:  # a band needs two ends
            axes.vlines(phases, mean, high, color=NULL, alpha=0.5, linewidth=8)
        axes.plot(phases, mean, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.4,
                  label="mean by chance", marker=dot, markersize=4)  # fmt: skip
        axes.plot(phases, counts, color=INK, linewidth=1.6, label="found", marker=dot, markersize=4)
        axes.set_ylim(0, 1.08 * max([1, *counts, *high]))
        canvas.legend(loc="outside lower center", ncols=3)
        _set_phase_axis(axes, len(phases), title)
        _format_count_axis(axes)

    description = "No phase was run."
    if len(counts):
        description = "; ".join(
            f"phase {phase}: {counts[phase - 1]:,.0f} found, {mean[phase - 1]:,.0f} by chance "
            f"(limit {high[phase - 1]:,.0f})"
            for phase in sorted({1, len(counts)})
        )
    return draw_chart(paint, title=title, description=description)


def draw_scores(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float,
    *,
    removed: ArrayLike | None = None,
    top: float | None = None,
    title: str = "How predictable the problems are",
) -> Svg:
    """Draw a histogram of AFLite's predictability scores, with the threshold.

    Args:
        edges: The k + 1 edges of the bins, 0–1.
        counts: The number of problems in each of the k bins.
        threshold: The minimum score at which problems may be removed.
        removed: The number of removed problems in each bin, drawn with hatching; None for none.
        top: The upper limit of the axis, to give charts the same scale; None for the default.
        title: The title of the chart.
    """
    borders, number = np.asarray(edges, float), np.asarray(counts)
    gone = np.zeros_like(number) if removed is None else np.asarray(removed)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        left = number - gone
        for height, below, colour, hatch in ((left, 0, KEPT, None), (gone, left, GONE, "////")):
            axes.bar(
                borders[:-1],
                height,
                np.diff(borders),
                bottom=below,
                align="edge",
                color=colour,
                hatch=hatch,
                edgecolor=PAGE,
                linewidth=0.6,
            )
        axes.axvline(threshold, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.text(threshold, 1.01, f"threshold {format_value(threshold, 'g')}", ha="center",
                  va="bottom", transform=axes.get_xaxis_transform())  # fmt: skip
        axes.set_title(title, pad=20)
        axes.set(xlabel="fraction of held-out classifiers that are correct", ylabel="problems")
        axes.set_xlim(borders[0], borders[-1])
        axes.set_ylim(0, top)
        _format_count_axis(axes)

    above = borders[:-1] >= threshold - 1e-9
    description = (
        f"{int(number[above].sum()):,} of {int(number.sum()):,} problems are in bins at or above "
        f"the threshold {threshold:g}; number removed: {int(gone.sum()):,}."
    )
    return draw_chart(paint, title=title, description=description)


def draw_margins(
    margins: ArrayLike,
    is_removed: ArrayLike,
    *,
    options: ArrayLike | None = None,
    threshold: float | None = None,
) -> Svg:
    """Draw a histogram of margins, with the mirror image of the negative margins as an outline.

    Args:
        margins: The margins, positive for units that agree with a model, otherwise negative; shape
            (U,).
        is_removed: True for removed units; shape (U,).
        options: The number K of options of each unit (default 2), shape (U,). A unit that disagrees
            counts as 1 / (K − 1).
        threshold: The minimum margin of removed units; None to draw no line.
    """
    title = "Margins and their mirror image"
    values, taken = np.asarray(margins, np.float64), np.asarray(is_removed, np.bool_)
    top = float(np.quantile(np.abs(values), 0.995)) if values.size and values.any() else 1.0
    edges = np.linspace(0, max(top, threshold or 0.0) * 1.02, 31)
    shown = np.minimum(np.abs(values), edges[-1])
    weights = np.ones(len(values)) if options is None else 1 / (np.asarray(options) - 1)
    kept, removed = (
        np.histogram(shown[at], edges)[0] for at in ((values > 0) & ~taken, (values > 0) & taken)
    )
    differ = np.histogram(shown[values < 0], edges, weights=weights[values < 0])[0]

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        middle, width = (edges[:-1] + edges[1:]) / 2, (edges[1] - edges[0]) * 0.86
        axes.bar(middle, kept, width, color=KEPT, label="agree, kept")
        axes.bar(middle, removed, width, bottom=kept, color=GONE, hatch="////", edgecolor=PAGE,
                 linewidth=0, label="agree, removed")  # fmt: skip
        axes.step(edges, np.append(differ, differ[-1:]), where="post", color=INK, linewidth=1.4,
                  label="disagree (mirror image)")  # fmt: skip
        if threshold is not None:
            axes.axvline(threshold, color=INK, linewidth=1, linestyle="--")
        axes.legend(loc="upper right")
        axes.set_xlabel("margin")
        axes.set_ylabel("units")
        axes.set_title(title)
        _format_count_axis(axes)

    beyond = "" if threshold is None else (
        f" With margins of at least {threshold:.2f}, {int(((values >= threshold)).sum()):,} agree "
        f"and {int((values <= -threshold).sum()):,} disagree."
    )  # fmt: skip
    description = (
        f"{int((values > 0).sum()):,} units agree with models that never saw them, "
        f"{int((values < 0).sum()):,} disagree; {int(taken.sum()):,} were removed.{beyond}"
    )
    return draw_chart(paint, title=title, description=description)


def _set_phase_axis(axes: Axes, phases: int, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(escape_page(title), pad=12)
    axes.set(xlabel="phase", ylabel="problems")
    axes.set_xlim(0.4, max(phases, 1) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=TICK_STEPS))
    axes.grid(axis="y")


def _format_count_axis(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=TICK_STEPS))
    axes.yaxis.set_major_formatter("{x:,.0f}")


@dataclass(frozen=True)
class HistogramPanel:
    """One panel of `draw_histograms`.

    Attributes:
        name: The name of the subset ("AFLite").
        edges: The k + 1 edges of the bins.
        counts: The numbers of problems whose answer is option 1 or option 2, by bin; shape (2, k).
        note: A line below the name, such as the KL divergence and its null distribution.
    """

    name: str
    edges: ArrayLike
    counts: ArrayLike
    note: str = ""


def draw_histograms(panels: Sequence[HistogramPanel], *, label: str = "d₁") -> tuple[Svg, ...]:
    """Draw a histogram by answer for each subset, with the same scale for all.

    Bars are percentages of the problems with an answer, so that subsets of any size are comparable.
    """
    counts = [np.asarray(panel.counts, float) for panel in panels]
    shares = [100 * one / np.maximum(one.sum(axis=1, keepdims=True), 1) for one in counts]
    top = 1.04 * max((float(share.max(initial=0)) for share in shares), default=0) or 1
    return tuple(
        _draw_histogram(panel, share, top, label)
        for panel, share in zip(panels, shares, strict=True)
    )


def _draw_histogram(panel: HistogramPanel, heights: np.ndarray, top: float, label: str) -> Svg:
    edges = np.asarray(panel.edges, float)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for index, (colour, line, name) in enumerate(_ANSWER_STYLES):
            axes.stairs(heights[index], edges, fill=True, color=colour, alpha=0.22, linewidth=0)
            axes.stairs(heights[index], edges, color=colour, linestyle=line, label=name)
        axes.set(xlim=(edges[0], edges[-1]), ylim=(0, top), xlabel=label, ylabel="% of the answer")
        _add_title(axes, panel.name, panel.note)

    counts = np.asarray(panel.counts)
    description = (
        f"Histogram of {label} for {panel.name}: {int(counts[0].sum()):,} values with option 1 "
        f"correct, {int(counts[1].sum()):,} with option 2. {panel.note}"
    )
    return draw_chart(
        paint, title=f"{panel.name}: {label} by answer", description=description.strip()
    )


_ANSWER_STYLES = ((ONE, "solid", "option 1"), (TWO, (0, (3, 1.2)), "option 2"))


@dataclass(frozen=True)
class ScatterPanel:
    """One panel of `draw_scatter_plots`.

    Attributes:
        name: The name of the subset.
        points: The coordinates of the problems; shape (n, 2).
        answers: 0 if option 1 is correct, 1 if option 2 is; shape (n,).
        note: A line below the name.
    """

    name: str
    points: ArrayLike
    answers: ArrayLike
    note: str = ""


def draw_scatter_plots(panels: Sequence[ScatterPanel]) -> tuple[Svg, ...]:
    """Draw a scatter plot by answer for each subset, with the same scale for all.

    Points are round if option 1 is correct, and square if option 2 is. Each point adds about 15
    bytes, so don't pass more than about 1,500 points per subset.
    """
    everything = np.concatenate([np.asarray(p.points, float).reshape(-1, 2) for p in panels])
    low, high = (
        (everything.min(axis=0), everything.max(axis=0))
        if len(everything)
        else (np.zeros(2), np.ones(2))
    )
    room = 0.04 * np.where(high > low, high - low, 1)
    return tuple(_draw_scatter_plot(panel, low - room, high + room) for panel in panels)


def _draw_scatter_plot(panel: ScatterPanel, low: np.ndarray, high: np.ndarray) -> Svg:
    points = np.asarray(panel.points, float).reshape(-1, 2)
    answers = np.asarray(panel.answers).ravel()

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for start in range(_LAYERS):  # alternately, so that neither answer hides the other
            for answer, colour in enumerate((ONE, TWO)):
                layer = points[answers == answer][start::_LAYERS]
                _draw_dots(axes, layer, colour, square=bool(answer))
        for answer, colour in enumerate((ONE, TWO)):
            axes.plot([], [], color=colour, marker="os"[answer], linestyle="", markersize=5,
                      label=f"option {answer + 1}")  # fmt: skip
        axes.set(xlabel="d₁", ylabel="d₂")
        _add_title(axes, panel.name, panel.note)

    description = (
        f"Scatter of d₁ and d₂ for {panel.name}: {int((answers == 0).sum()):,} "
        f"problems with option 1 correct, {int((answers == 1).sum()):,} with option 2. {panel.note}"
    )
    return draw_chart(paint, title=f"{panel.name}: the first two components by answer",
                description=description.strip())  # fmt: skip


_LAYERS = 6


def _draw_dots(axes: Axes, points: np.ndarray, colour: str, *, square: bool) -> None:
    """Draw points as one path of very short lines, whose line caps form the dots.

    The path takes 20 bytes per point; separate elements would take 100 bytes each.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(points):
        return
    span = np.subtract(*axes.get_xlim()[::-1])
    ends = points + np.array([1.5e-4 * span, 0])  # some viewers draw no cap at length 0
    codes = np.tile([Path.MOVETO, Path.LINETO], len(points))
    path = Path(np.stack([points, ends], axis=1).reshape(-1, 2), codes)
    axes.add_artist(  # `add_patch` would check all points to update limits that are already set
        PathPatch(path, fill=False, color=colour, alpha=0.6, linewidth=2.7 if square else 3,
                  capstyle="projecting" if square else "round")
    )  # fmt: skip


def _add_title(axes: Axes, name: str, note: str) -> None:
    axes.set_title(truncate(name, 30), pad=24)
    axes.text(0, 1.02, escape_page(note), color=MUTED, transform=axes.transAxes, va="bottom")
    axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.02, 1.08), borderaxespad=0,
                handletextpad=0.4, columnspacing=1)  # fmt: skip


def draw_dots_over_chance(rows: Sequence[FractionWithInterval], *, title: str) -> Svg:
    """Draw each row's fraction as a dot over a grey bar, such as the interval by chance.

    Args:
        rows: The rows, from top to bottom; long names are wrapped.
        title: The title of the chart.
    """
    names = [wrap(truncate(row.name, 120), 34) for row in rows]
    lines = max(map(len, names), default=1)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for place, row in enumerate(rows):
            axes.hlines(place, row.low, row.high, color=NULL, alpha=0.35, linewidth=9)
            if row.expected is not None:
                axes.plot(row.expected, place, linestyle="", marker="|", color=MUTED)
            colour, marker = (GONE, "D") if row.marked else (INK, "o")
            axes.plot(row.value, place, linestyle="", marker=marker, markersize=6, color=colour)
        ends = [end for row in rows for end in (row.low, row.high, row.value)]
        axes.set(xlim=(max(0, min(ends, default=0) - 0.02), min(1, max(ends, default=1) + 0.02)),
                 ylim=(len(rows) - 0.4, -0.7))  # fmt: skip
        axes.set_yticks(range(len(rows)), ["\n".join(name) for name in names], color=INK)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(format_percent_tick)
        axes.grid(axis="x")

    description = "; ".join(
        f"{row.name}: {format_value(row.value, '.1%')}, grey bar {format_value(row.low, '.1%')} "
        f"to {format_value(row.high, '.1%')}"
        for row in rows
    )
    height = 60 + (14 + 12 * lines) * len(rows)
    return draw_chart(paint, title=title, description=description, width=460, height=height)
