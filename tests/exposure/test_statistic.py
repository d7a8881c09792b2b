"""The sign test of coins: exact levels, power, intervals, and levels of looks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from winosmith.errors import DataError
from winosmith.exposure import (
    compute_detectable_shift,
    compute_look_level,
    sign_test,
    signed_ranks,
    subtract_fit,
    tail_probability,
)

SIGNS = np.array([*product([-1, 1], repeat=10)])

ONE = np.zeros(10, np.int64)
"""One stratum."""

differences = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([-1.0, 0.0, 1.0]),
    min_size=10,
    max_size=10,
).map(np.array)


@given(differences, st.floats(-9, 9))
def test_p_values_are_exact_over_all_draws_of_ten_coins(values: np.ndarray, prefers: float) -> None:
    """Each p is the fraction of the 1,024 draws with a sum at least as large."""
    left = subtract_fit(values + prefers, ONE)
    scores = signed_ranks(left)
    sums = SIGNS @ scores
    exact = [np.mean(sums >= one) for one in sums]
    assert tail_probability(scores, sums) == pytest.approx(exact, abs=1e-11)
    if left.any():
        assert sign_test(left, SIGNS[3] > 0).p_value == pytest.approx(np.mean(sums >= sums[3]))


def test_tail_of_2000_blocks_is_nearly_normal() -> None:
    """The least p-value is 1e-12."""
    scores = signed_ranks(np.random.default_rng(0).normal(size=2_000))
    spread = np.sqrt((scores**2).sum())
    z = np.array([-2, 0, 1, 3, 5])
    tails = tail_probability(scores, (z * spread).astype(int))
    assert tails == pytest.approx(norm.sf(z), rel=0.06)
    assert tail_probability(scores, [10**9, -(10**9)]).tolist() == [1e-12, 1]


@given(st.integers(0, 2**32), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_preference_for_a_presentation_has_no_effect(seed: int, one: float, two: float) -> None:
    """It may have any size in each stratum."""
    rng = np.random.default_rng(seed)
    values, strata = rng.standard_t(3, 60), rng.integers(0, 2, 60)
    coins = rng.random(60) < 0.5
    plain = sign_test(subtract_fit(values, strata), coins)
    other = sign_test(subtract_fit(values + np.where(strata, one, two), strata), coins)
    assert other.shift == pytest.approx(plain.shift, abs=1e-6)
    assert other.p_value == pytest.approx(plain.p_value, abs=0.02)  # rounding may swap ranks


def test_reference_removes_only_shared_differences() -> None:
    """Its multiple is never negative, so an exposed reference doesn't make a model look exposed."""
    rng = np.random.default_rng(1)
    shared, noise = rng.normal(size=(2, 500))
    coins, strata = rng.random(500) < 0.5, np.zeros(500, np.int64)
    published = np.where(coins, 1, -1)
    left = subtract_fit(shared + 0.1 * noise, strata, shared)
    assert left.std() == pytest.approx(0.1, rel=0.1)
    exposed = published - 0.5 * noise  # its differences fall if the model's rise
    assert sign_test(subtract_fit(noise, strata, exposed), coins).p_value > 0.05


def test_interval_covers_the_mean_shift_of_unequal_blocks() -> None:
    """Only a tenth of the blocks is remembered."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        coins = rng.random(200) < 0.5
        shift = np.where(np.arange(200) < 20, 5.0, 0.0)
        left = subtract_fit(
            rng.normal(size=200) + shift * np.where(coins, 1, -1), np.zeros(200, int)
        )
        low, high = sign_test(left, coins).interval
        covered += low <= 0.5 / left.std() <= high
    assert covered / 400 > 0.91


@pytest.mark.parametrize("level", [0.05, 0.0025])
def test_detectable_shift_has_a_power_of_80_percent(level: float) -> None:
    rng, shift, found = np.random.default_rng(3), compute_detectable_shift(80, level), 0
    for _ in range(400):
        coins = rng.random(80) < 0.5
        values = rng.normal(size=80) + shift * np.where(coins, 1, -1)
        left = subtract_fit(values, np.zeros(80, np.int64))
        found += sign_test(left, coins).p_value <= level
    assert 0.73 < found / 400 < 0.87


def test_levels_of_100000_looks_sum_to_almost_5_percent() -> None:
    total = sum(compute_look_level(look) for look in range(1, 100_001))
    assert 0.0499 < total < 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compute_detectable_shift(0), "must be 1 or more, not 0"),
        (lambda: compute_detectable_shift(9, 1.0), "level must be between 0 and 1, not 1.0"),
        (lambda: compute_detectable_shift(9, 0.1, 0.0), "power must be between 0 and 1"),
        (lambda: compute_look_level(0), "must be at least 1, not 0"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=message):
        call()
