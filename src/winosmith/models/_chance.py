"""Is an accuracy above chance, when twins are right or wrong together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["chance_p_value"]


def chance_p_value(
    correct: Sequence[float] | npt.NDArray[Any], groups: Sequence[Sequence[int]]
) -> float:
    """Return the probability that guessing does as well, for problems with two options.

    The null flips the labels of all halves of a group together, each way with probability 1/2:
    a group with r of n right counts r − n/2, and the null gives each such excess a random sign.
    The distribution of the sum is exact (by convolution). Without twins this is the one-sided
    binomial test; with them it does not count what both halves must share as evidence. A solver
    that ignores the trigger has one half of every twin right, and p = 1.

    Args:
        correct: what each answer is worth, (n,): 1 or True, 0 or False, 1/2 for a tie.
        groups: the rows that count as one observation, such as twins with their copies.

    >>> chance_p_value([True] * 5, [(0,), (1,), (2,), (3,), (4,)])  # 1/2 to the 5th
    0.03125
    >>> chance_p_value([True, True, True, False], [(0, 1), (2, 3)])
    0.5
    """
    right = np.asarray(correct, dtype=np.float64)
    excess = [round(2 * float(right[list(rows)].sum())) - len(rows) for rows in groups]
    distribution = np.ones(1)  # of (sum + all) / 2, in halves of a problem
    for size in filter(None, map(abs, excess)):
        longer = np.zeros(len(distribution) + size)
        longer[: len(distribution)] += distribution / 2
        longer[size:] += distribution / 2
        distribution = longer
    at = (sum(excess) + sum(map(abs, excess))) // 2
    return float(min(1.0, distribution[at:].sum()))
