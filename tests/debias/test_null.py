"""The null: labels flipped twin by twin, and the number of rows at the threshold."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import debias
from winosmith.errors import DataError, InputError

PHASE = {"ensemble_size": 8, "train_size": 80}


def twins(count: int, columns: int = 20, *, gap: float = 0.2, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(count, columns)), 2, axis=0)
    X += gap * rng.normal(size=X.shape)
    first = rng.integers(0, 2, count)
    y = np.stack([first, 1 - first], axis=1).ravel()
    return X, y, [(2 * twin, 2 * twin + 1) for twin in range(count)]


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=30),
    bits=st.integers(0, 2**90 - 1),
    seed=st.integers(0, 99),
)
def test_groups_are_flipped_whole_and_singles_permuted(sizes, bits, seed):
    edges = np.cumsum([0, *sizes])
    groups = [tuple(range(a, b)) for a, b in pairwise(edges)]
    y = np.array([bits >> row & 1 for row in range(edges[-1])], np.int8)
    flipped = debias.flip_twins(y, groups, np.random.default_rng(seed))
    assert flipped.dtype == y.dtype
    for group in groups:
        changed = y[list(group)] != flipped[list(group)]
        assert len(group) == 1 or changed.all() or not changed.any()
    single = [group[0] for group in groups if len(group) == 1]
    assert flipped[single].sum() == y[single].sum()


def test_twin_flips_are_independent_fair_coins():
    _, y, groups = twins(40)
    rng = np.random.default_rng(3)
    draws = np.stack([debias.flip_twins(y, groups, rng) for _ in range(2000)])
    flips = (draws != y)[:, ::2]
    assert np.abs(flips.mean(axis=0) - 0.5).max() < 5 * 0.5 / math.sqrt(2000)
    assert np.abs(np.corrcoef(flips.T) - np.eye(40)).max() < 5 / math.sqrt(2000)


def test_null_summarizes_its_draws():
    """Each draw has its own generator, so fewer draws are the first of more."""
    X, y, groups = twins(60)
    null = debias.compute_threshold_null(X, y, groups, **PHASE, draws=40)
    assert null.mean == pytest.approx(np.mean(null.draws))
    least, *_, greatest = sorted(null.draws)
    assert (null.low, null.high) == (
        least,
        greatest,
    )  # ⌊0.025 · 41⌋ = 1: the extreme draw at each end
    assert null.interval == "95 % of the draws"
    assert null.p == (1 + sum(d >= null.value for d in null.draws)) / 41
    assert null.low < null.mean < null.high
    assert debias.compute_threshold_null(X, y, groups, **PHASE, draws=20).draws == null.draws[:20]


def test_random_labels_are_within_the_threshold_null():
    X, y, groups = twins(150, seed=2)
    null = debias.compute_threshold_null(X, y, groups, **PHASE)
    assert null.low <= null.value <= null.high
    assert null.p > 0.05


def test_planted_rows_exceed_the_threshold_null():
    X, y, groups = twins(150, seed=2)
    X[:120, 0] += np.where(y[:120], 3, -3)
    seen: list[int] = []
    null = debias.compute_threshold_null(X, y, groups, on_draw=seen.append, **PHASE)
    assert null.value > null.high + 60
    assert null.p == 1 / 21
    assert seen == list(range(1, 21))


def test_row_order_does_not_change_the_threshold_null():
    X, y, groups = twins(60)
    groups = [*groups[:40], *((row,) for row in range(80, 120))]
    order = np.random.default_rng(0).permutation(120)
    moved = {int(row): place for place, row in enumerate(order)}
    turned = [tuple(moved[row] for row in group) for group in groups[::-1]]
    chosen = {**PHASE, "train_size": 40}
    straight = debias.compute_threshold_null(X, y, groups, ids=range(120), **chosen)
    permuted = debias.compute_threshold_null(
        X[order], y[order], turned, ids=order.tolist(), **chosen
    )
    assert permuted == straight


def test_invalid_draws_groups_and_train_size_are_refused():
    X, y, groups = twins(50)
    with pytest.raises(InputError, match="null_draws is 19; it must be a whole number, 20 or more"):
        debias.compute_threshold_null(X, y, groups, **PHASE, draws=19)
    with pytest.raises(InputError, match="must be below 100, the number of rows"):
        debias.compute_threshold_null(X, y, groups, train_size=100)
    with pytest.raises(DataError, match="once"):
        debias.flip_twins(y, groups[1:], np.random.default_rng(0))
