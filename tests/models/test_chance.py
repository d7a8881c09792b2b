"""The p-value of a run against guessing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from winosmith.models._texts import compute_chance_p_value


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_singles_get_the_one_sided_binomial_test(correct: list[bool]) -> None:
    p_value = compute_chance_p_value(correct, [(row,) for row in range(len(correct))])
    expected = binomtest(sum(correct), len(correct), alternative="greater").pvalue
    assert p_value == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_twins_get_a_sign_test(halves: list[tuple[bool, bool]]) -> None:
    """Only twins with both halves correct or both incorrect count."""
    correct = [half for twin in halves for half in twin]
    p_value = compute_chance_p_value(correct, [(2 * at, 2 * at + 1) for at in range(len(halves))])
    decided = [first for first, second in halves if first == second]
    if decided:
        expected = binomtest(sum(decided), len(decided), alternative="greater").pvalue
    else:
        expected = 1.0
    assert p_value == pytest.approx(expected)


@pytest.mark.long
def test_null_is_calibrated_for_twins_and_singles() -> None:
    """About 5 % of guessers reach p ≤ 0.05, although most twins are correct or not as a whole."""
    rng = np.random.default_rng(0)
    groups = [(2 * at, 2 * at + 1) for at in range(60)] + [(row,) for row in range(120, 200)]
    lucky = 0
    for _ in range(2000):
        correct = rng.random(200) < 0.5
        together = rng.random(60) < 0.8  # most twins are correct or incorrect as a whole
        correct[1:120:2][together] = correct[0:120:2][together]
        lucky += compute_chance_p_value(correct, groups) <= 0.05
    assert 0.03 < lucky / 2000 < 0.06


def test_p_values_if_all_or_no_answers_are_correct() -> None:
    groups = [(0, 1), (2, 3), (4,)]
    assert compute_chance_p_value([True] * 5, groups) == 1 / 8
    assert compute_chance_p_value([False] * 5, groups) == 1.0
