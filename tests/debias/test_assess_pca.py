"""Principal components that come out the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from winosmith.debias._assess import principal_axes


@pytest.fixture
def rows() -> np.ndarray:
    """Return 300 rows with unequal variances in 12 columns."""
    rng = np.random.default_rng(3)
    return (rng.normal(size=(300, 12)) * np.linspace(5, 1, 12)) @ rng.normal(size=(12, 12)) + 7


def test_components_are_those_of_scikit_learn(rows: np.ndarray) -> None:
    """Up to signs, coordinates and explained variance are those of scikit-learn's full PCA."""
    from sklearn.decomposition import PCA

    oracle = PCA(5, svd_solver="full").fit(rows)
    axes = principal_axes(rows, 5)
    np.testing.assert_allclose(axes.explained, oracle.explained_variance_ratio_, atol=1e-9)
    mine, theirs = axes.coordinates(rows), oracle.transform(rows)
    signs = np.sign((mine * theirs).sum(axis=0))
    np.testing.assert_allclose(mine, theirs * signs, atol=1e-6)


def test_the_sign_makes_the_largest_loading_positive(rows: np.ndarray) -> None:
    """Mirroring every row mirrors no axis: the sign does not depend on where the rows lie."""
    there = principal_axes(rows, 4).directions
    mirrored = principal_axes(-rows, 4).directions
    largest = np.abs(there).argmax(axis=0)
    assert (there[largest, range(4)] > 0).all()
    np.testing.assert_allclose(there, mirrored, atol=1e-9)


def test_the_order_of_the_rows_does_not_matter(rows: np.ndarray) -> None:
    """Permuted rows have the same coordinates."""
    order = np.random.default_rng(0).permutation(len(rows))
    plain = principal_axes(rows, 3).coordinates(rows)
    permuted = principal_axes(rows[order], 3).coordinates(rows[order])
    np.testing.assert_allclose(permuted, plain[order], atol=1e-7)


def test_chunks_and_precision_do_not_show() -> None:
    """More rows than a chunk holds, in single precision, give what one piece in double gives."""
    wide = np.random.default_rng(1).normal(size=(20_000, 4)).astype(np.float32) * [4, 3, 2, 1]
    axes = principal_axes(wide.astype(np.float32), 2)
    whole = np.cov(wide.astype(np.float32).astype(np.float64).T)
    values = np.linalg.eigvalsh(whole)[::-1]
    np.testing.assert_allclose(axes.explained, values[:2] / values.sum(), rtol=1e-9)


def test_degenerate_rows_have_axes_too() -> None:
    """Fewer rows than columns, equal rows, and fewer columns than asked for are no error."""
    few = principal_axes(np.random.default_rng(0).normal(size=(3, 9)), 10)
    assert few.directions.shape == (9, 9)
    same = principal_axes(np.ones((5, 4)), 2)
    assert same.explained.tolist() == [0, 0]
    assert same.coordinates(np.ones((5, 4))).tolist() == [[0, 0]] * 5
    assert same.coordinates(np.ones((0, 4))).shape == (0, 2)
