"""Principal components, the answer axis, and the KL divergence along both with its null."""

from typing import Self

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from winosmith.debias._assess import (
    _SHRINKAGE,
    AssessmentSettings,
    Binning,
    compute_divergence,
    compute_principal_axes,
    make_histograms,
    project_on_answer_axis,
)
from winosmith.errors import DataError


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(300, 12)) * np.linspace(5, 1, 12)) @ rng.normal(size=(12, 12)) + 7


def test_components_match_scikit_learn(rows: np.ndarray) -> None:
    from sklearn.decomposition import PCA

    oracle = PCA(5, svd_solver="full").fit(rows)
    axes = compute_principal_axes(rows, 5)
    np.testing.assert_allclose(axes.explained, oracle.explained_variance_ratio_, atol=1e-9)
    mine, theirs = axes.project(rows), oracle.transform(rows)
    signs = np.sign((mine * theirs).sum(axis=0))
    np.testing.assert_allclose(mine, theirs * signs, atol=1e-6)


def test_largest_loading_is_positive(rows: np.ndarray) -> None:
    """So mirroring every row does not mirror an axis."""
    there = compute_principal_axes(rows, 4).directions
    mirrored = compute_principal_axes(-rows, 4).directions
    largest = np.abs(there).argmax(axis=0)
    assert (there[largest, range(4)] > 0).all()
    np.testing.assert_allclose(there, mirrored, atol=1e-9)


def test_row_order_does_not_change_coordinates(rows: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(rows))
    plain = compute_principal_axes(rows, 3).project(rows)
    permuted = compute_principal_axes(rows[order], 3).project(rows[order])
    np.testing.assert_allclose(permuted, plain[order], atol=1e-7)


def test_chunked_single_precision_matches_double_precision() -> None:
    wide = np.random.default_rng(1).normal(size=(20_000, 4)).astype(np.float32) * [4, 3, 2, 1]
    axes = compute_principal_axes(wide.astype(np.float32), 2)
    whole = np.cov(wide.astype(np.float32).astype(np.float64).T)
    values = np.linalg.eigvalsh(whole)[::-1]
    np.testing.assert_allclose(axes.explained, values[:2] / values.sum(), rtol=1e-9)


def test_degenerate_rows_have_axes() -> None:
    few = compute_principal_axes(np.random.default_rng(0).normal(size=(3, 9)), 10)
    assert few.directions.shape == (9, 9)
    same = compute_principal_axes(np.ones((5, 4)), 2)
    assert same.explained.tolist() == [0, 0]
    assert same.project(np.ones((5, 4))).tolist() == [[0, 0]] * 5
    assert same.project(np.ones((0, 4))).shape == (0, 2)


