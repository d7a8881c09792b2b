"""Intervals of proportions and of null draws, and counts that fit a printed percentage."""

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.proportion import proportion_confint

from winosmith.errors import DataError
from winosmith.metrics import (
    crossed_proportion,
    find_critical_value,
    find_possible_counts,
    find_possible_sums,
    null_interval,
    proportion,
    wilson_interval,
)

CASES = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=60)


@given(st.floats(0, 1), st.floats(1, 1e6), st.floats(0.01, 0.99999))
def test_wilson_interval_matches_statsmodels(share, n, level):
    theirs = proportion_confint(share * n, n, 1 - level, method="wilson")
    assert wilson_interval(share * n, n, level) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(st.integers(0, 200), st.integers(1, 200))
def test_interval_of_independent_cases_is_wilsons(right, n):
    right = min(right, n)
    found = proportion([True] * right + [False] * (n - right))
    assert found.interval == pytest.approx(wilson_interval(right, n))
    assert (found.design_effect, found.clusters) == (1.0, n)


@given(CASES)
def test_interval_contains_the_proportion_and_is_in_0_1(cases):
    """It is at least as wide as Wilson's."""
    right, clusters = zip(*cases, strict=True)
    found = proportion(right, clusters)
    low, high = found.interval
    assert 0 <= low <= found.value + 1e-12
    assert found.value - 1e-12 <= high <= 1
    narrow = proportion_confint(sum(right), len(right), method="wilson")
    assert high - low >= narrow[1] - narrow[0] - 1e-9


@given(CASES, st.randoms())
def test_order_and_cluster_names_are_ignored(cases, random):
    shuffled = [(right, 7 * label - 3) for right, label in cases]
    random.shuffle(shuffled)
    one, other = (proportion(*zip(*of, strict=True)).interval for of in (shuffled, cases))
    assert one == pytest.approx(other)


@pytest.mark.parametrize("right", [0, 7, 50])
def test_copies_in_a_cluster_count_once(right):
    once = np.arange(50) < right
    twice = proportion(np.repeat(once, 2), np.repeat(np.arange(50), 2))
    assert twice.interval == pytest.approx(proportion(once).interval, abs=0.01)
    assert twice.design_effect == pytest.approx(2, abs=0.01)


def test_design_effect_matches_hand_computed_residuals():
    """Two twins are half correct, one correct and one incorrect: (2 + 2 · 1) / (2 + 1)."""
    right, twins = [1, 0, 1, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3]
    found = proportion(right, np.array(twins))
    assert found.design_effect == pytest.approx(4 / 3)
    # Few clusters widen it, by Student's t with 7 and 3 degrees (Korn and Graubard 1998).
    number = 8 / (4 / 3) * (2.364624 / 3.182446) ** 2
    expected = proportion_confint(number / 2, number, method="wilson")
    assert found.interval == pytest.approx(expected, abs=1e-6)


