"""The test of a run against guessing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from winosmith.models._texts import compute_chance_p_value


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_without_twins_it_is_the_binomial_test(correct: list[bool]) -> None:
    """For singles the probability is that of scipy's one-sided binomial test."""
    p_value = compute_chance_p_value(correct, [(row,) for row in range(len(correct))])
    expected = binomtest(sum(correct), len(correct), alternative="greater").pvalue
    assert p_value == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_with_twins_only_whole_twins_count(halves: list[tuple[bool, bool]]) -> None:
    """For twins it is the binomial test of both right against both wrong (a sign test)."""
    correct = [half for twin in halves for half in twin]
    p_value = compute_chance_p_value(correct, [(2 * at, 2 * at + 1) for at in range(len(halves))])
    decided = [first for first, second in halves if first == second]
    if decided:
        expected = binomtest(sum(decided), len(decided), alternative="greater").pvalue
    else:
        expected = 1.0
    assert p_value == pytest.approx(expected)


@pytest.mark.long
def test_the_null_is_calibrated_for_twins_and_singles() -> None:
    """Guessers that answer both halves alike or not are called lucky in about 5 % of the cases."""
    rng = np.random.default_rng(0)
    groups = [(2 * at, 2 * at + 1) for at in range(60)] + [(row,) for row in range(120, 200)]
    lucky = 0
    for _ in range(2000):
        correct = rng.random(200) < 0.5
        together = rng.random(60) < 0.8  # most twins are right or wrong as a whole
        correct[1:120:2][together] = correct[0:120:2][together]
        lucky += compute_chance_p_value(correct, groups) <= 0.05
    assert 0.03 < lucky / 2000 < 0.06


def test_all_right_and_all_wrong() -> None:
    """A perfect run is 2 to the minus the groups; the opposite is certain to be beaten."""
    groups = [(0, 1), (2, 3), (4,)]
    assert compute_chance_p_value([True] * 5, groups) == 1 / 8
    assert compute_chance_p_value([False] * 5, groups) == 1.0
