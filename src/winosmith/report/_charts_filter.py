"""Drawings of what the steps of a build did: the funnel, AFLite's phases, its scores, its null."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from winosmith.report._palette import GONE, INK, KEPT, MUTED, NULL, PAGE, RULE
from winosmith.report._svg import NICE, Svg, draw
from winosmith.report._text import clean, cut, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["funnel", "phase_accuracy", "phase_chance", "phase_sizes", "scores"]


def funnel(
    stages: Sequence[tuple[str, int]], *, title: str = "Problems left after each step"
) -> Svg:
    """Draw one bar a stage: its name, how many problems it left, how many it took.

    `stages` are in order, the first is what came in.
    """
    most = max((count for _, count in stages), default=0) or 1
    losses = [before[1] - after[1] for before, after in pairwise([*stages[:1], *stages])]

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for row, ((name, count), lost) in enumerate(zip(stages, losses, strict=True)):
            axes.barh(row, most, 0.34, color=RULE)
            axes.barh(row, count, 0.34, color=KEPT)
            axes.text(0, row - 0.3, cut(name, 40), color=INK)
            axes.text(most, row - 0.3, f"{count:,}", ha="right", color=INK, weight="bold")
            if lost > 0:
                axes.text(0.84 * most, row - 0.3, f"−{lost:,}", ha="right", color=MUTED)
        axes.set(xlim=(0, most), ylim=(len(stages) - 0.7, -0.85))
        axes.axis("off")

    told = "; ".join(f"{name}: {count:,}" for name, count in stages)
    return draw(paint, title=title, description=told, height=20 + 46 * len(stages))


def phase_sizes(
    sizes: Sequence[int], removed: Sequence[int], *, title: str = "Problems left"
) -> Svg:
    """Draw how many problems each phase began with, and how many it took.

    Args:
        sizes: problems at the start of each phase.
        removed: problems that each phase took, as many numbers.
        title: the drawing's name.
    """
    phases = np.arange(1, len(sizes) + 1)
    left = np.asarray(sizes) - np.asarray(removed)

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.bar(phases, left, 0.8, color=KEPT, label="left")
        axes.bar(phases, removed, 0.8, bottom=left, color=GONE, hatch="////",
                 edgecolor=PAGE, linewidth=0, label="taken")  # fmt: skip
        axes.legend(loc="lower right", ncols=2, borderaxespad=0, bbox_to_anchor=(1, 1.04))
        _by_phase(axes, len(phases), "problems", title)
        _thousands(axes)

    told = "No phase was run."
    if len(sizes):
        told = (
            f"{sizes[0]:,} problems at the start of phase 1, {int(left[-1]):,} left after phase "
            f"{len(sizes)}; {int(np.sum(removed)):,} were taken."
        )
    return draw(paint, title=title, description=told)


def phase_accuracy(
    accuracy: Sequence[float | None],
    *,
    chance: float = 0.5,
    title: str = "Held-out accuracy of the ensemble",
) -> Svg:
    """Draw the ensemble's mean accuracy on held-out problems (0–1) by phase, beside chance.

    A phase without a held-out prediction (None) is left out.
    """
    phases = np.arange(1, len(accuracy) + 1)
    values = np.array([np.nan if value is None else value for value in accuracy])

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.axhline(chance, color=NULL, linestyle=(0, (4, 3)))
        axes.text(0.99, chance, "chance", va="bottom", ha="right", color=MUTED,
                  transform=axes.get_yaxis_transform())  # fmt: skip
        axes.plot(phases, values, color=INK, marker="o", markersize=4, linewidth=1.6)
        low, high = np.nanmin([chance, *values]), np.nanmax([chance, *values])
        room = 0.12 * max(high - low, 0.05)
        axes.set_ylim(low - room, high + room)
        _by_phase(axes, len(phases), "accuracy", title)

    told = "No phase was run."
    if len(accuracy):
        told = (
            f"{shown(accuracy[0])} in phase 1, {shown(accuracy[-1])} in phase {len(accuracy)}; "
            f"chance is {shown(chance)}."
        )
    return draw(paint, title=title, description=told)


def phase_chance(
    found: Sequence[float],
    chance: Sequence[tuple[float, float, float]],
    *,
    title: str = "Problems at the threshold",
) -> Svg:
    """Draw how many problems each phase found at the threshold, beside what chance puts there.

    Args:
        found: by the real answers, one number a phase.
        chance: as many (mean, low, high) of the draws of the phase's null.
        title: the drawing's name.
    """
    phases = np.arange(1, len(found) + 1)
    mean, low, high = np.asarray(chance, float).reshape(-1, 3).T

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        dot = "o" if len(found) < 30 else ""
        axes.fill_between(phases, low, high, color=NULL, alpha=0.3, linewidth=0,
                          label="by chance (95 %)")  # fmt: skip
        if len(found) == 1:  # a band needs two ends
            axes.vlines(phases, low, high, color=NULL, alpha=0.5, linewidth=8)
        axes.plot(phases, mean, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.4,
                  label="its mean", marker=dot, markersize=4)  # fmt: skip
        axes.plot(phases, found, color=INK, linewidth=1.6, label="found", marker=dot, markersize=4)
        axes.set_ylim(0, 1.08 * max([1, *found, *high]))
        canvas.legend(loc="outside lower center", ncols=3)
        _by_phase(axes, len(phases), "problems", title)
        _thousands(axes)

    told = "No phase was run."
    if len(found):
        told = "; ".join(
            f"phase {phase}: {found[phase - 1]:,.0f} found, {mean[phase - 1]:,.0f} by chance "
            f"({low[phase - 1]:,.0f} to {high[phase - 1]:,.0f})"
            for phase in sorted({1, len(found)})
        )
    return draw(paint, title=title, description=told)


def scores(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float,
    *,
    title: str = "How predictable the problems are",
) -> Svg:
    """Draw a histogram of AFLite's predictability scores, with the threshold.

    Args:
        edges: the k + 1 edges of the bins, 0–1.
        counts: the k numbers of problems.
        threshold: problems at or above it may be taken.
        title: the drawing's name.
    """
    borders, number = np.asarray(edges, float), np.asarray(counts)
    above = borders[:-1] >= threshold - 1e-9

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for those, colour, hatch in ((~above, KEPT, None), (above, GONE, "////")):
            axes.bar(
                borders[:-1][those],
                number[those],
                np.diff(borders)[those],
                align="edge",
                color=colour,
                hatch=hatch,
                edgecolor=PAGE,
                linewidth=0.6,
            )
        axes.axvline(threshold, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.text(threshold, 1.01, f"threshold {shown(threshold, 'g')}", ha="center",
                  va="bottom", transform=axes.get_xaxis_transform())  # fmt: skip
        axes.set(xlabel="share of classifiers that were right, held out", ylabel="problems")
        axes.set_xlim(borders[0], borders[-1])
        _thousands(axes)

    total, over = int(number.sum()), int(number[above].sum())
    told = f"{over:,} of {total:,} problems are in bins at or above the threshold {threshold:g}."
    return draw(paint, title=title, description=told)


def _by_phase(axes: Axes, phases: int, what: str, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(clean(title), pad=12)
    axes.set(xlabel="phase", ylabel=what)
    axes.set_xlim(0.4, max(phases, 1) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=NICE))
    axes.grid(axis="y")


def _thousands(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=NICE))
    axes.yaxis.set_major_formatter("{x:,.0f}")