def test_interval_at_100_percent_is_wider_for_twins():
    apart, twins = (proportion([True] * 200, np.arange(200) // size) for size in (1, 2))
    assert twins.interval[0] < apart.interval[0] < 1


@given(st.integers(2, 400), st.integers(1, 4))
def test_interval_ends_exactly_at_0_or_1(n, size):
    clusters = np.arange(n) // size
    assert proportion([True] * n, clusters).interval[1] == 1.0
    assert proportion([False] * n, clusters).interval[0] == 0.0


def test_balanced_halves_do_not_narrow_the_interval():
    """Without a lower limit, one correct half in every twin would have no variance."""
    found = proportion([True, False] * 100, np.arange(200) // 2)
    assert found.design_effect == 1.0


def test_interval_of_a_single_cluster_is_0_to_1():
    assert proportion([True] * 20, [0] * 20).interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("share", "clusters", "size", "together"),
    [(0.5, 100, 2, 0.8), (0.94, 100, 2, 0.5), (0.8, 14, 10, 0.3), (0.99, 150, 2, 0.8)],
)
def test_interval_of_clustered_data_has_its_coverage(share, clusters, size, together):
    rng = np.random.default_rng(1)
    a, b = (p * (1 - together) / together for p in (share, 1 - share))
    labels = np.repeat(np.arange(clusters), size)
    held = naive = 0
    for _ in range(400):
        right = rng.random(clusters * size) < np.repeat(rng.beta(a, b, clusters), size)
        low, high = proportion(right, labels).interval
        held += low <= share <= high
        low, high = proportion(right).interval
        naive += low <= share <= high
    assert held >= 0.93 * 400
    assert naive < held


def test_crossed_clusters_widen_the_interval():
    rng = np.random.default_rng(2)
    people, problems = np.divmod(np.arange(400), 20)
    skill, ease = rng.normal(size=20), rng.normal(size=20)
    right = rng.random(400) < 1 / (1 + np.exp(-1 - skill[people] - ease[problems]))
    both = crossed_proportion(right, people, problems)
    assert both.design_effect > proportion(right, people).design_effect
    assert both.design_effect > proportion(right, problems).design_effect


@pytest.mark.parametrize(
    ("people", "answers", "most"), [(5, 5, 0.16), (20, 20, 0.12), (12, 3, 0.17), (60, 3, 0.13)]
)
def test_crossed_interval_has_its_coverage(people, answers, most):
    rng = np.random.default_rng(3)
    logits = 3 + np.hypot(0.5, 1.2) * rng.normal(size=1_000_000)
    truth = float((1 / (1 + np.exp(-logits))).mean())
    problems = np.repeat(np.arange(60), answers)
    held, width = 0, 0.0
    for _ in range(300):
        who = np.argsort(rng.random((60, people)))[:, :answers].ravel()
        ease = 3 + np.repeat(rng.normal(0, 1.2, 30), 2)
        skill = rng.normal(0, 0.5, people)
        right = rng.random(len(who)) < 1 / (1 + np.exp(-ease[problems] - skill[who]))
        low, high = crossed_proportion(right, who, problems // 2).interval
        held += low <= truth <= high
        width += (high - low) / 300
    assert 0.92 <= held / 300 <= 0.995
    assert width < most


def test_crossed_interval_of_large_data_needs_no_table():
    """400,000 people answer one of 400,000 problems each, too many for a cell per pair."""
    n = 400_000
    right = np.arange(n) % 7 > 0
    found = crossed_proportion(right, np.arange(n), np.arange(n))
    assert found.interval == pytest.approx(proportion(right).interval, abs=1e-6)


def test_one_answer_per_person_leaves_problem_clusters():
    right, problems = np.arange(600) % 7 > 1, np.arange(600) // 3
    crossed = crossed_proportion(right, np.arange(600), problems)
    assert crossed.interval == pytest.approx(proportion(right, problems).interval, abs=2e-3)


@pytest.mark.parametrize("times", [2, 3])
@given(outcomes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_copies_do_not_change_the_interval(times, outcomes):
    """Halves may have opposite outcomes: then a twin varies less than two independent cases."""
    right = np.array(outcomes, float).ravel()
    rows = np.tile(np.arange(len(right)), times)
    once = proportion(right, np.arange(len(right)) // 2)
    often = proportion(right[rows], rows // 2, copies=rows)
    assert often.interval == pytest.approx(once.interval)
    alone = proportion(right)
    for clusters in (rows, None):
        assert proportion(right[rows], clusters, copies=rows).interval == pytest.approx(
            alone.interval
        )
    assert proportion(right, copies=np.arange(len(right))) == alone


def test_proportion_in_words_states_its_ties():
    some = proportion([1.0] * 1200 + [0.5] + [0.0] * 99)
    told = [replace(some, ties=ties).in_words for ties in (0, 1, 1200)]
    count = "1,200.5 of 1,300"
    assert told == [count, f"{count}, 1 tie", f"{count}, 1,200 ties"]


@given(st.integers(1, 600), st.integers(1, 50))
def test_null_interval_covers_95_percent(draws, step):
    """Each of several exchangeable values is compared with the interval of the others."""
    values = [at * step % 601 for at in range(draws + 1)]
    within = 0
    for at, value in enumerate(values):
        low, high = null_interval(values[:at] + values[at + 1 :])
        within += low <= value <= high
    if draws >= 39:
        assert within >= 0.95 * len(values)
    else:
        assert null_interval(values) == (min(values), max(values))


@given(st.lists(st.integers(0, 9), min_size=19, max_size=120), st.integers(0, 9))
def test_critical_value_agrees_with_the_p_value(drawn, value):
    """With ties, too: value > limit exactly if (1 + draws as great) / (1 + draws) ≤ 0.05."""
    p = (1 + sum(other >= value for other in drawn)) / (1 + len(drawn))
    assert (value > find_critical_value(drawn, 0.05)) == (p <= 0.05)


def test_too_few_draws_have_no_critical_value():
    with pytest.raises(ValueError, match="18 draws are too few"):
        find_critical_value(range(18), 0.05)


@given(st.integers(1, 3000), st.data(), st.integers(0, 2))
def test_count_is_possible_for_its_own_percentage(n, data, places):
    count = data.draw(st.integers(0, n))
    exact = Decimal(100 * count) / Decimal(n)
    for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        printed = str(exact.quantize(Decimal(1).scaleb(-places), rule))
        assert count in find_possible_counts(printed, n, places)


@given(st.integers(1, 500), st.integers(0, 1000))
def test_possible_counts_are_within_half_a_decimal_place(n, tenths):
    printed = Fraction(tenths, 10)
    expected = [k for k in range(n + 1) if abs(Fraction(100 * k, n) - printed) <= Fraction(1, 20)]
    assert list(find_possible_counts(f"{tenths / 10:.1f}", n)) == expected


@given(st.lists(st.integers(0, 12), min_size=1, max_size=300), st.integers(0, 4))
def test_sum_is_possible_for_its_own_mean(values, places):
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
def test_possible_counts_of_published_percentages(row, printed, n, counts):
    """Some percentages are impossible for the stated number of problems."""
    assert find_possible_counts(printed, n) == counts, row


def test_truncated_percentages_need_their_own_rule():
    """WSC's association rate, 37 of 273, is printed as 13.5: truncated, not rounded."""
    assert find_possible_counts("13.5", 273) == ()
    assert find_possible_counts("13.5", 273, rounding="down") == (37,)
    assert find_possible_counts("83.1", 273, rounding="down") == (227,)  # RoBERTa-DPR's, too


@given(st.integers(1, 500), st.integers(0, 1000))
def test_truncated_and_raised_percentages_are_one_sided(n, tenths):
    """A truncated percentage covers a whole place above it, a raised one a whole place below."""
    of = {k: Fraction(100 * k, n) - Fraction(tenths, 10) for k in range(n + 1)}
    down = [k for k, above in of.items() if 0 <= above < Fraction(1, 10)]
    up = [k for k, above in of.items() if -Fraction(1, 10) < above <= 0]
    printed = f"{tenths / 10:.1f}"
    assert list(find_possible_counts(printed, n, rounding="down")) == down
    assert list(find_possible_counts(printed, n, rounding="up")) == up
    assert list(find_possible_counts(printed, n, rounding="any")) == sorted({*down, *up})


def test_printed_zero_counts_as_a_decimal_place():
    assert len(find_possible_counts("90", 273)) > len(find_possible_counts("90.0", 273))
    assert find_possible_counts("0.92", 801, scale=1) == find_possible_counts("92", 801)


@pytest.mark.parametrize(("printed", "n"), [("n/a", 80), ("nan", 80), ("80", 0)])
def test_invalid_percentages_are_refused(printed, n):
    with pytest.raises(DataError):
        find_possible_counts(printed, n)
