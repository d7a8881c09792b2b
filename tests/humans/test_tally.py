"""Trends over a sheet, accuracy over people and items, and counts that match printed scores.

Every table of Davis et al. (2016), "Human tests of materials for the Winograd Schema Challenge
2016", follows from its own numbers, or contradicts them. Comments have the numbers of sections.
"""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from winosmith.errors import DataError
from winosmith.humans import PrintedTest, check_grim
from winosmith.humans._tally import measure_accuracy
from winosmith.metrics import find_possible_counts, wilson_interval


@pytest.mark.parametrize("shape", [(3, 6), (2, 7), (6, 3), (8, 12), (9, 9), (1, 5), (5, 1)])
def test_accuracy_has_the_variance_of_people_and_items(shape):
    """The variances of both means are added, and that of single answers is subtracted.

    Student's t has the degrees of freedom of the smaller side.
    """
    k, m = shape
    able, easy = np.linspace(0, 1, k)[:, None], np.linspace(0, 1, m)
    right = (np.random.default_rng(5).random(shape) < (able + easy) / 2).astype(float)
    right[0, 0], right[-1, -1] = 0, 1
    value, n = right.mean(), k * m
    of_people = [right[i].mean() for i in range(k)]
    of_items = [right[:, j].mean() for j in range(m)]
    parts = [np.var(of, ddof=1) / len(of) for of in (of_people, of_items) if len(of) > 1]
    shared = right.var() / n if min(shape) > 1 else 0
    alike = min(n, value * (1 - value) / max(sum(parts) - shared, *parts, 0))
    smaller = min(size for size in shape if size > 1)
    independent = alike * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, smaller - 1)) ** 2
    found = measure_accuracy(right)
    assert (found.right, found.n, found.clusters) == (right.sum(), n, min(shape))
    assert found.design_effect == pytest.approx(n / alike)
    assert found.interval == pytest.approx(wilson_interval(value * independent, independent))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_true_counts_are_possible_for_their_printed_scores(right):
    histogram = {len(right): 0, 0: 60}
    test = PrintedTest(60, {f"S{at}": f"{k / 60:.2f}" for at, k in enumerate(right)}, histogram)
    found = check_grim(test)
    assert all(k in found.possible[f"S{at}"] for at, k in enumerate(right))
    assert found.by_subject[0] <= sum(right) <= found.by_subject[1]


def test_ambiguous_scores_give_a_range_of_sums():
    """0.50 of 300 may be 149, 150 or 151."""
    found = check_grim(PrintedTest(300, {"a": "0.50", "b": "1.00"}, {2: 150, 1: 150}))
    assert found.possible["a"] == (149, 150, 151)
    assert found.by_subject == (448, 451)
    assert found.is_consistent
    assert found.infer_count("b") is None


def test_impossible_score_allows_any_count():
    """0.50 isn't k/3, rounded up or down."""
    found = check_grim(PrintedTest(3, {"a": "0.50", "b": "1.00"}, {2: 1, 1: 2}))
    assert (found.other_roundings, found.by_subject) == ({"a": ()}, (3, 6))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((3, {"a": "0.5"}, {1: 2}), "the histogram has 2 problems, not 3"),
        ((1, {"a": "0.5"}, {2: 1}), "has more people than the 1 subjects"),
    ],
)
def test_contradictory_printed_test_is_refused(parts, reason):
    with pytest.raises(DataError, match=reason):
        PrintedTest(*parts)


PDP = PrintedTest(  # section 4.1
    108,
    {
        "S1": "0.80", "S2": "0.99", "S3": "0.76", "S4": "0.96", "S5": "0.93", "S6": "0.96",
        "S7": "0.97", "S8": "0.93", "S9": "0.95", "S10": "1.00", "S11": "0.97", "S12": "0.77",
        "S13": "0.88", "S14": "0.87", "S16": "0.83", "S17": "0.95", "S18": "0.97", "S19": "0.91",
        "S20": "0.85",
    },
    {19: 42, 18: 23, 17: 7, 16: 13, 15: 11, 14: 6, 13: 5, 12: 1},
)  # fmt: skip
WS_A = PrintedTest(  # section 4.2
    89,
    {"S1": "0.87", "S6": "1.00", "S9": "0.98", "S10": "0.98", "S13": "0.92", "S16": "0.86",
     "S18": "0.97", "S20": "0.84", "S21": "0.88"},
    {9: 50, 8: 22, 7: 12, 6: 4, 5: 0, 4: 1},
)  # fmt: skip
WS_B = PrintedTest(  # section 4.3
    89,
    {"S2": "0.97", "S3": "0.92", "S7": "0.94", "S8": "0.93", "S12": "0.91", "S14": "0.87",
     "S15": "0.94", "S17": "0.93", "S19": "0.94"},
    {9: 63, 8: 11, 7: 6, 6: 5, 5: 2, 4: 1, 3: 1},
)  # fmt: skip
NATIVES = {"S2", "S4", "S5", "S6", "S11", "S17", "S19"}  # section 4
TESTS = {"PDP": PDP, "WS.a": WS_A, "WS.b": WS_B}


