"""Scores, and which rows a phase removes: Algorithm 1, lines 10 to 13, of WinoGrande.

Scores are ratios of whole numbers and are compared as such: 3 of 4 votes are at the threshold
0.75, whatever floating point makes of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._partition import TIES, generator

__all__ = ["BINS", "HISTOGRAM_EDGES", "Selection", "at_threshold", "histogram", "scores", "select"]

BINS = 20
"""Bins of a score histogram, each 0.05 wide and open at the right, but for the last."""

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
            could be; else 0.
        tied_removed: how many of the tied were removed.
    """

    removed: NDArray[np.intp]
    candidates: int
    tied: int
    tied_removed: int


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


def select(
    correct: Counts, total: Counts, *, threshold: float, cutoff: int, seed: int, phase: int
) -> Selection:
    """Return the rows with the `cutoff` highest scores among those at the threshold or above.

    Scores have few values, and thousands of rows can share the one at the cutoff. Which of them
    go is drawn at random, from a generator of the phase's own: the order of the rows, or of their
    ids, may go with what they say, and removing by it would carve a bias of its own.
    """
    candidates = np.flatnonzero(at_threshold(correct, total, threshold))
    score = correct[candidates] / total[candidates]  # exact enough: equal ratios, equal doubles
    priority = generator(seed, phase, TIES).permutation(len(correct))[candidates]
    ranked = np.lexsort((priority, -score))
    removed = candidates[ranked[:cutoff]]
    tied = tied_removed = 0
    if len(candidates) > cutoff:
        at_cutoff = score == score[ranked[cutoff - 1]]
        tied_removed = int(at_cutoff[ranked[:cutoff]].sum())
        tied = int(at_cutoff.sum())
        if tied == tied_removed:
            tied = tied_removed = 0
    return Selection(np.sort(removed), len(candidates), tied, tied_removed)


def histogram(correct: Counts, total: Counts) -> tuple[int, ...]:
    """Return how many rows have a score in each of the `BINS` bins from 0 to 1.

    >>> histogram(np.array([0, 3, 4], np.int32), np.array([4, 4, 4], np.int32))[-6:]
    (0, 1, 0, 0, 0, 1)
    """
    voted = total > 0
    place = np.minimum(correct[voted].astype(np.int64) * BINS // total[voted], BINS - 1)
    return tuple(np.bincount(place, minlength=BINS).tolist())
