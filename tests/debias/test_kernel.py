"""AFLite's compiled sums against the formulas in float64."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from winosmith.debias._kernel import CLOSE_MARGIN, Kernel
from winosmith.debias._rows import copy_aligned

Floats = NDArray[np.float64]


def problem(count: int = 700) -> tuple[NDArray[np.float32], NDArray[np.float32], Any, Any]:
    """Return a basis, labels, the remaining rows (all except 89), and partitions of every size."""
    rng = np.random.default_rng(2)
    X = copy_aligned(rng.normal(size=(count, 32)))
    y = rng.integers(2, size=count).astype(np.float32)
    rows = np.sort(rng.choice(count, count - 89, replace=False)).astype(np.int32)
    sizes = (611, 300, 129, 7, 1)
    parts = [np.sort(rng.choice(611, n, replace=False)).astype(np.int32) for n in sizes]
    return X, y, rows, parts


def make_weights(classifiers: int) -> Floats:
    """Return weights that leave sigmoids unsaturated."""
    return np.random.default_rng(classifiers).normal(size=(classifiers, 32)) / 6


def test_gradients_match_the_formula() -> None:
    X, y, rows, parts = problem()
    W = make_weights(5)
    gradient = Kernel(X, y).make_gradient(rows, parts)
    G, some = gradient(W, np.arange(5)), gradient(W[[3, 1]], np.array([3, 1]))
    for j, part in enumerate(parts):
        x = X[rows[part]].astype(np.float64)
        wanted = (expit(x @ W[j]) - y[rows[part]]) @ x
        np.testing.assert_allclose(G[j], wanted, rtol=2e-5, atol=5e-4)
    np.testing.assert_allclose(some, G[[3, 1]], rtol=2e-5, atol=5e-4)


@pytest.mark.parametrize("count", [700, 9_000])
def test_votes_match_the_decision_values(count: int) -> None:
    X, y, rows, parts = problem(count)
    W = make_weights(5)
    W[4] = 0.0  # every vote of this classifier is close
    correct, total, close = Kernel(X, y).count_votes(rows, parts, W)
    Z = X[rows].astype(np.float64) @ W.T
    held = np.ones(Z.shape, bool)
    for j, part in enumerate(parts):
        held[part, j] = False
    assert total.tolist() == held.sum(axis=1).tolist()
    assert correct.tolist() == (held & ((Z > 0) == y[rows, None])).sum(axis=1).tolist()
    assert close == (held & (np.abs(Z) < CLOSE_MARGIN)).sum() >= 610
