"""One logistic regression in float64, by Newton's method with halved steps: slow and sure.

It settles the columns that the batched solver gives up: nearly separable classes with a large
`C`, or columns that float32 sums can't bring to rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["newton"]

Floats = NDArray[np.float64]

STEPS = 100
"""Newton steps at most; three to twenty are usual."""

WHOLE = 1e-8
"""Slope along a Newton step, as a part of the loss, below which the step is taken whole: float64
hardly resolves what a smaller one gains, and Newton's method has long become quadratic."""

DONE = 1e-24
"""Slope (the square of the Newton decrement) at which it ends in any case."""


def newton(
    rows: NDArray[np.float32], labels: NDArray[np.float32], ridge: Floats, start: Floats
) -> Floats:
    """Return the (D,) weights that minimise ``ridge/2 · w² + sum log(1 + e^z) - y z``, z = X w.

    It ends when the slope along the Newton step, the square of the decrement (Boyd &
    Vandenberghe 2004, section 9.5.1), is small and rounding lets it fall no further.

    Args:
        rows: (m, D), the X above.
        labels: (m,) 0 or 1, the y above; both occur.
        ridge: (D,) penalty of each weight, 0 or more.
        start: (D,) first weights.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import expit

    X, y, w = rows.astype(np.float64), labels.astype(np.float64), start.copy()
    z = X @ w
    loss, last = _loss(z, y, w, ridge), np.inf
    for _ in range(STEPS):
        p = expit(z)
        gradient = X.T @ (p - y) + ridge * w
        hessian = (X * (p * (1 - p))[:, None]).T @ X
        diagonal = np.einsum("ii->i", hessian)
        diagonal += ridge + 1e-12 * (1 + diagonal)  # positive, even where sigmoids saturate
        step = cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient)
        slope = float(gradient @ step)
        if slope < WHOLE * loss:
            w = w - step
            if slope < DONE or slope > last / 4:
                break
            last = slope
        else:
            w = w - step * _halved(z, X @ step, y, w, step, ridge, loss, slope)
        z = X @ w
        loss = _loss(z, y, w, ridge)
    return w


def _halved(
    z: Floats,
    along: Floats,
    y: Floats,
    w: Floats,
    step: Floats,
    ridge: Floats,
    loss: float,
    slope: float,
) -> float:
    """Return the first of 1, 1/2, 1/4, … of the step that lowers the loss as it should (Armijo)."""
    size = 1.0
    while size > 1e-10:
        ahead = _loss(z - size * along, y, w - size * step, ridge)
        if ahead <= loss - 1e-4 * size * slope:
            break
        size /= 2
    return size


def _loss(z: Floats, y: Floats, w: Floats, ridge: Floats) -> float:
    return float(np.logaddexp(0.0, z).sum() - y @ z + 0.5 * (ridge * w) @ w)
