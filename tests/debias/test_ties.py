"""What rounding alone parts is a tie: for two options and more, in a filter and in what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import examples
from winosmith import debias

N = 40
"""Problems of each sort."""

Made = tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.intp]]


def made(seed: int, sizes: tuple[int, ...], common: float) -> Made:
    """Return options' vectors, keys and sizes: half of the problems share nothing with any other.

    The first half of the problems have their right options pushed along one direction; an option of
    the others has a direction of its own. All of it is turned, so that in single precision nothing
    is orthogonal any more, and shaken by half of the last digit.

    Args:
        seed: of keys and of how it is shaken.
        sizes: how many options there are.
        common: how far all options lie from the origin, in one direction.
    """
    rng = np.random.default_rng([seed, 1])
    options = np.resize(sizes, 2 * N)
    key = rng.integers(options)
    width = 1 + int(options.sum())
    turned = np.linalg.qr(np.random.default_rng(len(sizes)).normal(size=(width + 1, width + 1)))[0]
    X = np.zeros((2 * N, max(sizes), width + 1))
    there = np.arange(max(sizes)) < options[:, None]
    X[there] = np.eye(width + 1)[1:-1]
    X[:N, :, 1:-1] = 0
    X[np.arange(N), key[:N], 0] = 1
    X[there, -1] = common
    shaken = (X @ turned) * (1 + 2.0**-24 * rng.uniform(-1, 1, X.shape))
    return shaken.astype(np.float32), key, options


@examples(5)
@given(
    seed=st.integers(0, 1000),
    sizes=st.sampled_from([(2,), (3,), (2, 3, 5)]),
    common=st.sampled_from([0.0, 3.0]),
)
def test_of_what_is_in_no_other_problem_nothing_is_guessed(
    seed: int, sizes: tuple[int, ...], common: float
) -> None:
    """It earns one over its options by every path, however the last digits are shaken."""
    X, key, options = made(seed, sizes, common)
    blocks = [(row,) for row in range(len(X))]
    right = (N + (1 / options[N:]).sum()) / len(X)
    how = {"options": options, "blocks": blocks, "ids": range(len(X)), "splits": 1, "draws": 20}
    found = debias.verify(X, key, lambda rows: rows, **how).after["linear"].accuracy
    assert found == pytest.approx(right, abs=1e-9)
    assert debias.probe(X, key, blocks, options=options).accuracy == pytest.approx(right, abs=1e-9)
    there = np.arange(X.shape[1]) < options[:, None]
    for aim in ("error", "chance"):
        mirrored = debias.mirror(
            X[there], items=np.repeat(np.arange(len(X)), options), key=key, aim=aim
        )
        assert np.array_equal(mirrored.margins == 0, np.arange(len(X)) >= N)


@examples(5)
@given(seed=st.integers(0, 1000))
def test_one_vector_for_both_options_ties_alike(seed: int) -> None:
    """So does the little that two long vectors left of each other, whichever way that points."""
    X, key, _ = made(seed, (2,), 0.0)
    turns, blocks = X[:, 1] - X[:, 0], [(row,) for row in range(len(X))]
    long = X[np.arange(10), key[:10]]
    turns[N : N + 10] = np.nextafter(long, 9) - long
    assert 0 < np.abs(turns[N : N + 10]).max() < 1e-6
    how = {"blocks": blocks, "ids": range(len(X)), "splits": 1, "draws": 20}
    found = debias.verify(turns, key, lambda rows: rows, **how).after["linear"].accuracy
    assert (found, debias.probe(turns, key, blocks).accuracy) == (0.75, 0.75)
    mirrored = debias.mirror(turns, key=key, aim="chance")
    assert np.array_equal(mirrored.margins == 0, np.arange(len(X)) >= N)


def test_a_vector_far_longer_than_the_others_makes_no_ties_of_theirs() -> None:
    """Of two options and of three: how far rounding reaches is told by a unit's own length."""
    rng = np.random.default_rng(0)
    key = np.arange(600) % 2
    X = rng.normal(size=(600, 20))
    X[:, 0] = np.where(key == 1, 1e-3, -1e-3)  # margins that are small but surely theirs
    X[0] *= 2000
    assert debias.mirror(X, key=key, aim="chance").ties == 0
    three = np.stack([X, -X, np.zeros_like(X)], 1)
    items = np.repeat(np.arange(600), 3)
    assert debias.mirror(three.reshape(-1, 20), items=items, key=1 - key, aim="chance").ties == 0
