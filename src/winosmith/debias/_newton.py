"""One classifier in float64, by Newton's method with halved steps: slow and sure.

It settles the columns that the batched solver gives up: nearly separable classes with a large
`C`, or columns that float32 sums can't bring to rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._family import curvature, loss, residual

Floats = NDArray[np.float64]

STEPS = 100
"""Newton steps at most; three to twenty are usual."""

WHOLE = 1e-8
"""Slope along a Newton step, as a part of the loss, below which the step is taken whole: float64
hardly resolves what a smaller one gains, and Newton's method has long become quadratic."""

DONE = 1e-24
"""Slope (the square of the Newton decrement) at which it ends in any case."""


def newton(
    rows: NDArray[np.float32],
    labels: NDArray[np.float32],
    ridge: Floats,
    start: Floats,
) -> Floats:
    """Return the (D,) weights that minimise ``ridge/2 · w² + sum of the losses``.

    It ends when the slope along the Newton step, the square of the decrement (Boyd &
    Vandenberghe 2004, section 9.5.1), is small and rounding lets it fall no further.

    Args:
        rows: (m, D).
        labels: (m,) 0 or 1; both occur.
        ridge: (D,) penalty of each weight, 0 or more.
        start: (D,) first weights.
    """
    fit = _Fit(rows.astype(np.float64), labels.astype(np.float64), ridge)
    w, last = start.copy(), np.inf
    z = fit.X @ w
    for _ in range(STEPS):
        step, slope = fit.step(w, z)
        if slope < WHOLE * fit.loss(w, z):
            w = w - step
            if slope < DONE or slope > last / 4:
                break
            last = slope
        else:
            w = w - step * fit.halved(w, z, step, slope)
        z = fit.X @ w
    return w


@dataclass(frozen=True, slots=True)
class _Fit:
    """What is minimised; the attributes are `newton`'s arguments, in float64."""

    X: Floats
    y: Floats
    ridge: Floats

    def loss(self, w: Floats, z: Floats) -> float:
        """Return what is minimised, at the weights w with the decision values z, (m,)."""
        return loss(z, self.y) + 0.5 * float(((self.ridge * w) * w).sum())

    def step(self, w: Floats, z: Floats) -> tuple[Floats, float]:
        """Return the Newton step, to be subtracted, and the slope along it."""
        from scipy.linalg import cho_factor, cho_solve

        gradient = residual(z, self.y) @ self.X + self.ridge * w
        hessian = (self.X * curvature(z)[:, None]).T @ self.X
        diagonal = np.einsum("ii->i", hessian)
        diagonal += self.ridge + 1e-12 * (1 + diagonal)  # positive, even where sigmoids saturate
        step = cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient)
        return step, float(gradient @ step)

    def halved(self, w: Floats, z: Floats, step: Floats, slope: float) -> float:
        """Return the first of 1, 1/2, 1/4, … of the step that lowers the loss enough (Armijo)."""
        now, along, size = self.loss(w, z), self.X @ step, 1.0
        while size > 1e-10:
            ahead = self.loss(w - size * step, z - size * along)
            if ahead <= now - 1e-4 * size * slope:
                break
            size /= 2
        return size
