"""The interval of a null's draws, and the draw that a test compares with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.metrics import nth_greatest, null_interval, null_interval_label


@given(st.integers(1, 600), st.integers(1, 50))
def test_an_interval_labelled_95_percent_holds_95_percent(draws: int, step: int) -> None:
    """Of exchangeable values, each left out in turn, as many are between the ends of the rest."""
    values = [at * step % 601 for at in range(draws + 1)]
    within = 0
    for at, value in enumerate(values):
        low, high = null_interval(values[:at] + values[at + 1 :])
        within += low <= value <= high
    if null_interval_label(draws) == "95 % of the draws":
        assert within >= 0.95 * len(values)
        assert draws >= 39
    else:
        assert null_interval(values) == (min(values), max(values))


@given(st.lists(st.integers(0, 9), min_size=19, max_size=120), st.integers(0, 9))
def test_a_value_is_above_the_nth_greatest_exactly_if_p_is_at_most_the_level(
    drawn: list[int], value: int
) -> None:
    """With ties too: value > limit exactly if (1 + draws as great) / (1 + draws) ≤ 0.05."""
    p = (1 + sum(other >= value for other in drawn)) / (1 + len(drawn))
    assert (value > nth_greatest(drawn, 0.05)) == (p <= 0.05)


def test_too_few_draws_have_no_limit() -> None:
    """Of 18 draws none is exceeded with a probability of 5 % or less."""
    with pytest.raises(ValueError, match="18 draws are too few"):
        nth_greatest(range(18), 0.05)
