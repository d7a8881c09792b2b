"""What the random draws of a null give: the ends of their interval, and its label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_FEWEST = 39
"""Draws of which the least and the greatest have 95 % of further draws between them."""

_ROUNDED = 1e-9
"""Products such as 0.05 · 20 can be below their whole number by less."""


def nth_greatest(drawn: npt.ArrayLike, level: float) -> float:
    """Return the ⌊level · (B + 1)⌋-th greatest of B draws.

    With the observed value exchangeable with the draws, the probability that it is greater is at
    most the level; it is greater exactly if (1 + number of draws as great) / (1 + B) ≤ level.

    Args:
        drawn: (B,).
        level: of the test, 0–1.

    Raises:
        ValueError: there are fewer draws than 1 / level - 1.

    >>> nth_greatest(range(19), 0.05), nth_greatest(range(199), 0.05)
    (18.0, 189.0)
    """
    values = np.sort(np.asarray(drawn, np.float64))
    rank = int(level * (len(values) + 1) + _ROUNDED)
    if rank < 1:
        raise ValueError(f"{len(values)} draws are too few for a level of {level}")
    return float(values[-rank])


def null_interval(drawn: npt.ArrayLike) -> tuple[float, float]:
    """Return the interval of the draws of a null; `null_interval_label` says what it is.

    Its ends are the ⌊0.025 (B + 1)⌋-th least and greatest draws, between which a further draw is
    with a probability of at least 95 %. (Interpolated 2.5 and 97.5 % quantiles of 20 draws have
    86 %.) Of fewer than 39 draws they are the least and the greatest of all.

    Args:
        drawn: (B,), at least one.

    >>> null_interval(range(20)), null_interval(range(1, 1000))
    ((0.0, 19.0), (25.0, 975.0))
    """
    values = np.sort(np.asarray(drawn, np.float64))
    rank = max(1, int(0.025 * (len(values) + 1) + _ROUNDED))
    return float(values[rank - 1]), float(values[-rank])


def null_interval_label(draws: int) -> str:
    """Return what `null_interval` of so many draws is.

    >>> null_interval_label(20), null_interval_label(39)
    ("the draws' range", '95 % of the draws')
    """
    return "95 % of the draws" if draws >= _FEWEST else "the draws' range"
