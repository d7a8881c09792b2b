"""Which vectors tell problems apart, and which give no model anything to guess by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Problem, debias
from winosmith.errors import DataError
from winosmith.testing import made_twins

POOL = made_twins(20, singles=10)
RNG = np.random.default_rng(0)


def test_vectors_of_zeros_or_constants_are_blind() -> None:
    """If no vector differs from another, nothing is seen, whatever the vector is."""
    for X in (np.zeros((50, 3)), np.ones((50, 3)), 1e-30 * np.ones((50, 1))):
        for turns in (True, False):
            found = debias.sight(POOL, X, turns=turns)
            assert (found.units, found.seen, found.is_blind) == (30, 0, True)


@given(st.integers(0, 20), st.integers(0, 10), st.floats(1e-6, 1e6))
def test_twins_and_singles_that_differ_are_counted(twins: int, singles: int, scale: float) -> None:
    """A twin whose halves have one vector is not seen, nor is a single of zeros; in any unit."""
    X = np.repeat(RNG.normal(size=(20, 4)), 2, axis=0)
    X[: 2 * twins : 2] += 1
    X = scale * np.vstack([X, np.zeros((10, 4))])
    X[40 : 40 + singles] = scale
    found = debias.sight(POOL, X)
    assert (found.units, found.seen) == (30, twins + singles)
    assert found.is_blind == (twins + singles < 3)


def test_swapped_options_change_nothing() -> None:
    """A half with its options in the other order turns its vector around, and is no other text."""
    swapped = Dataset(
        replace(p, options=p.options[::-1], answer=1 - p.answer) if row % 2 else p
        for row, p in enumerate(POOL)
    )
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0)
    turned = np.where(np.arange(50) % 2, -1, 1)[:, None] * X
    assert debias.sight(POOL, X) == debias.sight(swapped, turned)
    assert debias.sight(POOL, X).seen == 10


def test_rounding_is_not_sight() -> None:
    """Halves that differ in the last digits of single precision are not seen."""
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0).astype(np.float32)
    X[40:] = 0
    X[::2] = np.nextafter(X[::2], np.float32(9))
    assert debias.sight(POOL, X).seen == 0


def test_options_that_differ_are_seen() -> None:
    """A problem of options that differ is seen; a twin of the same two options is not."""
    three = Dataset(
        Problem(f"{row}", f"Which of {row} is it? _", ("a", "b", "c"), 0) for row in range(10)
    )
    X = np.ones((10, 3, 2))
    assert debias.sight(three, X).seen == 0
    X[:4, 1] = 2
    assert debias.sight(three, X).seen == 4
    alone = np.repeat(RNG.normal(size=(20, 2, 3)), 2, axis=0)
    found = debias.sight(made_twins(20), alone)
    assert (found.seen, found.is_blind) == (0, True)


def test_another_number_of_vectors_is_refused() -> None:
    """Vectors of other problems are an error."""
    with pytest.raises(DataError, match="there are 49 vectors for 50 problems"):
        debias.sight(POOL, np.zeros((49, 2)))