def shifted_rows(n: int = 200, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return correlated rows of twins whose answers are shifted along one column."""
    rng = np.random.default_rng(6)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, 8))
    X[:, 3] += shift * (2 * y - 1)
    return X, y, np.arange(n) // 2


class Given:
    """An estimator that returns a given covariance."""

    def __init__(self, covariance: np.ndarray):
        self.covariance_ = covariance

    def fit(self, X: object) -> Self:
        """Do nothing."""
        return self


def test_axis_matches_scikit_learns_shrunk_discriminant() -> None:
    """Positions agree up to scale and offset.

    scikit-learn's covariance is the one within the classes, ours that of all rows: with two
    classes
    of equal size and the same sphere the directions agree.
    """
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, groups = shifted_rows()
    read = project_on_answer_axis(X, y[None], groups, np.random.default_rng(0))
    assert read is not None
    half_of = np.empty(len(y), int)
    for number, group in enumerate(np.random.default_rng(0).permutation(len(y) // 2)):
        half_of[groups == group] = number % 2
    for half in (0, 1):
        train, test = half_of != half, half_of == half
        inside = EmpiricalCovariance().fit(
            np.concatenate([X[train & (y == a)] - X[train & (y == a)].mean(axis=0) for a in (0, 1)])
        )
        sphere = np.trace(np.cov(X[train].T, bias=True)) / 8 * np.eye(8)
        mixed = inside.covariance_ * (1 - _SHRINKAGE) + _SHRINKAGE * sphere

        oracle = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Given(mixed))
        theirs = oracle.fit(X[train], y[train]).decision_function(X[test])
        assert np.corrcoef(read[0][test], theirs)[0, 1] > 1 - 1e-9


def test_each_labelling_has_its_own_axis() -> None:
    """Stacked labellings give the same positions as separate calls.

    Flipped labels flip the axis.
    """
    X, y, groups = shifted_rows()
    stack = np.stack([y, 1 - y, np.roll(y, 1)])
    together = project_on_answer_axis(X, stack, groups, np.random.default_rng(0))
    assert together is not None
    for labels, found in zip(stack, together, strict=True):
        alone = project_on_answer_axis(X, labels[None], groups, np.random.default_rng(0))
        assert alone is not None
        np.testing.assert_allclose(found, alone[0], atol=1e-8)
    np.testing.assert_allclose(together[0], -together[1], atol=1e-8)


def test_positions_are_in_standard_deviations() -> None:
    X, y, groups = shifted_rows(2000, shift=0.0)
    for scale in (1e-3, 1.0, 1e4):
        (read,) = project_on_answer_axis(
            X * scale + 5 * scale, y[None], groups, np.random.default_rng(0)
        )
        assert abs(read.mean()) < 0.1
        assert 0.9 < read.std() < 1.1


def test_axis_of_a_row_is_not_fitted_on_its_twin() -> None:
    """Changing one twin's labels changes only the positions of the other half."""
    X, y, groups = shifted_rows()
    changed = y.copy()
    changed[[0, 1]] = 1 - changed[[0, 1]]
    there, back = project_on_answer_axis(
        X, np.stack([y, changed]), groups, np.random.default_rng(0)
    )
    moved = np.flatnonzero(there != back)
    assert not {0, 1} & set(moved.tolist())
    assert len(moved) == 100


def test_axis_needs_both_answers_in_both_halves() -> None:
    X, y, groups = shifted_rows(8)
    rng = np.random.default_rng(0)
    assert project_on_answer_axis(X, np.zeros((1, 8), int), groups, rng) is None
    assert project_on_answer_axis(X[:2], y[None, :2], groups[:2], rng) is None
    assert project_on_answer_axis(X[:0], y[None, :0], groups[:0], rng) is None


histograms = arrays(np.int64, 12, elements=st.integers(0, 400))


@given(histograms, histograms, st.floats(0.01, 5))
def test_divergence_matches_scipy_on_smoothed_counts(
    first: np.ndarray, second: np.ndarray, smoothing: float
) -> None:
    there = compute_divergence(first, second, smoothing=smoothing)
    back = compute_divergence(second, first, smoothing=smoothing)
    assert there == pytest.approx(entropy(first + smoothing, second + smoothing), abs=1e-12)
    assert compute_divergence(first, second, smoothing=smoothing, direction="2||1") == back
    mean = compute_divergence(first, second, smoothing=smoothing, direction="mean")
    assert mean == pytest.approx((there + back) / 2)
    assert there >= 0
    assert compute_divergence(first, first, smoothing=smoothing) == 0


@given(arrays(np.float64, 30, elements=st.floats(-50, 50)), st.integers(2, 40))
def test_each_row_is_counted_in_the_bin_around_it(positions: np.ndarray, bins: int) -> None:
    binning = Binning.from_range(positions.min(), positions.max(), bins)
    edges, near = np.array(binning.edges), 1e-9 * max(1, np.abs(positions).max())
    assert len(edges) == bins + 1
    assert edges[0] == positions.min()
    assert positions.max() == positions.min() or abs(edges[-1] - positions.max()) <= near
    for row in range(30):
        counts = binning.count(positions[row : row + 1], np.array([row % 2]))
        ((answer, place),) = np.argwhere(counts).tolist()
        assert answer == row % 2
        assert edges[place] - near <= positions[row] <= edges[place + 1] + near


def test_bin_counts_match_numpys_histogram() -> None:
    rng = np.random.default_rng(2)
    positions, labels = rng.normal(size=500), rng.integers(0, 2, 500)
    binning = Binning.from_range(positions.min(), positions.max(), 25)
    low_high = (positions.min(), positions.max())
    assert binning.count(positions, labels).tolist() == [
        np.histogram(positions[labels == answer], 25, low_high)[0].tolist() for answer in (0, 1)
    ]


def test_stacked_labellings_give_stacked_counts() -> None:
    rng = np.random.default_rng(4)
    positions, labels = rng.normal(size=(5, 80)), rng.integers(0, 2, (5, 80))
    binning = Binning.from_range(-2, 2, 12)
    assert (binning.count(positions, labels) == [
        binning.count(*pair) for pair in zip(positions, labels, strict=True)
    ]).all()  # fmt: skip
    assert (binning.count(positions[0], labels) == [
        binning.count(positions[0], each) for each in labels
    ]).all()  # fmt: skip


def test_positions_outside_the_range_count_in_the_end_bins() -> None:
    counts = Binning.from_range(0, 1, 4).count(np.array([-9.0, 0.3, 9.0]), np.array([0, 0, 1]))
    assert counts.tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]


def test_bins_of_fixed_width_start_at_its_multiples() -> None:
    """A paper's "bin size" can also mean the width."""
    binning = Binning.from_range(-1.2, 2.7, 100, width=1.0)
    assert binning.edges == (-2, -1, 0, 1, 2, 3)
    assert binning.count(np.array([-1.2, 2.7]), np.array([0, 0]))[0].tolist() == [1, 0, 0, 0, 1]
    assert Binning.from_range(-1.2, 0.3, 100, width=0.5).edges == (-1.5, -1, -0.5, 0, 0.5)


def test_too_narrow_bins_are_refused() -> None:
    with pytest.raises(DataError, match=r"makes 10,000,001 bins, because the axis spans 10"):
        Binning.from_range(0.0, 10.0, 100, width=1e-6)


def test_first_labelling_is_measured_against_the_others() -> None:
    """The null's mean, limits and p-value are those of the others; p counts the first, too."""
    rng = np.random.default_rng(0)
    bins, positions, labels = Binning.from_range(0, 1, 10), rng.random(300), rng.random((41, 300))
    counts = bins.count(positions, labels > 0.5)
    found = make_histograms(bins, positions, labels > 0.5, AssessmentSettings(), False)
    each = [float(compute_divergence(*pair, smoothing=0.5)) for pair in counts]
    assert found.kl == each[0]
    assert found.counts == tuple(map(tuple, counts[0].tolist()))
    assert found.null is not None
    assert found.null.mean == pytest.approx(np.mean(each[1:]))
    assert found.null.low == pytest.approx(min(each[1:]))
    assert found.null.high == pytest.approx(max(each[1:]))
    assert found.null.p == sum(kl >= each[0] for kl in each) / 41
    assert found.null.draws == pytest.approx(each[1:])
    assert found.null.value == found.kl
