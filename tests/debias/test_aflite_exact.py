"""AFLite against Algorithm 1 written down with scikit-learn, and its solver against the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tests.conftest import examples
from winosmith import debias
from winosmith.debias._ensemble import Ensemble, Settings, assembled
from winosmith.debias._kernel import Kernel
from winosmith.debias._rows import TIES, aligned, checked_rows, generator, training_rows
from winosmith.debias._solver import minimise, newton

Floats = NDArray[np.float64]


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
    y[:2] = 0, 1
    return X.astype(np.float32), y.astype(np.int64)


def optimum(X: Floats, y: NDArray[np.int64], C: float) -> LogisticRegression:
    """Return scikit-learn's regression, converged."""
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return model.fit(X, y)


def algorithm_1(
    X: Floats,
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
        (401, 16, {"train_size": 150, "cutoff": 20, "C": 1.0, "threshold": 0.7}),
        (402, 17, {"train_size": 150, "cutoff": 20, "C": 1.0, "threshold": 0.7}),
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


@st.composite
def regressions(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.int64], Settings]:
    """Small data sets of every shape: few rows, many columns, separable, weak or strong penalty."""
    rows, columns = draw(st.integers(12, 250)), draw(st.integers(1, 60))
    X, y = biased(
        rows,
        columns,
        seed=draw(st.integers(0, 2**20)),
        strength=draw(st.floats(0.0, 30.0)),
        share=draw(st.floats(0.0, 1.0)),
    )
    if draw(st.booleans()):
        X = np.round(X)  # ties, duplicate rows, constant columns
    train_size = draw(st.integers(4, rows - 1))
    C = 10.0 ** draw(st.floats(-4, 2))
    return X, y, Settings(3, train_size, 1, 0.75, C, draw(st.integers(0, 99)))


@given(regressions())
@examples(60)
def test_votes_are_those_of_the_optimum(problem):
    """Each classifier votes as a converged scikit-learn wherever that is not within 1e-4 of 0."""
    X, y, chosen = problem
    everything = np.arange(len(y), dtype=np.int32)
    with assembled(checked_rows(X, y, range(len(y)), None), chosen) as ensemble:
        for phase, start in enumerate(_starts(ensemble, everything)):
            votes = ensemble.vote(everything, phase, start)
            values = ensemble.basis.matrix.astype(np.float64) @ votes.weights.T
            for classifier in np.flatnonzero(~votes.one_class):
                T = training_rows(
                    len(y),
                    chosen.train_size,
                    seed=chosen.seed,
                    phase=phase,
                    classifier=int(classifier),
                )
                try:
                    best = optimum(X[T].astype(np.float64), y[T], chosen.C)
                except ConvergenceWarning:  # rare, and then there is nothing to compare with
                    continue
                wanted = best.decision_function(X.astype(np.float64))
                sure = np.abs(wanted) > 1e-4
                assert ((values[:, classifier] > 0) == (wanted > 0))[sure].all()


def _starts(ensemble: Ensemble, left: NDArray[np.int32]) -> Iterator:
    """Yield the first start, then one at the mean of a phase's classifiers."""
    first = ensemble.first_start(left)
    yield first
    yield ensemble.start_at(ensemble.vote(left, 0, first).weights.mean(axis=0), left)


def test_newton_solves_what_can_be_separated():
    """The float64 solver agrees with scikit-learn where the classes are apart and C is large."""
    X, y = biased(80, 10, seed=5)
    y = (X[:, 0] > X[:, 0].mean()).astype(np.int64)
    with_one = np.c_[X, np.ones(len(X))].astype(np.float32)
    ridge = np.r_[np.full(10, 1e-4), 0.0]
    found = newton(with_one, y.astype(np.float32), ridge, np.full(11, 5.0))
    best = optimum(X.astype(np.float64), y, 1e4)
    wanted = best.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(with_one @ found, wanted, rtol=1e-5)


def test_a_column_gets_the_same_bits_in_any_company():
    """A regression's weights do not depend on those that are solved beside it."""
    rng = np.random.default_rng(8)
    matrix = aligned(rng.normal(size=(500, 48)))
    labels = (matrix[:, 0] + rng.normal(size=500) > 0).astype(np.float32)
    ridge, diagonal = np.ones(48), np.full(48, 30.0)

    def solve(columns: list[int]) -> Floats:
        parts = [training_rows(500, 150, seed=1, phase=0, classifier=j) for j in columns]
        gradient = Kernel(matrix, labels).training(np.arange(500, dtype=np.int32), parts)
        fit = minimise(gradient, np.zeros((len(columns), 48)), ridge, diagonal, 1e-4)
        assert fit.converged.all()
        return fit.weights

    together = solve(list(range(13)))
    for columns in ([4], [12, 0], [7, 8, 9]):
        assert solve(columns).tobytes() == together[columns].tobytes()


@pytest.mark.parametrize("workers", [1, 3])
def test_the_basis_has_the_same_bits_for_any_number_of_threads(workers):
    """The rotated rows do not depend on how many threads rotate them."""
    from threadpoolctl import threadpool_limits

    from winosmith.debias._solver import basis_of

    X, y = biased(9000, 20, seed=2)
    rows = checked_rows(X, y, range(9000), None)
    with (
        threadpool_limits(1),
        ThreadPoolExecutor(2) as two,
        ThreadPoolExecutor(workers) as other,
        basis_of(rows, two) as one,
        basis_of(rows, other) as another,
    ):
        assert one.matrix.tobytes() == another.matrix.tobytes()


def test_as_many_rows_as_columns_are_solved_together_too() -> None:
    """Training sets that can just be separated take more passes, and no float64 of their own."""
    X, y = biased(900, 200, seed=3)
    parameters = {"ensemble_size": 4, "train_size": 205, "cutoff": 10}
    phase = debias.aflite(X, y, **parameters).phases[0]
    assert phase.polished == 0
    assert 16 < phase.passes < 150
