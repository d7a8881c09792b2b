"""Which rows a phase removes by their scores (Algorithm 1, lines 10 to 13), or chance does.

Scores are ratios of whole numbers and are compared as such: 3 of 4 votes are at the threshold
0.75, whatever floating point makes of either. Random subsets are the baseline that any filter has
to beat, and show what blind choice would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._rows import TIES, draw_fitting_groups, generator, number_rows
from winosmith.errors import InputError

BINS = 20
"""Bins of a score histogram, each 0.05 wide and open at the right, except for the last."""

HISTOGRAM_EDGES = tuple(number / BINS for number in range(BINS + 1))
"""The edges of the bins of `Phase.histogram`: 0, 0.05, …, 1."""

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a phase removes.

    Attributes:
        removed: ascending positions among the rows of the phase.
        candidates: rows at or above the threshold.
        tied: of those, the ones with the lowest score that was removed, when not all of them
            could be; otherwise 0.
        tied_removed: how many of the tied were removed.
        lowest: the lowest score that was removed; NaN when nothing was.
    """

    removed: NDArray[np.intp]
    candidates: int
    tied: int
    tied_removed: int
    lowest: float = math.nan


def scores(correct: Counts, total: Counts) -> NDArray[np.float64]:
    """Return correct / total predictions, NaN for a row that no classifier held out."""
    known = np.full(len(total), np.nan)
    np.divide(correct, total, out=known, where=total > 0)
    return known


def at_threshold(correct: Counts, total: Counts, threshold: float) -> NDArray[np.bool_]:
    """Return which rows have correct / total >= threshold; never those without a vote."""
    exact = Fraction(str(float(threshold)))  # the decimal that was written, not its nearest double
    most = int(total.max(initial=0))
    need = np.array([-(-exact.numerator * n // exact.denominator) for n in range(most + 1)])
    return (total > 0) & (correct >= need[total])


def pool_by_group(votes: Counts, groups: NDArray[np.intp]) -> Counts:
    """Return for each row the votes of its whole group.

    >>> pool_by_group(np.array([3, 4, 1], np.int32), np.array([0, 1, 0])).tolist()
    [4, 4, 4]
    """
    return np.bincount(groups, votes).astype(np.int32)[groups]


def select(
    correct: Counts,
    total: Counts,
    *,
    threshold: float,
    cutoff: int,
    seed: int,
    phase: int,
    groups: NDArray[np.intp] | None = None,
) -> Selection:
    """Return the rows with the `cutoff` highest scores among those at the threshold or above.

    Scores have few values, and thousands of rows can share the one at the cutoff. Which of them
    go is drawn at random, from a generator of the phase's own: the order of the rows, or of their
    ids, may go with what they say, and removing by it would carve a bias of its own.

    With `groups`, each group goes whole or stays: in the order of their scores, each that fits
    into what is left of the cutoff. The votes must then be `pool_by_group`.

    Args:
        correct: (size,) right predictions of each row, or of its group.
        total: (size,) predictions.
        threshold: see `debias.aflite`.
        cutoff: rows that may go.
        seed: of the whole run.
        phase: 0-based.
        groups: (size,) group numbers; None when each row goes alone.
    """
    candidates = np.flatnonzero(at_threshold(correct, total, threshold))
    score = correct[candidates] / total[candidates]  # exact enough: equal ratios, equal doubles
    priority = generator(seed, phase, TIES).permutation(len(correct))
    if groups is not None:
        priority = _of_the_first(priority, groups)
    ranked = np.lexsort((priority[candidates], -score))
    chosen = np.arange(len(ranked)) < cutoff
    if groups is not None:
        chosen = _fitting_in_order(groups[candidates][ranked], cutoff)
    taken = ranked[chosen]
    tied, tied_removed, lowest = 0, 0, math.nan
    if taken.size:
        lowest = float(score[taken].min())
        tied, tied_removed = int((score == lowest).sum()), int((score[taken] == lowest).sum())
    if tied == tied_removed:
        tied = tied_removed = 0
    return Selection(np.sort(candidates[taken]), len(candidates), tied, tied_removed, lowest)


def _of_the_first(priority: NDArray[np.intp], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each row the priority of the first row of its group: distinct for each group."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return priority[first][number]


def _fitting_in_order(groups: NDArray[np.intp], room: int) -> NDArray[np.bool_]:
    """Return which rows go: whole groups in this order, each that still fits.

    The rows of a group stand together.
    """
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if groups.size else groups
    sizes = np.diff(np.r_[starts, len(groups)])
    taken = np.zeros(len(sizes), np.bool_)
    for place, size in enumerate(sizes.tolist()):
        if size <= room:
            taken[place] = True
            room -= size
        if not room:
            break
    return np.repeat(taken, sizes)


def histogram(correct: Counts, total: Counts) -> tuple[int, ...]:
    """Return how many rows have a score in each of the `BINS` bins from 0 to 1.

    >>> histogram(np.array([0, 3, 4], np.int32), np.array([4, 4, 4], np.int32))[-6:]
    (0, 1, 0, 0, 0, 1)
    """
    voted = total > 0
    place = np.minimum(correct[voted].astype(np.int64) * BINS // total[voted], BINS - 1)
    return tuple(np.bincount(place, minlength=BINS).tolist())


def subsample(
    rows: int,
    size: int,
    *,
    seed: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> NDArray[np.intp]:
    """Return `size` of the rows, drawn at random, ascending.

    "In random data reduction, we randomly subsample the dataset to evaluate how a decrease in
    dataset size affects the bias" (WinoGrande, section 3), row by row, so that twins lose halves
    as they do to AFLite.

    Args:
        rows: how many there are.
        size: how many to keep, 0 to `rows`.
        seed: 0 or more.
        groups: the rows that stay or go together, such as `Dataset.groups`; every row in one.
            Groups are then taken in random order, each that still fits: at most `size` rows.

    Raises:
        InputError: `size` is out of its range.
        DataError: the groups do not name each row once.

    >>> subsample(10, 4).tolist()
    [2, 4, 5, 7]
    >>> subsample(6, 4, seed=1, groups=[(0, 1), (2, 3), (4, 5)]).tolist()
    [0, 1, 2, 3]
    """
    if not 0 <= size <= rows:
        raise InputError(f"size is 0 to {rows}, the number of rows; not {size}")
    rng = np.random.default_rng(seed)
    if groups is None:
        return np.sort(rng.choice(rows, size, replace=False, shuffle=False))
    return np.flatnonzero(draw_fitting_groups(number_rows(groups, rows), size, rng))
