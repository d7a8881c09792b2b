"""The answer axis: the direction along which the answers stand furthest apart, read held out.

The first principal component, d1, is the direction in which the embeddings vary most. It tells the
answers apart only where an encoder was fine-tuned to do so, as WinoGrande's was. Fisher's linear
discriminant is the direction made for it: w ∝ Σ⁻¹ (mean of option 2 − mean of option 1), with Σ
the covariance of all rows, whatever their labels (for two classes it gives the same direction as
the covariance within the classes). A direction fitted to labels finds something in any labels, so
it is fitted on one half of the twins and read on the other, and the other way around; and the null
fits it anew to every draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.threads import one_thread

RANGE = (-4.0, 4.0)
"""What the bins span, in standard deviations; what lies outside is in the outermost bins."""

_SHRINKAGE = 0.1
"""How much of the covariance is replaced by a sphere of the same trace, so that few rows in many
columns still give a direction (regularised discriminant analysis, Friedman 1989)."""

_DECIMALS = 9
"""Scores are rounded, so that the last bit's noise of another machine's linear algebra does not
put a row into another bin."""


def answer_axis(
    X: NDArray[Any],
    labels: NDArray[np.intp],
    groups: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    turns: bool = False,
) -> NDArray[np.float64] | None:
    """Return where the rows lie along the answer axis, once for each labelling.

    Args:
        X: (n, d) embeddings.
        labels: (k, n) labellings, 0 or 1.
        groups: rows that are never parted between the two halves; every row in one.
        rng: deals the groups to the halves.
        turns: whether rows turn around when the options of their problems are swapped. Each
            problem is then taken in both orders: the mean is 0, and the direction that to the rows
            turned to option 2.

    Returns:
        (k, n) positions in standard deviations, larger where option 2 is expected; None where a
        half is empty or, unless rows turn, does not hold both answers in every labelling.
    """
    half_of = np.empty(labels.shape[1], np.intp)
    for number, at in enumerate(rng.permutation(len(groups))):
        half_of[list(groups[at])] = number % 2
    found = np.zeros(labels.shape)
    with one_thread():  # several threads may add up in another order
        for half in (0, 1):
            train, test = np.flatnonzero(half_of != half), np.flatnonzero(half_of == half)
            seconds = labels[:, train].sum(axis=1)
            both = turns or bool(((seconds > 0) & (seconds < len(train))).all())
            if not len(test) or not len(train) or not both:
                return None
            found[:, test] = _read(X[train], labels[:, train], X[test], turns)
    rounded: NDArray[np.float64] = np.round(found, _DECIMALS)
    return rounded


def _read(
    X: NDArray[Any], labels: NDArray[np.intp], others: NDArray[Any], turns: bool
) -> NDArray[np.float64]:
    """Fit the discriminant of each labelling to X, and return where it puts other rows, (k, m)."""
    from scipy.linalg import cho_factor, cho_solve

    mean = np.zeros(X.shape[1]) if turns else X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    covariance = centred.T @ centred / len(X)
    sphere = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _SHRINKAGE * sphere
    if turns:
        weights = np.where(labels == 1, 1.0, -1.0) / labels.shape[1]
    else:
        seconds = labels.sum(axis=1, keepdims=True)
        weights = np.where(labels == 1, 1 / seconds, -1 / (labels.shape[1] - seconds))
    apart = (weights @ centred).T  # (d, k): mean of option 2 − mean of option 1
    directions = cho_solve(cho_factor(covariance), apart)
    spread = np.sqrt((directions * (covariance @ directions)).sum(axis=0))
    directions /= np.where(spread > 0, spread, 1)
    read: NDArray[np.float64] = ((others - mean) @ directions).T
    return read
