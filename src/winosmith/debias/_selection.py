"""Select the rows that a phase removes (Algorithm 1, lines 10 to 13), and random subsets.

Scores are ratios of integers and are compared exactly: 3 of 4 votes reach the threshold 0.75,
regardless of rounding. Random subsets are the baseline for any filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winosmith.debias import _rows
from winosmith.errors import InputError

BINS = 20
"""The number of bins of a score histogram. Each is 0.05 wide and excludes its upper edge, except
for the last bin, which includes it."""

HISTOGRAM_EDGES = tuple(number / BINS for number in range(BINS + 1))
"""The edges of the bins of `Phase.histogram`: 0, 0.05, …, 1."""

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a phase removes.

    Attributes:
        removed: The positions of the removed rows among the rows of the phase, ascending.
        candidates: The number of rows at or above the threshold.
        tied: The number of candidates with the lowest removed score, if not all of them could be
            removed; otherwise 0.
        tied_removed: The number of tied candidates that were removed.
        lowest: The lowest removed score; NaN if nothing was removed.
    """

    removed: NDArray[np.intp]
    candidates: int
    tied: int
    tied_removed: int
    lowest: float = math.nan


def compute_scores(correct: Counts, total: Counts) -> NDArray[np.float64]:
    """Return each row's fraction of correct predictions; NaN for a row without predictions."""
    known = np.full(len(total), np.nan)
    np.divide(correct, total, out=known, where=total > 0)
    return known


def reaches_threshold(correct: Counts, total: Counts, threshold: float) -> NDArray[np.bool_]:
    """Return whether each row has votes, and enough correct votes to reach the threshold."""
    exact = Fraction(str(float(threshold)))  # the decimal as written, not its nearest double
    most = int(total.max(initial=0))
    need = np.array([-(-exact.numerator * n // exact.denominator) for n in range(most + 1)])
    return (total > 0) & (correct >= need[total])


def pool_by_group(votes: Counts, groups: NDArray[np.intp]) -> Counts:
    """Return the total votes of each row's group.

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
    """Select the `cutoff` highest-scoring rows among those that reach the threshold.

    Scores have few distinct values, and thousands of rows can be tied at the cutoff. Of these, a
    random sample is removed, drawn by the phase's own generator, because the order of the rows or
    of their ids may depend on their content and would introduce another bias.

    With `groups`, each group is removed or kept as a whole. Groups are removed in the order of
    their scores, skipping groups that exceed the rest of the cutoff. `correct` and `total`,
    (size,), are the numbers of correct and of all predictions. With `groups`, they must come from
    `pool_by_group`.
    """
    candidates = np.flatnonzero(reaches_threshold(correct, total, threshold))
    score = correct[candidates] / total[candidates]  # equal ratios are equal doubles
    priority = _rows.make_generator(seed, phase, _rows.TIES).permutation(len(correct))
    if groups is not None:
        _, first, number = np.unique(groups, return_index=True, return_inverse=True)
        priority = priority[first][number]
    ranked = np.lexsort((priority[candidates], -score))
    chosen = np.arange(len(ranked)) < cutoff
    if groups is not None:  # the rows of a group are consecutive
        sizes = np.diff(np.flatnonzero(np.diff(groups[candidates][ranked], prepend=-1, append=-1)))
        chosen = np.repeat(_rows.take_fitting(sizes, cutoff), sizes)
    taken = ranked[chosen]
    tied, tied_removed, lowest = 0, 0, math.nan
    if taken.size:
        lowest = float(score[taken].min())
        tied, tied_removed = int((score == lowest).sum()), int((score[taken] == lowest).sum())
    if tied == tied_removed:
        tied = tied_removed = 0
    return Selection(np.sort(candidates[taken]), len(candidates), tied, tied_removed, lowest)


def make_histogram(correct: Counts, total: Counts) -> tuple[int, ...]:
    """Return the number of rows with a score in each of the `BINS` bins from 0 to 1.

    >>> make_histogram(np.array([0, 3, 4], np.int32), np.array([4, 4, 4], np.int32))[-6:]
    (0, 1, 0, 0, 0, 1)
    """
    voted = total > 0
    place = np.minimum(correct[voted].astype(np.int64) * BINS // total[voted], BINS - 1)
    return tuple(np.bincount(place, minlength=BINS).tolist())


def subsample(rows: int, size: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return a random sample of `size` rows, in ascending order.

    WinoGrande (section 3) uses such samples "to evaluate how a decrease in dataset size affects the
    bias". Rows are drawn individually, so that twins can lose one half, as with AFLite.

    Args:
        rows: The number of rows.
        size: The number of rows to keep, 0 to `rows`.
        seed: The random seed, 0 or more.

    Raises:
        InputError: `size` is out of range.

    >>> subsample(10, 4).tolist()
    [2, 4, 5, 7]
    """
    if not 0 <= size <= rows:
        raise InputError(f"size is {size}; choose 0 to {rows}, the number of rows")
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(rows, size, replace=False, shuffle=False))
