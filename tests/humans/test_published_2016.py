"""Every table of Davis et al. (2016) follows from its own numbers, or is shown not to.

"Human tests of materials for the Winograd Schema Challenge 2016", July 2, 2016; sections by number.
"""

from itertools import chain

import numpy as np
import pytest

from winosmith.humans import PrintedTest, check_grim
from winosmith.metrics import find_possible_counts

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
    """Return the only count of each subject that its printed score allows."""
    return {who: only[0] for who, only in check_grim(test).possible.items() if len(only) == 1}


@pytest.mark.parametrize(
    ("name", "subjects", "right", "answers", "mean"),
    [
        ("PDP", 19, 1865, 2052, "90.89"),
        ("WS.a", 9, 738, 801, "92"),
        ("WS.b", 9, 744, 801, "93"),
    ],
)
def test_printed_means_follow_from_the_histograms(
    name: str, subjects: int, right: int, answers: int, mean: str
) -> None:
    """The mean of each test is that of its histogram, to the last printed place."""
    test = TESTS[name]
    assert (test.subject_count, test.histogram_correct_count) == (subjects, right)
    assert test.subject_count * test.items == answers
    assert right in find_possible_counts(mean, answers)


def test_the_overall_91_percent_is_printed_low() -> None:
    """All three tests have 3,347 of 3,654 answers right, 91.6 %, which rounds to 92, not to 91."""
    right = sum(test.histogram_correct_count for test in TESTS.values())
    answers = sum(test.items * test.subject_count for test in TESTS.values())
    assert (right, answers) == (3347, 3654)
    assert right not in find_possible_counts("91", answers)
    assert right in find_possible_counts("91.6", answers)
    assert right in find_possible_counts("91", answers, rounding="down")


@pytest.mark.parametrize(("name", "deviation"), [("PDP", "7.6"), ("WS.a", "6"), ("WS.b", "3")])
def test_printed_deviations_are_those_of_the_counts(name: str, deviation: str) -> None:
    """The sample deviation of the counts behind the scores is printed; that of the scores is not.

    The rounded PDP scores themselves have 7.5.
    """
    test = TESTS[name]
    right = one_count(test)
    if name == "WS.a":
        right["S16"] = 77
    places = len(deviation.partition(".")[2])
    shares = [100 * count / test.items for count in right.values()]
    assert len(shares) == test.subject_count
    assert f"{np.std(shares, ddof=1):.{places}f}" == deviation


def test_the_pdp_scores_and_histogram_contradict_each_other() -> None:
    """Each printed PDP score allows one count; they sum to 1,864, the histogram to 1,865."""
    found = check_grim(PDP)
    assert all(len(counts) == 1 for counts in found.possible.values())
    assert (found.by_subject, found.by_item, found.is_consistent) == ((1864, 1864), 1865, False)


def test_s16_of_ws_a_is_no_share_of_89() -> None:
    """0.86 is no k/89: cut or raised it is 76 or 77, and 77 is the count that the sums need."""
    found = check_grim(WS_A)
    assert (found.impossible_subjects, found.other_roundings) == (("S16",), {"S16": (76, 77)})
    assert (found.infer_count("S16"), found.infer_count("S1")) == (77, None)
    assert not found.is_consistent
    assert find_possible_counts("0.86", 89, scale=1, rounding="down") == (77,)
    assert find_possible_counts("0.87", 89, scale=1) == (77,)


def test_badly_built_problems_are_one_in_ws_a_and_two_in_ws_b() -> None:
    """Fewer than half agree on 1 problem of WS.a and 2 of WS.b, and 5 of 9 on 2 more (4.2, 4.3)."""
    bad = {
        name: sum(n for right, n in test.histogram.items() if 2 * right < test.subject_count)
        for name, test in TESTS.items()
    }
    assert bad == {"PDP": 0, "WS.a": 1, "WS.b": 2}
    assert WS_B.histogram[5] == 2
    assert min(PDP.histogram) == 12
    assert f"{12 / 19:.0%}" == "63%"


def test_both_halves_fit_the_histograms_of_the_halves() -> None:
    """38 + 21 + 3 schemas with 9 & 9, 9 & 8, 8 & 8 need no more halves than WS.a and WS.b have."""
    nine_nine, nine_eight, eight_eight = 38, 21, 3  # section 4.4
    nines = WS_A.histogram[9] + WS_B.histogram[9]
    eights = WS_A.histogram[8] + WS_B.histogram[8]
    assert 2 * nine_nine + nine_eight <= nines == 113
    assert nine_eight + 2 * eight_eight <= eights == 33
    assert nine_nine <= min(WS_A.histogram[9], WS_B.histogram[9])
    # every 9 of WS.a meets a 9, an 8 or less in WS.b, and those of less are few enough
    alone = nines - 2 * nine_nine - nine_eight
    less = sum(n for t in (WS_A, WS_B) for right, n in t.histogram.items() if right < 8)
    assert alone <= less


def test_the_takers_add_up_but_for_the_two_who_took_ws_alone() -> None:
    """19, 9 and 9 takers are 16 who took two tests, 3 the PDPs alone and 2 a WS alone."""
    takers = {name: set(test.scores) for name, test in TESTS.items()}
    ws = takers["WS.a"] | takers["WS.b"]
    assert not takers["WS.a"] & takers["WS.b"]
    assert (len(takers["PDP"] & ws), len(takers["PDP"] - ws), len(ws - takers["PDP"])) == (16, 3, 2)
    assert len(set(chain.from_iterable(takers.values()))) == 21
    natives = {name: len(who & NATIVES) for name, who in takers.items()}
    assert natives == {"PDP": 7, "WS.a": 1, "WS.b": 3}
    one_test = (takers["PDP"] ^ ws) & NATIVES
    assert len(one_test) == 3
