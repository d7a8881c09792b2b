"""Comparison of solvers, their agreement, and the smallest difference that data can detect."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, binomtest, multinomial
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.multitest import multipletests

from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Prediction, formats, metrics
from winosmith.errors import DataError
from winosmith.metrics import (
    compare,
    correct_by_holm,
    grade,
    measure_agreement,
    paired_p_value,
    sign_flip_p_value,
)
from winosmith.metrics._paired import compute_difference_interval
from winosmith.testing import make_twins

DATA = make_twins(30)
CREDITS = st.sampled_from([0, 1 / 10, 1 / 9, 1 / 4, 1 / 3, 1 / 2, 1])
PAIRS = st.lists(st.tuples(CREDITS, CREDITS, st.integers(0, 8)), min_size=1, max_size=40)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50))
def test_p_value_of_independent_problems_is_mcnemars(answers):
    first, second = map(np.array, zip(*answers, strict=True))
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    discordant = only_first + only_second
    expected = binomtest(only_first, discordant).pvalue if discordant else 1.0
    assert paired_p_value(first, second, np.arange(len(first))) == pytest.approx(expected)


@given(PAIRS)
def test_p_value_counts_all_swaps_of_clusters(cases):
    """Ties count at their fractional credit."""
    first, second, labels = map(np.array, zip(*cases, strict=True))
    each = np.array([(first - second)[labels == label].sum() for label in np.unique(labels)])
    signs = np.array(list(product((-1, 1), repeat=len(each))))
    expected = (np.abs(signs @ each) >= abs(each.sum()) - 1e-9).mean()
    assert paired_p_value(first, second, labels) == pytest.approx(expected)
    assert paired_p_value(second, first, labels) == pytest.approx(expected)


def clustered_null(seed: int, runs: int, twins: int) -> tuple[int, int, int]:
    """Return how often each test, and the interval, find two equal solvers different."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(twins), 2)
    ours = mcnemar = interval = 0
    for _ in range(runs):
        ease = rng.beta(2, 1, twins)
        right = []
        for _solver in range(2):  # both halves of a twin are answered alike, except one half in ten
            both = np.repeat(rng.random(twins) < ease, 2)
            own = rng.random(2 * twins) < np.repeat(ease, 2)
            right.append(np.where(rng.random(2 * twins) < 0.1, own, both))
        ours += paired_p_value(*right, labels) <= 0.05
        mcnemar += paired_p_value(*right, np.arange(2 * twins)) <= 0.05
        low, high = compute_difference_interval(*right, labels, 0, draws=1000)
        interval += not low <= 0 <= high
    return ours, mcnemar, interval


@pytest.mark.long
def test_error_rate_on_clustered_data_is_five_percent():
    """Ours is 4–6 % up to chance; McNemar's test is above 10 %."""
    runs = 600
    ours, mcnemar, interval = clustered_null(seed=5, runs=runs, twins=400)
    least, most = binom.ppf(0.001, runs, 0.04), binom.ppf(0.999, runs, 0.06)
    assert least <= ours <= most
    assert least <= interval <= most
    assert mcnemar > 0.1 * runs


def test_holm_matches_statsmodels_to_the_bit():
    for p_values in ([0.02], [0.5, 0.5], [1, 0, 1], [0.03, 0.01, 0.02, 0.01, 0.7], [0.1] * 12):
        # Few cases: each call collects the garbage of the whole process.
        assert correct_by_holm(p_values) == multipletests(p_values, method="holm")[1].tolist()


def test_holm_corrects_for_the_number_of_pairs():
    """Three solvers have three pairs, but only two against a baseline."""
    wrong = {"a": (), "b": range(12), "c": (3, 9)}
    solvers = {name: right_but(DATA, rows) for name, rows in wrong.items()}
    found = compare(solvers)
    smallest = min(found.pairs, key=lambda pair: pair.p_value)
    assert smallest.adjusted == pytest.approx(3 * smallest.p_value)
    against = compare(solvers, baseline="a")
    assert [(pair.first, pair.second) for pair in against.pairs] == [("b", "a"), ("c", "a")]
    assert min(p.adjusted for p in against.pairs) == pytest.approx(2 * smallest.p_value)


def test_contingency_table_of_a_pair_is_complete():
    pair = compare({"a": right_but(DATA, {0, 1, 2}), "b": right_but(DATA, {2, 3})}).pairs[0]
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (56, 1, 2, 1)
    assert pair.difference == pytest.approx(-1 / 60)
    assert pair.interval[0] < pair.difference < pair.interval[1]


