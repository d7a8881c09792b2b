"""The answer axis: Fisher's discriminant, read on the twins that it was not fitted on."""

from __future__ import annotations

import numpy as np

from winosmith.debias._assess import _SHRINKAGE, answer_axis


def rows(n: int = 200, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Return correlated rows of twins whose answers are shifted along one column."""
    rng = np.random.default_rng(6)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, 8))
    X[:, 3] += shift * (2 * y - 1)
    return X, y, [(row, row + 1) for row in range(0, n, 2)]


class Given:
    """An estimator of the covariance that was told it."""

    def __init__(self, covariance: np.ndarray):
        self.covariance_ = covariance

    def fit(self, X: object) -> Given:
        """Look at nothing."""
        return self


def test_the_axis_is_that_of_scikit_learns_discriminant() -> None:
    """Up to scale and place, a half is read as scikit-learn's shrunk discriminant reads it.

    Its covariance is the one within the classes, ours that of all rows: with two classes of equal
    size and the same sphere the directions agree.
    """
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, groups = rows()
    read = answer_axis(X, y[None], groups, np.random.default_rng(0))
    assert read is not None
    deal = np.random.default_rng(0).permutation(len(groups))
    half_of = np.empty(len(y), int)
    for number, at in enumerate(deal):
        half_of[list(groups[at])] = number % 2
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


def test_every_labelling_has_an_axis_of_its_own() -> None:
    """Many labellings at once are read as one after the other; flipped labels turn the axis."""
    X, y, groups = rows()
    stack = np.stack([y, 1 - y, np.roll(y, 1)])
    together = answer_axis(X, stack, groups, np.random.default_rng(0))
    assert together is not None
    for labels, found in zip(stack, together, strict=True):
        alone = answer_axis(X, labels[None], groups, np.random.default_rng(0))
        assert alone is not None
        np.testing.assert_allclose(found, alone[0], atol=1e-8)
    np.testing.assert_allclose(together[0], -together[1], atol=1e-8)


def test_positions_are_in_standard_deviations() -> None:
    """Whatever the scale of the embeddings, the rows spread by about 1, around 0."""
    X, y, groups = rows(2000, shift=0.0)
    for scale in (1e-3, 1.0, 1e4):
        (read,) = answer_axis(X * scale + 5 * scale, y[None], groups, np.random.default_rng(0))
        assert abs(read.mean()) < 0.1
        assert 0.9 < read.std() < 1.1


def test_no_row_is_read_by_an_axis_that_saw_its_twin() -> None:
    """Changing one twin's labels moves no position of its own half, only the other's."""
    X, y, groups = rows()
    changed = y.copy()
    changed[[0, 1]] = 1 - changed[[0, 1]]
    there, back = answer_axis(X, np.stack([y, changed]), groups, np.random.default_rng(0))
    moved = np.flatnonzero(there != back)
    assert not {0, 1} & set(moved.tolist())
    assert len(moved) == 100


def test_without_both_answers_in_both_halves_there_is_no_axis() -> None:
    """One answer only, or a single group, can't be fitted on one half and read on the other."""
    X, y, groups = rows(8)
    rng = np.random.default_rng(0)
    assert answer_axis(X, np.zeros((1, 8), int), groups, rng) is None
    assert answer_axis(X[:2], y[None, :2], groups[:1], rng) is None
    assert answer_axis(X[:0], y[None, :0], [], rng) is None
