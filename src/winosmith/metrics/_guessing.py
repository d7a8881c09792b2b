"""How likely does guessing do as well, when twins are right or wrong together?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winosmith.metrics._graded import Graded

__all__ = ["guessing_level", "guessing_p_value"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def guessing_level(graded: Graded) -> float:
    """Return the accuracy that guessing gives on average, 0–1: the mean of 1/k for k options."""
    return float(np.mean([1 / len(problem.options) for problem in graded.dataset]))


def guessing_p_value(graded: Graded) -> float:
    """Return the probability that guessing has as many right, or more.

    The null turns the labels of a cluster's problems all together: with two options it keeps them
    or flips them, so a twin keeps its opposite answers; with k options, each problem's answer stays
    with probability 1/k, and else is any other of its options, since the order in which options are
    written ties no two problems together. What is tied keeps its 1 / (options tied) where the drawn
    answer is among them. The distribution of the sum is exact (by convolution). Without clusters
    this is the one-sided binomial test (Poisson-binomial for mixed numbers of options); with them
    it takes what halves must share for no evidence. A solver that ignores the trigger has one half
    of every twin right, and p = 1; so has one that can't decide anything.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(0, singles=5)
    >>> guessing_p_value(grade(data, [Prediction(p.id, p.answer) for p in data]))  # 1/2 to the 5th
    0.03125
    """
    together: dict[tuple[int, int], list[int]] = {}
    for row, cluster in enumerate(graded.clusters):
        together.setdefault((int(cluster), len(graded.dataset[row].options)), []).append(row)
    sizes = [len(prediction.chosen) for prediction in graded.predictions]
    unit = math.lcm(*set(sizes))  # credits are whole numbers of 1/unit
    certain, distribution = 0, np.ones(1)
    for (_, options), rows in together.items():
        step = _turned([sizes[row] for row in rows], graded.credit[rows] > 0, options, unit)
        first, last = np.flatnonzero(step)[[0, -1]]
        certain += int(first)
        if last > first:
            distribution = np.convolve(distribution, step[first : last + 1])
    seen = round(float(graded.credit.sum()) * unit) - certain
    return float(min(1.0, distribution[max(seen, 0) :].sum()))


def _turned(sizes: Sequence[int], right: Bools, options: int, unit: int) -> Floats:
    """Return how probable each credit of a cluster is, in units, when its labels are turned.

    Args:
        sizes: how many options each answer has chosen, ascending or not.
        right: whether the right one is among them, (n,).
        options: how many there are.
        unit: of credit.
    """
    other = np.ones(1)  # if the labels are turned to other options
    for size, hit in zip(sizes, right, strict=True):
        chance = (size - hit) / (options - 1)
        credit = unit // size
        step = np.zeros(credit + 1)
        step[0], step[credit] = 1 - chance, chance
        other = np.convolve(other, step)
    found = (options - 1) / options * other
    found[sum(unit // size for size, hit in zip(sizes, right, strict=True) if hit)] += 1 / options
    return found
