"""AFLite against Algorithm 1 written with scikit-learn; its compiled sums, and single steps."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tests.conftest import examples
from winosmith import debias
from winosmith.debias._ensemble import Ensemble, Settings, open_ensemble
from winosmith.debias._kernel import CLOSE_MARGIN, Kernel
from winosmith.debias._rows import (
    TIES,
    check_rows,
    copy_aligned,
    draw_training_rows,
    make_generator,
)
from winosmith.debias._selection import make_histogram, reaches_threshold, select
from winosmith.debias._solver import minimize, minimize_by_newton

Floats = NDArray[np.float64]


def make_biased_rows(
    rows: int, columns: int, *, seed: int, strength: float = 3.0, share: float = 0.5
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return correlated rows, a fraction of which is predictable, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns)) / columns**0.5
    X += rng.normal(size=columns) * 2
    z = strength * (X - X.mean(axis=0)) @ rng.normal(size=columns) / columns**0.5
    guessable = rng.random(rows) < share
    y = np.where(guessable, z + rng.normal(size=rows) > 0, rng.random(rows) < 0.5)
    y[:2] = 0, 1
    return X.astype(np.float32), y.astype(np.int64)


def fit_scikit_learn(X: Floats, y: NDArray[np.int64], C: float) -> LogisticRegression:
    """Return scikit-learn's regression, fitted to convergence."""
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return model.fit(X, y)


