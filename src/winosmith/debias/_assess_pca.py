"""Principal components that come out the same every time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.threads import one_thread

_CHUNK = 8_192
"""Rows taken to double precision at once, so that 47,000 × 1,024 need no second copy."""

_DIGITS = 10
"""Coordinates keep this many digits of the largest, so that the last bit's noise of another
machine's linear algebra does not put a row into another bin."""


@dataclass(frozen=True)
class Axes:
    """The first principal components of some rows.

    Attributes:
        mean: (d,) of those rows; 0 where they turn with their options.
        directions: (d, k) orthonormal columns, by falling variance.
        explained: (k,) each one's share of the variance, 0–1.
    """

    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    explained: NDArray[np.float64]

    def coordinates(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the (n, k) coordinates of rows."""
        found = np.concatenate(
            [
                (X[start : start + _CHUNK].astype(np.float64) - self.mean) @ self.directions
                for start in range(0, max(len(X), 1), _CHUNK)
            ]
        )
        scale = 10.0 ** np.ceil(np.log10(np.abs(found).max(initial=0) or 1))
        rounded: NDArray[np.float64] = np.round(found / scale, _DIGITS) * scale
        return rounded


def principal_axes(X: NDArray[Any], k: int, *, turns: bool = False) -> Axes:
    """Return the first `k` principal components of the rows of X, or all d when d < k.

    They are the eigenvectors of the covariance in double precision: no random start, no
    tolerance. A component's sign, which is arbitrary, makes the loading of largest magnitude
    positive; it does not look at the answers. The linear algebra runs on one thread, because the
    order in which several add up may vary.

    Args:
        X: (n, d) with n ≥ 1.
        k: how many.
        turns: whether rows turn around when the options of their problems are swapped. Their mean
            is then 0, each problem being taken in both orders, and turning rows changes nothing.
    """
    from scipy.linalg import eigh

    d = X.shape[1]
    k = min(k, d)
    mean = np.zeros(d) if turns else X.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((d, d))
    with one_thread():
        for start in range(0, len(X), _CHUNK):
            part = X[start : start + _CHUNK].astype(np.float64) - mean
            covariance += part.T @ part
        values, vectors = eigh(covariance, subset_by_index=[d - k, d - 1])
    directions = vectors[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, range(k)] < 0, -1.0, 1.0)
    total = float(np.trace(covariance)) or 1.0
    return Axes(mean, directions, np.clip(values[::-1] / total, 0, 1))
