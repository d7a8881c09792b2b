"""Intervals of proportions with clustered cases, and intervals of null draws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.proportion import proportion_confint

from winosmith.metrics import (
    crossed_proportion,
    find_critical_value,
    label_null_interval,
    null_interval,
    proportion,
    wilson_interval,
)

CASES = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=60)


@given(st.floats(0, 1), st.floats(1, 1e6), st.floats(0.01, 0.99999))
def test_wilson_interval_matches_statsmodels(share: float, n: float, level: float) -> None:
    theirs = proportion_confint(share * n, n, 1 - level, method="wilson")
    assert wilson_interval(share * n, n, level) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(st.integers(0, 200), st.integers(1, 200))
def test_interval_of_independent_cases_is_wilsons(right: int, n: int) -> None:
    right = min(right, n)
    found = proportion([True] * right + [False] * (n - right))
    assert found.interval == pytest.approx(wilson_interval(right, n))
    assert (found.design_effect, found.clusters) == (1.0, n)


@given(CASES)
def test_interval_contains_the_proportion_and_is_in_0_1(
    cases: list[tuple[bool, int]],
) -> None:
    """It is at least as wide as Wilson's."""
    right, clusters = zip(*cases, strict=True)
    found = proportion(right, clusters)
    low, high = found.interval
    assert 0 <= low <= found.value + 1e-12
    assert found.value - 1e-12 <= high <= 1
    narrow = proportion_confint(sum(right), len(right), method="wilson")
    assert high - low >= narrow[1] - narrow[0] - 1e-9


@given(CASES, st.randoms())
def test_case_order_and_cluster_names_do_not_matter(
    cases: list[tuple[bool, int]], random: object
) -> None:
    shuffled = [(right, 7 * label - 3) for right, label in cases]
    random.shuffle(shuffled)
    assert proportion(*zip(*shuffled, strict=True)).interval == pytest.approx(
        proportion(*zip(*cases, strict=True)).interval
    )


@pytest.mark.parametrize("right", [0, 7, 50])
def test_copies_in_a_cluster_count_once(right: int) -> None:
    once = np.arange(50) < right
    twice = proportion(np.repeat(once, 2), np.repeat(np.arange(50), 2))
    assert twice.interval == pytest.approx(proportion(once).interval, abs=0.01)
    assert twice.design_effect == pytest.approx(2, abs=0.01)


def test_design_effect_matches_hand_computed_residuals() -> None:
    """Two twins are half correct, one correct and one incorrect: (2 + 2 · 1) / (2 + 1)."""
    right, twins = [1, 0, 1, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3]
    found = proportion(right, np.array(twins))
    assert found.design_effect == pytest.approx(4 / 3)
    # Few clusters widen it, by Student's t with 7 and 3 degrees (Korn and Graubard 1998).
    number = 8 / (4 / 3) * (2.364624 / 3.182446) ** 2
    expected = proportion_confint(number / 2, number, method="wilson")
    assert found.interval == pytest.approx(expected, abs=1e-6)


def test_interval_at_100_percent_is_wider_for_twins() -> None:
    apart = proportion([True] * 200)
    twins = proportion([True] * 200, np.arange(200) // 2)
    assert apart.interval[1] == twins.interval[1] == 1.0
    assert twins.interval[0] < apart.interval[0] < 1


@given(st.integers(2, 400), st.integers(1, 4))
def test_interval_ends_exactly_at_0_or_1(n: int, size: int) -> None:
    clusters = np.arange(n) // size
    assert proportion([True] * n, clusters).interval[1] == 1.0
    assert proportion([False] * n, clusters).interval[0] == 0.0


def test_balanced_halves_do_not_narrow_the_interval() -> None:
    """Without a lower limit, one correct half in every twin would have no variance."""
    found = proportion([True, False] * 100, np.arange(200) // 2)
    assert found.design_effect == 1.0


def test_interval_of_a_single_cluster_is_0_to_1() -> None:
    assert proportion([True] * 20, [0] * 20).interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("share", "clusters", "size", "together"),
    [(0.5, 100, 2, 0.8), (0.94, 100, 2, 0.5), (0.8, 14, 10, 0.3), (0.99, 150, 2, 0.8)],
)
def test_interval_of_clustered_data_has_its_coverage(
    share: float, clusters: int, size: int, together: float
) -> None:
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


def test_crossed_clusters_widen_the_interval() -> None:
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
def test_crossed_interval_has_its_coverage(people: int, answers: int, most: float) -> None:
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


def test_crossed_interval_of_large_data_needs_no_table() -> None:
    """400,000 people answer one of 400,000 problems each, too many for a cell per pair."""
    n = 400_000
    right = np.arange(n) % 7 > 0
    found = crossed_proportion(right, np.arange(n), np.arange(n))
    assert found.interval == pytest.approx(proportion(right).interval, abs=1e-6)


def test_one_answer_per_person_leaves_problem_clusters() -> None:
    right, problems = np.arange(600) % 7 > 1, np.arange(600) // 3
    crossed = crossed_proportion(right, np.arange(600), problems)
    assert crossed.interval == pytest.approx(proportion(right, problems).interval, abs=2e-3)


def test_proportion_in_words_states_its_ties() -> None:
    some = proportion([1.0] * 1200 + [0.5] + [0.0] * 99)
    told = [replace(some, ties=ties).in_words for ties in (0, 1, 1200)]
    count = "1,200.5 of 1,300"
    assert told == [count, f"{count}, 1 tie", f"{count}, 1,200 ties"]


@given(st.integers(1, 600), st.integers(1, 50))
def test_interval_labelled_95_percent_covers_95_percent(draws: int, step: int) -> None:
    """Each of several exchangeable values is compared with the interval of the others."""
    values = [at * step % 601 for at in range(draws + 1)]
    within = 0
    for at, value in enumerate(values):
        low, high = null_interval(values[:at] + values[at + 1 :])
        within += low <= value <= high
    if label_null_interval(draws) == "95 % of the draws":
        assert within >= 0.95 * len(values)
        assert draws >= 39
    else:
        assert null_interval(values) == (min(values), max(values))


@given(st.lists(st.integers(0, 9), min_size=19, max_size=120), st.integers(0, 9))
def test_critical_value_agrees_with_the_p_value(drawn: list[int], value: int) -> None:
    """With ties, too: value > limit exactly if (1 + draws as great) / (1 + draws) ≤ 0.05."""
    p = (1 + sum(other >= value for other in drawn)) / (1 + len(drawn))
    assert (value > find_critical_value(drawn, 0.05)) == (p <= 0.05)


def test_too_few_draws_have_no_critical_value() -> None:
    with pytest.raises(ValueError, match="18 draws are too few"):
        find_critical_value(range(18), 0.05)
