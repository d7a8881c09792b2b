"""AFLite against Algorithm 1 written down with scikit-learn, and the solver against its optimum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from winosmith import debias
from winosmith.debias._partition import TIES, generator, training_rows

Rows = NDArray[np.float64]


def biased(
    rows: int, columns: int, *, seed: int, strength: float = 3.0, share: float = 0.5
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return correlated rows of which a share can be guessed, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns)) / columns**0.5
    X += rng.normal(size=columns) * 2
    z = strength * (X - X.mean(axis=0)) @ rng.normal(size=columns) / columns**0.5
    guessable = rng.random(rows) < share
    y = np.where(guessable, z + rng.normal(size=rows) > 0, rng.random(rows) < 0.5)
    return X.astype(np.float32), y.astype(np.int64)


def optimum(X: Rows, y: NDArray[np.int64], C: float) -> LogisticRegression:
    """Return scikit-learn's regression, converged."""
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return model.fit(X, y)


def algorithm_1(
    X: Rows,
    y: NDArray[np.int64],
    *,
    ensemble_size: int,
    train_size: int,
    cutoff: int,
    threshold: float,
    C: float,
    seed: int,
) -> list[list[int]]:
    """Return the rows removed in each phase, line by line as the paper prints it."""
    left = np.arange(len(X))
    phases = []
    while len(left) > train_size:
        right, votes = np.zeros(len(left), int), np.zeros(len(left), int)
        for i in range(ensemble_size):
            T = training_rows(len(left), train_size, seed=seed, phase=len(phases), classifier=i)
            V = np.setdiff1d(np.arange(len(left)), T)
            model = optimum(X[left[T]], y[left[T]], C)
            right[V] += model.predict(X[left[V]]) == y[left[V]]
            votes[V] += 1
        draw = generator(seed, len(phases), TIES).permutation(len(left))
        may_go = [e for e in range(len(left)) if votes[e] and right[e] / votes[e] >= threshold]
        best = sorted(may_go, key=lambda e: (-right[e] / votes[e], draw[e]))[:cutoff]
        phases.append(sorted(left[best].tolist()))
        left = np.delete(left, best)
        if len(best) < cutoff:
            break
    return phases


@pytest.mark.parametrize(
    ("rows", "columns", "parameters"),
    [
        (1500, 24, {"train_size": 320, "cutoff": 60, "C": 1.0, "threshold": 0.75}),
        (600, 60, {"train_size": 130, "cutoff": 25, "C": 0.1, "threshold": 0.7}),
        (400, 8, {"train_size": 330, "cutoff": 10, "C": 100.0, "threshold": 0.8}),
    ],
)
def test_the_same_rows_go_as_with_scikit_learn(rows, columns, parameters):
    """A whole run removes, phase by phase, the rows that a converged scikit-learn removes."""
    X, y = biased(rows, columns, seed=rows)
    parameters = {"ensemble_size": 16, "seed": 3, **parameters}
    result = debias.aflite(X, y, ids=range(rows), **parameters)
    expected = algorithm_1(X.astype(np.float64), y, **parameters)
    assert len(result.phases) >= 3
    assert [rows.tolist() for rows in result.removed] == expected
