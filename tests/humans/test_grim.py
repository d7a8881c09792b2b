"""Which counts printed scores allow, and what is wrong with margins that can't be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.errors import DataError
from winosmith.humans import PrintedTest, grim


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_a_printed_score_allows_the_count_that_was_printed(right: list[int]) -> None:
    """Whatever the counts of 60 are, their scores at two places allow them, and the sums."""
    histogram = {len(right): 0, 0: 60}
    test = PrintedTest(60, {f"S{at}": f"{k / 60:.2f}" for at, k in enumerate(right)}, histogram)
    found = grim(test)
    assert all(k in found.possible[f"S{at}"] for at, k in enumerate(right))
    assert found.by_subject[0] <= sum(right) <= found.by_subject[1]


def test_scores_that_allow_several_counts_leave_the_sum_open() -> None:
    """0.50 of 300 is 149 to 151, and no count of another subject is needed exactly."""
    found = grim(PrintedTest(300, {"a": "0.50", "b": "1.00"}, {2: 150, 1: 150}))
    assert found.possible["a"] == (149, 150, 151)
    assert found.by_subject == (448, 451)
    assert found.adds_up
    assert found.needed("b") is None


def test_a_score_that_nothing_prints_may_be_any_count() -> None:
    """0.50 of 3 is no share, cut or raised either: the sum may be anything from 0 to 3 more."""
    found = grim(PrintedTest(3, {"a": "0.50", "b": "1.00"}, {2: 1, 1: 2}))
    assert (found.otherwise, found.by_subject) == ({"a": ()}, (3, 6))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((3, {"a": "0.5"}, {1: 2}), "the histogram has 2 problems; the test 3"),
        ((1, {"a": "0.5"}, {2: 1}), "counts more people than the 1 subjects"),
    ],
)
def test_a_printed_test_that_contradicts_itself_is_refused(parts: tuple, reason: str) -> None:  # type: ignore[type-arg]
    """What is no test is told when it is written down."""
    with pytest.raises(DataError, match=reason):
        PrintedTest(*parts)
