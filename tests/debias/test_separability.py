"""Vectors that separate problems, and the accuracy of a linear probe."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, debias
from winosmith.debias import probe
from winosmith.errors import DataError
from winosmith.testing import make_twins

POOL = make_twins(20, singles=10)
RNG = np.random.default_rng(0)


def test_equal_vectors_are_blind() -> None:
    for X in (np.zeros((50, 3)), np.ones((50, 3)), 1e-30 * np.ones((50, 1))):
        for flips_sign in (True, False):
            found = debias.measure_separability(POOL, X, flips_sign=flips_sign)
            assert (found.units, found.separable, found.is_blind) == (30, 0, True)


@given(st.integers(0, 20), st.integers(0, 10), st.floats(1e-6, 1e6))
def test_separable_twins_and_singles_are_counted(twins: int, singles: int, scale: float) -> None:
    """Twins whose halves have equal vectors are not separable, nor are singles of zeros.

    The scale of the vectors does not matter.
    """
    X = np.repeat(RNG.normal(size=(20, 4)), 2, axis=0)
    X[: 2 * twins : 2] += 1
    X = scale * np.vstack([X, np.zeros((10, 4))])
    X[40 : 40 + singles] = scale
    found = debias.measure_separability(POOL, X)
    assert (found.units, found.separable) == (30, twins + singles)
    assert found.is_blind == (twins + singles < 3)


def test_swapped_options_do_not_change_separability() -> None:
    """A half with swapped options has the negative vector, and still equals its copy."""
    swapped = Dataset(
        replace(p, options=p.options[::-1], answer=1 - p.answer) if row % 2 else p
        for row, p in enumerate(POOL)
    )
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0)
    turned = np.where(np.arange(50) % 2, -1, 1)[:, None] * X
    assert debias.measure_separability(POOL, X) == debias.measure_separability(swapped, turned)
    assert debias.measure_separability(POOL, X).separable == 10


def test_rounding_differences_are_not_separable() -> None:
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0).astype(np.float32)
    X[40:] = 0
    X[::2] = np.nextafter(X[::2], np.float32(9))
    assert debias.measure_separability(POOL, X).separable == 0


def test_problems_with_different_options_are_separable() -> None:
    three = Dataset(
        Problem(f"{row}", f"Which of {row} is it? _", ("a", "b", "c"), 0) for row in range(10)
    )
    X = np.ones((10, 3, 2))
    assert debias.measure_separability(three, X).separable == 0
    X[:4, 1] = 2
    assert debias.measure_separability(three, X).separable == 4
    alone = np.repeat(RNG.normal(size=(20, 2, 3)), 2, axis=0)
    found = debias.measure_separability(make_twins(20), alone)
    assert (found.separable, found.is_blind) == (0, True)


def test_wrong_number_of_vectors_is_refused() -> None:
    with pytest.raises(DataError, match="there are 49 vectors for 50 problems"):
        debias.measure_separability(POOL, np.zeros((49, 2)))


def data(signal, rows=2000, seed=0):
    """Return embeddings in which one direction carries the label with that strength."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    X = rng.standard_normal((rows, 5))
    X[:, 0] += signal * (2 * y - 1)
    return X, y, [(row, row + 1) for row in range(0, rows, 2)]


def test_probe_accuracy_matches_the_normal_distribution():
    """The direction is one standard deviation from the boundary."""
    found = probe(*data(1.0))
    assert found.low < 0.8413 < found.high
    assert (found.chance, found.n) == (0.5, 2000)


def test_interval_on_noise_covers_one_half():
    covered = [p.low <= 0.5 <= p.high for p in (probe(*data(0.0, 200, seed)) for seed in range(40))]
    assert sum(covered) >= 34


def test_interval_of_single_problems_is_1_96_standard_errors():
    X, y, _ = data(0.4, rows=200)
    found = probe(X, y, [(row,) for row in range(200)])
    error = np.sqrt(found.accuracy * (1 - found.accuracy) / 199)
    assert found.high - found.accuracy == pytest.approx(1.96 * error, rel=1e-3)


def test_groups_are_not_split_over_folds():
    """Two copies with opposite labels then teach nothing about each other."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 50)), 2, axis=0)
    y = np.tile([0, 1], 300)
    groups = [(row, row + 1) for row in range(0, 600, 2)]
    assert probe(X, y, groups).accuracy == pytest.approx(0.5)


def test_copies_in_one_block_do_not_narrow_the_interval():
    X, y, groups = data(0.4, rows=600)
    once = probe(X, y, groups)
    thrice = probe(
        np.tile(X, (3, 1)),
        np.tile(y, 3),
        [[row + 600 * copy for row in rows for copy in range(3)] for rows in groups],
    )
    assert thrice.accuracy == pytest.approx(once.accuracy, abs=0.01)
    assert thrice.high - thrice.low > 0.97 * (once.high - once.low)


def test_probe_counts_ties_as_one_half():
    X, y, groups = data(1.0, rows=100)
    assert probe(0 * X, y, groups).accuracy == 0.5


def test_intercept_is_only_for_vectors_without_a_sign():
    """If most answers are option 1, only a model with an intercept profits."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((600, 5)), (np.arange(600) % 4 == 0).astype(int)
    groups = [(row,) for row in range(600)]
    free, turned = (probe(X, y, groups, flips_sign=flips_sign) for flips_sign in (False, True))
    assert free.accuracy == pytest.approx(0.75, abs=0.02)
    assert (free.chance, turned.chance) == (0.75, 0.5)
    assert turned.low < 0.5 < turned.high


def test_too_few_groups_are_refused():
    X, y, groups = data(1.0, rows=6)
    with pytest.raises(DataError, match="5 folds needs 5 groups or more, but there are 3"):
        probe(X, y, groups)


def test_same_seed_gives_the_same_result():
    assert probe(*data(0.3), seed=4) == probe(*data(0.3), seed=4)