def run_algorithm_1(
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
    """Return the rows removed in each phase, line by line as in the paper."""
    left = np.arange(len(X))
    phases = []
    while len(left) > train_size:
        right, votes = np.zeros(len(left), int), np.zeros(len(left), int)
        for i in range(ensemble_size):
            T = draw_training_rows(
                len(left), train_size, seed=seed, phase=len(phases), classifier=i
            )
            V = np.setdiff1d(np.arange(len(left)), T)
            model = fit_scikit_learn(X[left[T]], y[left[T]], C)
            right[V] += model.predict(X[left[V]]) == y[left[V]]
            votes[V] += 1
        draw = make_generator(seed, len(phases), TIES).permutation(len(left))
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
def test_each_phase_removes_the_same_rows_as_scikit_learn(rows, columns, parameters):
    X, y = make_biased_rows(rows, columns, seed=rows)
    parameters = {"ensemble_size": 16, "seed": 3, **parameters}
    result = debias.aflite(X, y, ids=range(rows), **parameters)
    expected = run_algorithm_1(X.astype(np.float64), y, **parameters)
    assert len(result.phases) >= 3
    assert [rows.tolist() for rows in result.removed] == expected


@st.composite
def regressions(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.int64], Settings]:
    """Draw small data sets: few rows, many columns, separable, weak or strong penalty."""
    rows, columns = draw(st.integers(12, 250)), draw(st.integers(1, 60))
    X, y = make_biased_rows(
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
def test_votes_match_scikit_learns_optimum(problem):
    """Only decision values within 1e-4 of 0 may differ."""
    X, y, chosen = problem
    everything = np.arange(len(y), dtype=np.int32)
    with open_ensemble(check_rows(X, y, range(len(y)), None), chosen) as ensemble:
        for phase, start in enumerate(_starts(ensemble, everything)):
            votes = ensemble.collect_votes(everything, phase, start)
            values = ensemble.basis.matrix.astype(np.float64) @ votes.weights.T
            for classifier in np.flatnonzero(~votes.one_class):
                T = draw_training_rows(
                    len(y),
                    chosen.train_size,
                    seed=chosen.seed,
                    phase=phase,
                    classifier=int(classifier),
                )
                try:
                    best = fit_scikit_learn(X[T].astype(np.float64), y[T], chosen.C)
                except ConvergenceWarning:  # rare; then no comparison is possible
                    continue
                wanted = best.decision_function(X.astype(np.float64))
                sure = np.abs(wanted) > 1e-4
                assert ((values[:, classifier] > 0) == (wanted > 0))[sure].all()


def _starts(ensemble: Ensemble, left: NDArray[np.int32]) -> Iterator:
    """Yield the first start, then a start at the mean of a phase's classifiers."""
    first = ensemble.compute_starting_point(left)
    yield first
    yield ensemble.compute_start_at(
        ensemble.collect_votes(left, 0, first).weights.mean(axis=0), left
    )


def test_start_has_the_curvature_of_the_formula():
    X, y = make_biased_rows(500, 20, seed=1)
    left = np.arange(9, 500, dtype=np.int32)
    with open_ensemble(check_rows(X, y, range(500), None), Settings(2, 200, 1, 0.75, 1, 0)) as made:
        w = np.random.default_rng(1).normal(size=len(made.penalty)) / 6
        start = made.compute_start_at(w, left)
        x = made.basis.matrix[left].astype(np.float64)
        penalty = made.penalty
    p = expit(x @ w)
    v = 200 / len(left) * p * (1 - p)
    diagonal = penalty + v @ (x * x)
    diagonal[diagonal == 0] = 1
    np.testing.assert_allclose(start.diagonal, diagonal, rtol=1e-5)
    np.testing.assert_allclose(start.product, penalty * w + (v * (x @ w)) @ x, rtol=1e-4, atol=1e-3)


def test_newton_matches_scikit_learn_on_separable_classes():
    X, y = make_biased_rows(80, 10, seed=5)
    y = (X[:, 0] > X[:, 0].mean()).astype(np.int64)
    with_one = np.c_[X, np.ones(len(X))].astype(np.float32)
    ridge = np.r_[np.full(10, 1e-4), 0.0]
    found = minimize_by_newton(with_one, y.astype(np.float32), ridge, np.full(11, 5.0))
    best = fit_scikit_learn(X.astype(np.float64), y, 1e4)
    wanted = best.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(with_one @ found, wanted, rtol=1e-5)


def test_weights_do_not_depend_on_the_other_regressions():
    rng = np.random.default_rng(8)
    matrix = copy_aligned(rng.normal(size=(500, 48)))
    labels = (matrix[:, 0] + rng.normal(size=500) > 0).astype(np.float32)
    ridge, diagonal = np.ones(48), np.full(48, 30.0)

    def solve(columns: list[int]) -> Floats:
        parts = [draw_training_rows(500, 150, seed=1, phase=0, classifier=j) for j in columns]
        sums = Kernel(matrix, labels).make_gradient(np.arange(500, dtype=np.int32), parts)
        fit = minimize(
            lambda W, some: sums(W, some) + ridge * W,
            np.zeros((len(columns), 48)),
            diagonal,
            1e-4,
        )
        assert fit.converged.all()
        return fit.weights

    together = solve(list(range(13)))
    for columns in ([4], [12, 0], [7, 8, 9]):
        assert solve(columns).tobytes() == together[columns].tobytes()


@pytest.mark.parametrize("workers", [1, 3])
def test_rotated_rows_do_not_depend_on_the_thread_count(workers):
    from threadpoolctl import threadpool_limits

    from winosmith.debias._solver import rotate_rows

    X, y = make_biased_rows(9000, 20, seed=2)
    rows = check_rows(X, y, range(9000), None)
    with (
        threadpool_limits(1),
        ThreadPoolExecutor(2) as two,
        ThreadPoolExecutor(workers) as other,
        rotate_rows(rows, two) as one,
        rotate_rows(rows, other) as another,
    ):
        assert one.matrix.tobytes() == another.matrix.tobytes()


def test_barely_separable_training_sets_need_no_polishing():
    """Training sets with about as many rows as columns take more passes, but no float64 solver."""
    X, y = make_biased_rows(900, 200, seed=3)
    parameters = {"ensemble_size": 4, "train_size": 205, "cutoff": 10}
    phase = debias.aflite(X, y, **parameters).phases[0]
    assert phase.polished == 0
    assert 16 < phase.passes < 150


def test_score_equal_to_the_threshold_reaches_it():
    """Counts are compared as integers:

    7 of 10 reaches 0.7, and a row without votes reaches nothing.
    """
    for right, votes, threshold in ((3, 4, 0.75), (7, 10, 0.7), (3, 5, 0.6), (29, 100, 0.29)):
        counts = np.array([right, right - 1], np.int32), np.array([votes, votes], np.int32)
        assert reaches_threshold(*counts, threshold).tolist() == [True, False]
    nobody = np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert reaches_threshold(*nobody, 0.0).tolist() == [False]


def test_ties_at_the_cutoff_are_removed_at_random():
    everyone = np.full(1000, 4, np.int32)
    drawn = [
        select(everyone, everyone, threshold=0.75, cutoff=100, seed=seed, phase=0)
        for seed in range(20)
    ]
    assert {(s.candidates, s.tied, s.tied_removed) for s in drawn} == {(1000, 1000, 100)}
    assert len({s.removed.tobytes() for s in drawn}) == 20
    means = [s.removed.mean() for s in drawn]
    assert abs(np.mean(means) - 499.5) < 4 * 288.7 / np.sqrt(2000)
    later = select(everyone, everyone, threshold=0.75, cutoff=100, seed=0, phase=1)
    assert later.removed.tobytes() != drawn[0].removed.tobytes()


def test_highest_scores_are_removed_first():
    total = np.full(9, 8, np.int32)
    correct = np.array([8, 7, 6, 6, 6, 5, 8, 6, 7], np.int32)
    chosen = select(correct, total, threshold=0.75, cutoff=5, seed=0, phase=0)
    assert set(chosen.removed.tolist()) > {0, 1, 6, 8}
    assert (chosen.candidates, chosen.tied, chosen.tied_removed) == (8, 4, 1)
    exact = select(correct, total, threshold=0.75, cutoff=4, seed=0, phase=0)
    assert (exact.removed.tolist(), exact.tied) == ([0, 1, 6, 8], 0)
    nobody = select(0 * correct, total, threshold=0.75, cutoff=4, seed=0, phase=0)
    assert (nobody.candidates, nobody.tied, nobody.tied_removed) == (0, 0, 0)


def test_score_on_a_bin_edge_counts_in_the_upper_bin():
    total = np.full(21, 20, np.int32)
    assert make_histogram(np.arange(21, dtype=np.int32), total) == (*[1] * 19, 2)
    assert [*debias.HISTOGRAM_EDGES] == [number / 20 for number in range(21)]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=40),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 9),
)
def test_training_sets_contain_only_whole_groups(sizes, share, seed):
    """A set may be smaller than asked for only if no other group fits."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    size = max(5, round(share * len(groups)))
    size = min(size, len(groups))
    T = draw_training_rows(len(groups), size, seed=seed, phase=0, classifier=1, groups=groups)
    inside = set(groups[T].tolist())
    assert len(T) == sum(sizes[group] for group in inside) <= size
    assert all(sizes[group] > size - len(T) for group in set(groups.tolist()) - inside)


def test_training_rows_are_drawn_uniformly():
    counts = np.zeros(30)
    for classifier in range(4000):
        T = draw_training_rows(30, 12, seed=1, phase=2, classifier=classifier)
        assert len(T) == 12
        counts[T] += 1
    assert np.abs(counts / 4000 - 0.4).max() < 5 * np.sqrt(0.24 / 4000)


def make_kernel_input(
    count: int = 700,
) -> tuple[NDArray[np.float32], NDArray[np.float32], Any, Any]:
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


def test_gradients_match_the_formula():
    X, y, rows, parts = make_kernel_input()
    W = make_weights(5)
    gradient = Kernel(X, y).make_gradient(rows, parts)
    G, some = gradient(W, np.arange(5)), gradient(W[[3, 1]], np.array([3, 1]))
    for j, part in enumerate(parts):
        x = X[rows[part]].astype(np.float64)
        wanted = (expit(x @ W[j]) - y[rows[part]]) @ x
        np.testing.assert_allclose(G[j], wanted, rtol=2e-5, atol=5e-4)
    np.testing.assert_allclose(some, G[[3, 1]], rtol=2e-5, atol=5e-4)


@pytest.mark.parametrize("count", [700, 9_000])
def test_votes_match_the_decision_values(count):
    X, y, rows, parts = make_kernel_input(count)
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
