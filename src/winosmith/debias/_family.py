"""What the classifiers minimise: the logistic loss, in float64.

``1/(2C) |w|² + sum over the training rows of log(1 + e^(-t z))``, the intercept free, t being +1
for the rows of class 1 and -1 for the others (scikit-learn's ``LogisticRegression(C=C)``). A vote
goes to class 1 when the decision value z is above 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLOSE = np.float32(1e-4)
"""Votes with a decision value nearer to 0 than this are counted as close."""


def loss(z: Floats, y: Floats) -> float:
    """Return the sum of the losses of rows with the decision values z, (m,), and labels y."""
    return float(np.logaddexp(0.0, -np.where(y > 0, 1.0, -1.0) * z).sum())


def residual(z: Floats, y: Floats) -> Floats:
    """Return the derivative of each row's loss by its decision value, (m,)."""
    from scipy.special import expit

    return np.asarray(expit(z) - (y > 0))


def curvature(z: Floats) -> Floats:
    """Return the second derivative of each row's loss, (m,)."""
    from scipy.special import expit

    p = expit(z)
    return np.asarray(p * (1 - p))