def one_count(test: PrintedTest) -> dict[str, int]:
    """Return the only count for each subject that matches the printed score."""
    return {who: only[0] for who, only in check_grim(test).possible.items() if len(only) == 1}


@pytest.mark.parametrize(
    ("name", "subjects", "right", "answers", "mean"),
    [
        ("PDP", 19, 1865, 2052, "90.89"),
        ("WS.a", 9, 738, 801, "92"),
        ("WS.b", 9, 744, 801, "93"),
    ],
)
def test_printed_means_follow_from_the_histograms(name, subjects, right, answers, mean):
    test = TESTS[name]
    assert (test.subject_count, test.histogram_correct_count) == (subjects, right)
    assert test.subject_count * test.items == answers
    assert right in find_possible_counts(mean, answers)


def test_printed_overall_91_percent_is_rounded_down():
    """3,347 of 3,654 answers are correct: 91.6 %."""
    right = sum(test.histogram_correct_count for test in TESTS.values())
    answers = sum(test.items * test.subject_count for test in TESTS.values())
    assert (right, answers) == (3347, 3654)
    assert right not in find_possible_counts("91", answers)
    assert right in find_possible_counts("91.6", answers)
    assert right in find_possible_counts("91", answers, rounding="down")


@pytest.mark.parametrize(("name", "deviation"), [("PDP", "7.6"), ("WS.a", "6"), ("WS.b", "3")])
def test_printed_deviations_match_the_counts(name, deviation):
    """The rounded PDP scores have a deviation of 7.5; the printed one matches the counts."""
    test = TESTS[name]
    right = one_count(test)
    if name == "WS.a":
        right["S16"] = 77
    places = len(deviation.partition(".")[2])
    shares = [100 * count / test.items for count in right.values()]
    assert len(shares) == test.subject_count
    assert f"{np.std(shares, ddof=1):.{places}f}" == deviation


def test_pdp_scores_and_histogram_contradict_each_other():
    """Each score matches one count. The counts sum to 1,864, the histogram to 1,865."""
    found = check_grim(PDP)
    assert all(len(counts) == 1 for counts in found.possible.values())
    assert (found.by_subject, found.by_item, found.is_consistent) == ((1864, 1864), 1865, False)


def test_score_of_s16_in_ws_a_is_impossible():
    """0.86 is no k/89. Rounded up or down, it is 76 or 77; the sums need 77."""
    found = check_grim(WS_A)
    assert (found.impossible_subjects, found.other_roundings) == (("S16",), {"S16": (76, 77)})
    assert (found.infer_count("S16"), found.infer_count("S1")) == (77, None)
    assert not found.is_consistent
    assert find_possible_counts("0.86", 89, scale=1, rounding="down") == (77,)
    assert find_possible_counts("0.87", 89, scale=1) == (77,)


def test_one_problem_of_ws_a_and_two_of_ws_b_are_badly_built():
    """Fewer than half of the subjects agree on these, and 5 of 9 on two more (4.2, 4.3)."""
    bad = {
        name: sum(n for right, n in test.histogram.items() if 2 * right < test.subject_count)
        for name, test in TESTS.items()
    }
    assert bad == {"PDP": 0, "WS.a": 1, "WS.b": 2}
    assert WS_B.histogram[5] == 2
    assert min(PDP.histogram) == 12
    assert f"{12 / 19:.0%}" == "63%"


def test_counts_of_schemas_fit_the_histograms_of_halves():
    nine_nine, nine_eight, eight_eight = 38, 21, 3  # section 4.4
    nines = WS_A.histogram[9] + WS_B.histogram[9]
    eights = WS_A.histogram[8] + WS_B.histogram[8]
    assert 2 * nine_nine + nine_eight <= nines == 113
    assert nine_eight + 2 * eight_eight <= eights == 33
    assert nine_nine <= min(WS_A.histogram[9], WS_B.histogram[9])
    # each half with 9 has another half with 9, 8 or less; there are enough halves with less
    alone = nines - 2 * nine_nine - nine_eight
    less = sum(n for t in (WS_A, WS_B) for right, n in t.histogram.items() if right < 8)
    assert alone <= less


def test_takers_add_up_except_for_two_with_only_ws():
    """19, 9 and 9 takers are 16 of two tests, 3 of only the PDPs and 2 of only one WS."""
    takers = {name: set(test.scores) for name, test in TESTS.items()}
    ws = takers["WS.a"] | takers["WS.b"]
    assert not takers["WS.a"] & takers["WS.b"]
    assert (len(takers["PDP"] & ws), len(takers["PDP"] - ws), len(ws - takers["PDP"])) == (16, 3, 2)
    assert len(set(chain.from_iterable(takers.values()))) == 21
    natives = {name: len(who & NATIVES) for name, who in takers.items()}
    assert natives == {"PDP": 7, "WS.a": 1, "WS.b": 3}
    one_test = (takers["PDP"] ^ ws) & NATIVES
    assert len(one_test) == 3