def test_copies_in_a_cluster_do_not_change_the_interval():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 40)) < [[0.7], [0.5]]
    alone = compute_difference_interval(first, second, np.arange(40), 0)
    thrice = (np.repeat(each, 3) for each in (first, second, np.arange(40)))
    assert compute_difference_interval(*thrice, 0) == pytest.approx(alone)


def test_interval_of_equal_answers_has_a_width():
    pair = compare({"a": right_but(DATA, {4}), "b": right_but(DATA, {4})}).pairs[0]
    assert (pair.p_value, pair.mcnemar, pair.difference) == (1.0, 1.0, 0.0)
    assert pair.interval[0] < 0 < pair.interval[1]


def test_invalid_comparisons_are_refused():
    elsewhere = right_but(make_twins(30, seed=9))
    with pytest.raises(DataError, match="two or more solvers"):
        compare({"a": right_but(DATA)})
    with pytest.raises(DataError, match="'b' answered a different data set"):
        compare({"a": right_but(DATA), "b": elsewhere})
    with pytest.raises(DataError, match="unknown baseline 'x'; use one of 'a', 'b'"):
        compare({"a": right_but(DATA), "b": right_but(DATA, {1})}, baseline="x")


@pytest.mark.data
@pytest.mark.parametrize(
    ("part", "right", "table", "p_value"),
    [
        ("dev", 289, (144, 145, 106, 105), 0.016290),
        ("test", 294, (158, 136, 92, 114), 0.0043004),
        ("all", 583, (302, 281, 198, 219), 0.00017316),
    ],
)
def test_published_copa_baselines_are_reproduced(data_dir, part, right, table, p_value):
    """PMI has 57.8 % on dev and 58.8 % on test (Roemmele et al., 2011), the first option 50 %."""
    data = formats.read(data_dir / f"copa/copa-{part}.xml")
    solvers = {}
    for name in ("PMIgutenbergW5", "baselineFirst"):
        rows = (data_dir / f"copa/results/{name}.all").read_text().split("\n")
        chosen = {row.split()[0]: row.split()[1:].index("1") for row in rows if row.strip()}
        solvers[name] = choosing(data, [chosen[p.id] for p in data])
    found = compare(solvers)
    pair = found.pairs[0]
    assert found.accuracies["PMIgutenbergW5"].right == right
    assert found.accuracies["baselineFirst"].value == 0.5
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == table
    assert pair.mcnemar == pytest.approx(p_value, rel=1e-4)
    assert pair.p_value == pytest.approx(pair.mcnemar)  # COPA has no twins
    assert pair.agreement.kappa == pytest.approx(2 * pair.agreement.share - 1)


def test_p_value_with_ties_among_many_options_is_near_exact():
    """With ties among 17 to 26 options, p is estimated from random signs."""
    ties = np.array([1 / options for options in (17, 19, 23, 25, 26)] * 2)
    first, second = np.append(ties, [1, 1]), np.append(np.zeros(10), [0, 1])
    gained = first - second
    signs = np.array(list(product((-1, 1), repeat=12)))
    exact = (np.abs(signs @ gained) >= abs(gained.sum()) - 1e-9).mean()
    assert paired_p_value(first, second, np.arange(12)) == pytest.approx(exact, abs=0.01)
    assert paired_p_value(first, first, np.arange(12)) == 1
    assert paired_p_value(ties, np.roll(ties, 1), np.arange(10)) == 1  # the differences sum to 0


def test_p_value_of_large_sums_is_drawn_at_random():
    """No signs bring these sums nearer than 1, so p is 1; the largest sum has half of all draws."""
    least, most = 10**9, 10**9 + 1
    assert sign_flip_p_value([-least, most]) == 1
    assert sign_flip_p_value([least, most]) == pytest.approx(1 / 2, abs=0.02)


@pytest.mark.parametrize(("n", "psi"), [(30, 0.5), (40, 0.4), (60, 0.3), (80, 0.2)])
def test_exact_test_detects_the_difference_with_80_percent_power(n, psi):
    found = metrics.compute_detectable_difference(n, psi)
    better, worse = (psi + found) / 2, (psi - found) / 2
    power = sum(
        multinomial.pmf([wins, losses, n - wins - losses], n, [better, worse, 1 - psi])
        for wins in range(n + 1)
        for losses in range(min(wins, n - wins + 1))
        if metrics.sign_flip_p_value(np.repeat([1, -1], [wins, losses])) <= 0.05
    )
    assert power == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("psi", "points"), [(0.1, 2.8), (0.2, 4.0), (0.3, 4.8), (0.5, 6.3)])
