"""Where the solver starts in a phase, and how far it goes.

In the first phase the start is the regression on all rows, each counted as the part of a training
set that it makes up on average; after that, the mean of the last phase's classifiers. Both are as
near to every classifier's optimum as anything known before it is trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._basis import Basis, aligned
from winosmith.debias._compile import kernel
from winosmith.debias._solver import minimise

__all__ = ["Start", "first_start", "start_at"]

Floats = NDArray[np.float64]

ACCURACY, SPREAD = 1e-3, 1000
"""The Newton decrement δ to reach: this, or its part D/1000 with fewer columns than 1,000 (m/1000
with fewer training rows). δ times the root of a row's leverage x · H⁻¹ x bounds how far that row's
decision value is from the optimum's; where there are many directions, what is left points towards
no row and its part is far smaller. The last step, which is taken on top, shrinks it again. Tests
hold that decision values end within 1e-4 so."""

LEVERAGES = (1.0, 400.0)
"""Leverages below and above are taken as these; more can't be reached with sums of float32."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where the solver starts.

    Attributes:
        weights: (D,).
        diagonal: (D,) of the Hessian there for one training set, the ridge included.
        tolerance: the Newton decrement to reach.
    """

    weights: Floats
    diagonal: Floats
    tolerance: float


def start_at(
    weights: Floats, basis: Basis, rows: NDArray[np.int32], ridge: Floats, train_size: int
) -> Start:
    """Return the start at these weights, for the rows that are left."""
    loops = kernel()

    diagonal = ridge.copy()
    loops.add_curvature(
        basis.matrix, rows, weights.astype(np.float32), train_size / len(rows), diagonal
    )
    diagonal[diagonal == 0] = 1.0  # the padding, and constant columns without a penalty
    leverage = loops.largest(basis.matrix, rows, (1.0 / diagonal).astype(np.float32))
    part = min(1.0, len(weights) / SPREAD, train_size / SPREAD)
    tolerance = ACCURACY * part / float(np.clip(leverage, *LEVERAGES)) ** 0.5
    return Start(weights, diagonal, tolerance)


def first_start(
    basis: Basis,
    y: NDArray[np.float32],
    rows: NDArray[np.int32],
    ridge: Floats,
    train_size: int,
) -> Start:
    """Return the start at the regression on all rows; the labels are those of the whole basis."""
    loops = kernel()

    places = np.arange(len(rows), dtype=np.int32)
    begin, end = np.array([0]), np.array([len(rows)])
    share = train_size / len(rows)

    def gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
        G = np.empty(W.shape)
        loops.add_gradients(basis.matrix, y, rows, begin, end, places, aligned(W), G)
        return G

    nowhere = np.zeros(basis.matrix.shape[1])
    flat = start_at(nowhere, basis, rows, ridge, train_size)
    diagonal = flat.diagonal / share
    fit = minimise(gradient, nowhere[None], ridge / share, diagonal, 1e-2)
    return start_at(fit.weights[0], basis, rows, ridge, train_size)
