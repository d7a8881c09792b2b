"""The counts that are possible for a printed percentage."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from winosmith.errors import DataError
from winosmith.metrics import find_possible_counts, find_possible_sums


@given(st.integers(1, 3000), st.data(), st.integers(0, 2))
def test_count_is_possible_for_its_own_percentage(n: int, data: st.DataObject, places: int) -> None:
    count = data.draw(st.integers(0, n))
    exact = Decimal(100 * count) / Decimal(n)
    for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        printed = str(exact.quantize(Decimal(1).scaleb(-places), rule))
        assert count in find_possible_counts(printed, n, places)


@given(st.integers(1, 500), st.integers(0, 1000))
def test_possible_counts_are_within_half_a_decimal_place(n: int, tenths: int) -> None:
    printed = Fraction(tenths, 10)
    expected = [k for k in range(n + 1) if abs(Fraction(100 * k, n) - printed) <= Fraction(1, 20)]
    assert list(find_possible_counts(f"{tenths / 10:.1f}", n)) == expected


@given(st.lists(st.integers(0, 12), min_size=1, max_size=300), st.integers(0, 4))
def test_sum_is_possible_for_its_own_mean(values: list[int], places: int) -> None:
    exact = Decimal(sum(values)) / Decimal(len(values))
    for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
        printed = str(exact.quantize(Decimal(1).scaleb(-places), rule))
        assert sum(values) in find_possible_sums(printed, len(values), rounding="any")


PUBLISHED = [
    ("WSC, humans", "96.5", 273, ()),
    ("WSC, RoBERTa-DPR", "83.1", 273, ()),
    ("WSC, RoBERTa-WinoGrande", "90.1", 273, (246,)),
    ("PDP, RoBERTa-DPR", "86.3", 80, (69,)),
    ("PDP, RoBERTa-WinoGrande", "87.5", 80, (70,)),
    ("PDP, RoBERTa-WinoGrande, as questions", "87.5", 60, ()),
    ("PDP, Liu et al., as questions", "61.7", 60, (37,)),
    ("PDP, Liu et al., as comparisons", "61.7", 80, ()),
    ("PDP, Trinh and Le, as questions", "70.0", 60, (42,)),
    ("PDP, humans", "92.5", 80, (74,)),
    ("COPA, PMI on test", "58.8", 500, (294,)),
    ("Davis et al. 2016, WS.a's subject 16", "86", 89, ()),
]
"""Row, printed percentage (WinoGrande's table 6 and others), n, possible counts."""


@pytest.mark.parametrize(("row", "printed", "n", "counts"), PUBLISHED)
def test_possible_counts_of_published_percentages(
    row: str, printed: str, n: int, counts: tuple[int, ...]
) -> None:
    """Some percentages are impossible for the stated number of problems."""
    assert find_possible_counts(printed, n) == counts, row


def test_truncated_percentages_need_their_own_rule() -> None:
    """WSC's association rate, 37 of 273, is printed as 13.5: truncated, not rounded."""
    assert find_possible_counts("13.5", 273) == ()
    assert find_possible_counts("13.5", 273, rounding="down") == (37,)
    assert find_possible_counts("83.1", 273, rounding="down") == (
        227,
    )  # RoBERTa-DPR's is truncated, too
    assert find_possible_counts("13.6", 273, rounding="up") == (37,)
    assert find_possible_counts("13.5", 273, rounding="any") == (37,)


@given(st.integers(1, 500), st.integers(0, 1000))
def test_truncated_and_raised_percentages_are_one_sided(n: int, tenths: int) -> None:
    """A truncated percentage covers a whole place above it, a raised one a whole place below."""
    of = {k: Fraction(100 * k, n) - Fraction(tenths, 10) for k in range(n + 1)}
    down = [k for k, above in of.items() if 0 <= above < Fraction(1, 10)]
    up = [k for k, above in of.items() if -Fraction(1, 10) < above <= 0]
    printed = f"{tenths / 10:.1f}"
    assert list(find_possible_counts(printed, n, rounding="down")) == down
    assert list(find_possible_counts(printed, n, rounding="up")) == up
    assert list(find_possible_counts(printed, n, rounding="any")) == sorted({*down, *up})


def test_printed_zero_counts_as_a_decimal_place() -> None:
    assert len(find_possible_counts("90", 273)) > len(find_possible_counts("90.0", 273))
    assert find_possible_counts("0.92", 801, scale=1) == find_possible_counts("92", 801)


@pytest.mark.parametrize(("printed", "n"), [("n/a", 80), ("nan", 80), ("80", 0)])
def test_invalid_percentages_are_refused(printed: str, n: int) -> None:
    with pytest.raises(DataError):
        find_possible_counts(printed, n)