def test_detectable_difference_is_near_connors_formula(psi, points):
    """The normal approximation (Connor 1987) for 1,000 items is smaller by at most one item."""
    found = metrics.compute_detectable_difference(1000, psi)
    assert points - 0.05 < 100 * found < points + 0.15


def test_too_few_items_detect_nothing():
    """If fewer than six items differ, no exact p is 0.05; a design effect divides the items."""
    detect = metrics.compute_detectable_difference
    assert detect(100, 0.05) is detect(1, 0.5) is detect(10, 0.5) is None
    with pytest.raises(DataError, match="use n ≥ 1"):
        detect(0, 0.3)
    assert detect(1000, 0.3, design=2.0) == pytest.approx(detect(500, 0.3), rel=1e-9)
    assert detect(20, 0.5, design=2.0) is None


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [((1, 2), 0), ((1, 2), 9), ((3, 7, 20), 1), ((1,) * 90 + (2,) * 90 + (5,) * 70, 3)],
)
def test_tiny_p_values_are_exact_to_nine_digits(sizes, wrong):
    sums = sizes * (80 if len(sizes) < 9 else 1)
    seen = sum(sums) - 2 * sum(sums[:wrong])
    ways = 1  # each 400-bit digit counts the sign patterns with one sum
    for size in sums:
        ways += ways << 400 * size
    farther = ways >> 400 * ((sum(sums) + seen) // 2)
    digits = [farther >> 400 * at & (1 << 400) - 1 for at in range((sum(sums) - seen) // 2 + 1)]
    expected = Fraction(2 * sum(digits), 2 ** len(sums))
    signed = np.where(np.arange(len(sums)) < wrong, -1, 1) * sums
    found = metrics.sign_flip_p_value(signed)
    assert found < 1e-30
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_copies_do_not_lower_the_detectable_difference():
    data = make_twins(100)
    again = Dataset(
        replace(p, id=f"{p.id}.{at}", twin_id=None, options=p.options[:: 1 - at % 2 * 2])
        for p in data
        for at in range(5)
    )
    once, often = map(metrics.compute_detectable_differences, (data, again))
    assert [psi for psi, _ in once] == [psi for psi, _ in often] == [0.1, 0.2, 0.3, 0.5]
    assert [least for _, least in often] == pytest.approx([least for _, least in once])
    nothing = tuple((psi, None) for psi in (0.1, 0.2, 0.3, 0.5))
    assert metrics.compute_detectable_differences(Dataset()) == nothing


HUNDRED = make_twins(50)


@pytest.mark.parametrize("noise", [0.1, 0.5, 0.9])
def test_kappa_matches_scikit_learn_over_both_option_orders(noise):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 100)
    b = np.where(rng.random(100) < noise, rng.integers(0, 2, 100), a)
    found = measure_agreement(choosing(HUNDRED, a), choosing(HUNDRED, b))
    both = [np.concatenate([side, 1 - side]) for side in (a, b)]
    assert found.kappa == pytest.approx(cohen_kappa_score(*both))
    assert found.kappa_interval[0] <= found.kappa <= found.kappa_interval[1]
    assert found.share == (a == b).mean()


def test_equal_incorrect_choices_are_counted():
    a, b = np.arange(100) % 2, np.zeros(100, int)
    found = measure_agreement(choosing(HUNDRED, a), choosing(HUNDRED, b))
    wrong = (1 - choosing(HUNDRED, a).credit) * (1 - choosing(HUNDRED, b).credit)
    assert found.same_wrong == wrong.sum()


def test_constant_choices_agree_fully():
    """The interval still has a width: 100 problems are only a sample."""
    constant = choosing(HUNDRED, np.zeros(100, int))
    found = measure_agreement(constant, constant)
    assert (found.kappa, found.equal) == (1.0, 100)
    assert 0.8 < found.kappa_interval[0] < 0.95
    assert found.kappa_interval[1] == 1.0


def test_ties_agree_at_chance_level():
    """A tie chooses each option half of the time: kappa is 0, even with itself."""
    tied = grade(HUNDRED, [Prediction(p.id, 0, tied=(0, 1)) for p in HUNDRED])
    for other in (tied, choosing(HUNDRED, np.zeros(100, int))):
        found = measure_agreement(tied, other)
        assert (found.equal, found.kappa, found.same_wrong) == (50, 0.0, 25)


def test_agreement_needs_the_same_problems():
    other = make_twins(20, seed=3)
    with pytest.raises(DataError, match="same problems"):
        measure_agreement(choosing(HUNDRED, np.zeros(100, int)), choosing(other, np.zeros(40, int)))
