"""Rank correlations of many pairs of rows at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tau_b(first: Floats, second: Floats) -> Floats:
    """Return Kendall's tau-b (1945) of each row with the same row of the other array.

    (concordant − discordant) / √(pairs untied in the first · pairs untied in the second); NaN where
    all values of a row are equal.

    >>> tau_b(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 2, 4, 3]])).round(3).tolist()
    [0.667]
    """
    a, b = _signs(first), _signs(second)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return tau


def spearman(first: Floats, second: Floats) -> Floats:
    """Return Spearman's rho (1904) of each row with the same row of the other array.

    The correlation of the ranks, ties in the middle; NaN where all values of a row are equal.
    """
    from scipy.stats import rankdata

    a, b = (rankdata(rows, axis=1) for rows in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: Floats = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return rho


def reversed_pairs(first: Floats, second: Floats) -> int:
    """Return how many pairs stand in one order in one vector and in the other in the other."""
    return int((_signs(first[None]) * _signs(second[None]) < 0).sum())


def _signs(rows: Floats) -> Floats:
    """Return for each row the sign of the difference of each two of its values."""
    i, j = np.triu_indices(rows.shape[1], k=1)
    signs: Floats = np.sign(rows[:, i] - rows[:, j])
    return signs
