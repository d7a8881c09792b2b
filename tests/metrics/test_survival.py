"""Survival curves of first errors, and comparison of two solvers on the same families."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.proportion import proportion_confint

from tests.conftest import examples, installed
from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Problem, formats
from winosmith.errors import DataError, require
from winosmith.metrics import Graded, compare_survival, measure_stability
from winosmith.metrics._stability import _compute_log_rank, compute_log_rank_scores
from winosmith.testing import make_families

installed("lifelines")

ENDS = st.lists(
    st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 6), st.booleans()),
    min_size=1,
    max_size=9,
)


def fail_from(dataset: Dataset, first: dict[str, int]) -> Graded:
    """Return answers that are incorrect from a depth on, by root; depth 0 is the root itself."""

    def wrong(problem: Problem) -> bool:
        root = problem.lineage.root if problem.lineage else problem.id
        depth = problem.lineage.declared or 0 if problem.lineage else 0
        return depth >= first.get(root, 99)

    return right_but(dataset, wrong)


def test_curve_is_kaplan_and_meiers():
    """5 families with errors at 2 and 4 and an end at 3 have 4/5, 4/5 and 4/5 · 2/3."""
    data = make_families([1, 2, 5], [1, 3], [1, 2, 4], [1, 6], [1, 6])
    found = measure_stability(fail_from(data, {"r0": 2, "r2": 4})).survival
    assert found.depths == (2, 3, 4, 6)
    assert found.share == pytest.approx((4 / 5, 4 / 5, 4 / 5 * 2 / 3, 4 / 5 * 2 / 3))
    assert found.at_risk == (5, 4, 3, 2)
    assert found.errors == (1, 0, 1, 0)
    assert found.censored == (0, 1, 0, 2)
    assert found.median is None
    variance = 1 / (5 * 4) + 1 / (3 * 2)  # Greenwood's, at depth 4
    share = found.share[2]
    width = 1.959964 * np.sqrt(variance) / abs(np.log(share))
    expected = (share ** np.exp(width), share ** np.exp(-width))
    assert found.intervals[2] == pytest.approx(expected, abs=1e-6)


def test_survival_of_none_or_all_has_wilsons_interval():
    """12 families reach depth 1, and the errors of 10 are at depth 3."""
    data = make_families(*[[1, 2, 3]] * 10, [1], [2])
    found = measure_stability(fail_from(data, {f"r{n}": 3 for n in range(10)})).survival
    assert found.share == (1, 1, 0)
    low, high = found.intervals[0], found.intervals[2]
    assert low == pytest.approx(proportion_confint(12, 12, method="wilson"))
    assert high == pytest.approx(proportion_confint(0, 10, method="wilson"))


def test_survival_of_none_is_not_above_the_survival_before():
    """9 of 10 families fail at depth 1, and the last one at depth 2."""
    data = make_families(*[[1, 2]] * 10)
    found = measure_stability(fail_from(data, {f"r{n}": 1 + (n == 9) for n in range(10)})).survival
    assert found.share == pytest.approx((0.1, 0))
    assert found.intervals[1][1] == found.intervals[0][1] < 0.5


def test_survival_of_one_half_is_the_median_despite_rounding():
    """3 of 8 families fail at the root and 1 at depth 1; 5/8 · 4/5 is rounded above 1/2."""
    data = make_families(*[[1, 5]] * 8)
    found = measure_stability(fail_from(data, {"r0": 0, "r1": 0, "r2": 0, "r3": 1})).survival
    assert found.share == pytest.approx((5 / 8, 1 / 2, 1 / 2))
    assert found.median == 1


@given(ENDS)
def test_scores_sum_to_the_log_rank_statistic(ends):
    """They are the events of one group minus the expected events, depth by depth."""
    rows = np.array(ends)
    lasted = np.concatenate([rows[:, 0], rows[:, 2]])
    failed = np.concatenate([rows[:, 1], rows[:, 3]]).astype(bool)
    mine = np.arange(2 * len(rows)) < len(rows)
    expected = 0.0
    for depth in np.unique(lasted):
        there = failed & (lasted == depth)
        at_risk = lasted >= depth
        expected += (there & mine).sum() - there.sum() * (at_risk & mine).sum() / at_risk.sum()
    scores = compute_log_rank_scores(lasted, failed)
    assert scores[mine].sum() == pytest.approx(expected)
    assert scores.sum() == pytest.approx(0, abs=1e-9)


@given(ENDS)
def test_log_rank_test_matches_lifelines(ends):
    """An event may be split into two halves at one depth."""
    logrank = require("lifelines.statistics", "stability").logrank_test
    table = np.array(ends, int)
    one, other = table[:, :2], table[:, 2:]
    whole = np.ones(len(ends))
    theirs = (
        logrank(one[:, 0], other[:, 0], one[:, 1], other[:, 1]) if table[:, 1::2].any() else None
    )
    some = theirs is not None and np.isfinite(theirs.test_statistic)
    expected = (theirs.test_statistic, theirs.p_value) if some else (0, 1)
    assert _compute_log_rank((one, whole), (other, whole)) == pytest.approx(expected)
    halved = np.repeat(one, 2, axis=0), np.repeat(whole / 2, 2)
    assert _compute_log_rank(halved, (other, whole)) == pytest.approx(expected)


def test_less_than_one_family_at_risk_adds_no_variance():
    """If ties leave three quarters of a family, it still adds to the observed events."""
    one = np.array([[1, 1], [2, 1], [3, 1]]), np.array([1, 0.5, 0.5])
    other = np.array([[1, 1], [2, 1], [3, 1]]), np.array([1, 0.75, 0.25])
    # 4 families are at risk, then 2; 1.25 have their event, then 0.75.
    statistic, p = _compute_log_rank(one, other)
    seen = 0.5 - 1.25 * 0.5 + 0.5 - 0.75 * (0.5 / 0.75)
    assert statistic == pytest.approx(seen**2 / (2 * (2 / 3) / 4 + 1.25 * 0.75 / 4))
    assert 0 < p < 1


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=7))
def test_paired_p_value_counts_all_swaps_of_families(starts):
    data = make_families(*([1, 2, 3, 4] for _ in starts))
    first = fail_from(data, {f"r{row}": one for row, (one, _) in enumerate(starts)})
    second = fail_from(data, {f"r{row}": two for row, (_, two) in enumerate(starts)})
    found = compare_survival(first, second)
    ends = np.array([[min(at, 4) for at in pair] for pair in starts]).T
    failed = np.array([[at <= 4 for at in pair] for pair in starts]).T
    sums = []
    for swap in product((False, True), repeat=len(starts)):
        mine = np.where(swap, ends[1], ends[0]), np.where(swap, failed[1], failed[0])
        theirs = np.where(swap, ends[0], ends[1]), np.where(swap, failed[0], failed[1])
        scores = compute_log_rank_scores(
            np.concatenate([mine[0], theirs[0]]), np.concatenate([mine[1], theirs[1]])
        )
        sums.append(abs(scores[: len(starts)].sum()))
    assert found.p_value == pytest.approx(np.mean(np.array(sums) >= sums[0] - 1e-9))


def test_paired_test_detects_a_constant_advantage():
    """One solver always lasts one step longer. The log-rank test misses it: families differ."""
    starts = [1 + row % 6 for row in range(14)]
    data = make_families(*([1, 2, 3, 4, 5, 6, 7, 8] for _ in starts))
    early = fail_from(data, {f"r{row}": at for row, at in enumerate(starts)})
    late = fail_from(data, {f"r{row}": at + 1 for row, at in enumerate(starts)})
    found = compare_survival(early, late)
    assert found.log_rank > 0.1
    assert found.p_value == 2 / 2**14
    assert found.later == "second"
    assert compare_survival(late, early).later == "first"
    assert json.loads(json.dumps(found.record(), allow_nan=False)) == found.record()


def test_many_families_have_random_swaps():
    starts = [[1 + row % 3 for row in range(40)], [1 + row % 4 for row in range(40)]]
    data = make_families(*([1, 2, 3, 4] for _ in range(40)))
    first, second = (fail_from(data, {f"r{row}": n for row, n in enumerate(of)}) for of in starts)
    found = compare_survival(first, second, draws=2_000)
    assert found == compare_survival(first, second, draws=2_000)
    scores = compute_log_rank_scores(np.concatenate(starts), np.ones(80, bool)).reshape(2, 40)
    sums = Counter({0.0: 1.0})
    for difference in scores[0] - scores[1]:
        before, sums = sums, Counter()
        for at, share in before.items():
            sums[round(at + difference, 9)] += share / 2
            sums[round(at - difference, 9)] += share / 2
    seen = abs((scores[0] - scores[1]).sum()) - 1e-6
    exact = sum(share for at, share in sums.items() if abs(at) >= seen)
    assert found.p_value == pytest.approx(exact, abs=0.04)


def test_signature_contains_both_digests():
    data = make_families([1, 2])
    first, second = fail_from(data, {}), fail_from(data, {"r0": 1})
    expected = f"predictions:{first.digest[:6]}+{second.digest[:6]}|"
    assert expected in str(compare_survival(first, second).signature)


def test_p_values_of_equal_answers_are_1():
    data = make_families([1, 2], [1, 2])
    for first in ({}, {"r0": 1}, {"r0": 1, "r1": 1}):
        answers = fail_from(data, first)
        found = compare_survival(answers, answers)
        assert (found.log_rank, found.p_value, found.later) == (1, 1, None)


def test_different_data_sets_are_refused():
    one, other = make_families([1, 2]), make_families([1, 3])
    with pytest.raises(DataError, match="different data sets"):
        compare_survival(fail_from(one, {}), fail_from(other, {}))


@pytest.mark.data
def test_two_simple_solvers_differ_on_the_perturbed_wsc(data_dir):
    data = formats.read(data_dir / "perturbed_wsc" / "dataset" / "enhanced_wsc.tsv")
    first = choosing(data, [0] * len(data))
    better = right_but(data, lambda p: p.lineage is not None and p.answer == 0)
    found = compare_survival(first, better)
    assert (found.families, found.later) == (285, "second")
    assert found.p_value < 0.001
