"""Results of a round: its tables, in the form of Davis et al. (2016)."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from tests.conftest import examples
from winosmith import Dataset, Problem, Response
from winosmith.errors import DataError
from winosmith.humans import (
    Remark,
    Subject,
    TakenSheet,
    Tally,
    compare_groups,
    compute_results,
    measure_accuracy,
    measure_paces,
    summarize_agreement,
)
from winosmith.testing import make_twins

Round = tuple[Dataset, list[Response], list[Subject]]

NAMES = "S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S16 S17 S18 S19 S20".split()
NATIVES = {"S2", "S4", "S5", "S6", "S11", "S17", "S19"}
HISTOGRAM = {19: 42, 18: 23, 17: 7, 16: 13, 15: 11, 14: 6, 13: 5, 12: 1}
"""Number of the 108 PDPs by number of correct people (Davis et al. 2016, section 4.1)."""

RIGHT = """
ffffffffffffffffff0fffc0002 ffffffffffffffffffffffffffe ffffffffffc003ff801ffffffc3
fffffffffffffffffffffffff1d fffffffffffffffffffffbfff80 ffffffffffffffffffffffff0ff
ffffffffffffffffffffffffff8 fffffffffffffffffffffff807f ffffffffffffffffffffffe0fff
fffffffffffffffffffffffffff ffffffffffffffffffffffffff4 ffffffffffffffffffe0003f003
fffffffffffffffffff01ffffc0 ffffffffffffffffffffff0003f fffffffffffffc0000fffffffff
fffffffffffffffffffffc1ffff fffffffffffffffffffffffffec ffffffffffffffffffffe007fff
ffffffffffffffffff0000fffff
"""
"""Bits of the PDPs that each of `NAMES` got right: a table with the margins printed in section 4.1.

S1 has one more correct answer than printed; otherwise scores and histogram contradict each
other.
"""


def problems(n: int, options: list[int] | None = None, *, twins: bool = False) -> Dataset:
    """Return problems with these numbers of options; the first option is correct."""
    words = ("cup", "jug", "vase", "bowl", "dish")
    sizes = options or [2] * n
    return Dataset(
        Problem(
            f"p{at}",
            f"The cup hit the jug in room {at} and _ broke.",
            words[: sizes[at]],
            0,
            f"t{at // 2}" if twins else None,
            pronoun="it",
        )
        for at in range(n)
    )


def answers(data: Dataset, said: dict[str, list[int | str | None]]) -> list[Response]:
    """Return test responses from indices of options, "X", or None for no answer."""
    return [
        Response(
            problem.id, who, "test", None if answer == "X" else answer, ambiguous=answer == "X"
        )
        for who, given in said.items()
        for problem, answer in zip(data, given, strict=True)
        if answer is not None
    ]


@pytest.fixture(scope="module")
def pdp() -> Round:
    """Return answers to the PDPs with every printed margin."""
    data = problems(108, [2] * 74 + [3] * 27 + [4] * 4 + [5] * 3)
    rows = (f"{int(row, 16):0108b}" for row in RIGHT.split())
    said = {who: [1 - int(r) for r in row] for who, row in zip(NAMES, rows, strict=True)}
    return data, answers(data, said), [Subject(who, who in NATIVES) for who in NAMES]


def test_pdp_tables_match_the_paper(pdp):
    (test,) = compute_results(*pdp).tests
    assert (test.accuracy.right, test.accuracy.n) == (1865, 2052)
    assert f"{test.accuracy.value:.2%}" == "90.89%"
    assert f"{100 * test.deviation:.1f}" in ("7.5", "7.6")  # S1 has one more correct answer
    assert {right: n for (right, _), n in test.histogram.items()} == HISTOGRAM
    assert (f"{test.chance.right:.1f}", f"{test.chance.accuracy:.0%}") == ("47.6", "44%")
    assert f"{test.above_chance:.2f}" == "0.84"
    assert [f"{mean:.2f}" for mean in test.groups.means] == ["0.95", "0.88"]
    assert "7 native speakers and 12 others" in test.groups.caution
    without = test.without_weakest
    assert set(without.omitted) == {"S1", "S3", "S12"}
    assert [f"{mean:.2f}" for mean in (without.mean, *without.groups.means)] == [
        "0.93", "0.95", "0.92",
    ]  # fmt: skip
    assert [*without.histogram.items()][:2] == [((16, 16), 54), ((15, 16), 22)]
    assert not any(item.is_flagged for item in test.items)


def test_question_on_two_sheets_of_a_subject_counts_once():
    """The option of an answer that is also marked as ambiguous counts, not the mark."""
    data = problems(3)
    said = answers(data, {"S1": [0, 1, "X"], "S2": [0, 0, 0]})
    said[0] = replace(said[0], ambiguous=True)
    taken = tuple(TakenSheet(f"common-{order}", "common", data.ids) for order in (1, 2))
    *_, test = compute_results(data, said, [Subject("S1", taken=taken), Subject("S2")]).tests
    (row,) = test.people
    assert (row.right, row.asked, row.ambiguous, row.empty) == (1, 3, 1, 0)
    assert (test.accuracy.right, test.accuracy.n, test.ambiguous) == (1, 3, 1)


def test_results_do_not_depend_on_the_order_of_responses(pdp):
    """The sheets state the order of the items."""
    data, said, _ = pdp
    taken = (TakenSheet("a-1-AAAA", "a", data.ids),)
    subjects = [Subject(who, who in NATIVES, taken=taken) for who in NAMES]
    mixed = [said[at] for at in np.random.default_rng(0).permutation(len(said))]
    one, other = (compute_results(data, of, subjects).record() for of in (said, mixed))
    assert one == other


def test_minimal_results_are_valid_json():
    data = problems(2)
    record = compute_results(data, [Response("p0", "S1", "test", 0)]).record()
    assert json.loads(json.dumps(record, allow_nan=False))["answers"] == 1


def test_item_with_minority_on_its_answer_is_flagged():
    data = problems(4)
    said = {"S1": [1, "X", 0, 0], "S2": [1, "X", 1, 1], "S3": [0, "X", 0, 1], "S4": [1, 0, 1, "X"]}
    (test,) = compute_results(data, answers(data, said)).tests
    bad = {
        item.problem: (item.right, item.most_frequent_count, item.majority_reading)
        for item in test.items
        if item.is_flagged
    }
    assert bad == {"p0": (1, 3, "jug"), "p1": (1, 3, "ambiguous (X)"), "p3": (1, 2, "jug")}
    assert test.items[2].majority_reading == "cup or jug"
    assert [item.ambiguous for item in test.items] == [0, 3, 0, 1]
    assert test.ambiguous == 4


def test_tied_readings_are_all_listed():
    data = problems(1)
    (test,) = compute_results(data, answers(data, {"S1": [1], "S2": ["X"], "S3": [0]})).tests
    assert test.items[0].majority_reading == "cup or jug or ambiguous (X)"


def test_agreement_differs_from_accuracy():
    """All subjects choose the same incorrect option."""
    data = problems(1)
    (test,) = compute_results(data, answers(data, {who: [1] for who in "abc"})).tests
    assert (test.accuracy.value, test.most_frequent_fraction) == (0.0, 1.0)


@examples(25)
@given(st.lists(st.lists(st.sampled_from([0, 1, "X"]), min_size=5, max_size=5), min_size=1,
                max_size=6))  # fmt: skip
def test_totals_by_subject_item_and_histogram_are_equal(table):
    data = problems(5)
    said = answers(data, {f"S{at}": list(row) for at, row in enumerate(table)})
    (test,) = compute_results(data, said).tests
    right = sum(row.count(0) for row in table)
    assert sum(person.right for person in test.people) == right
    assert sum(item.right for item in test.items) == right
    assert sum(k * n for (k, _), n in test.histogram.items()) == right
    assert test.accuracy.right == right
    assert test.ambiguous == sum(row.count("X") for row in table)
    for at, item in enumerate(test.items):
        column = Counter(row[at] for row in table)
        assert item.most_frequent_count == max(column.values())


def test_empty_answers_count_as_asked_but_not_correct():
    data = problems(4)
    subject = Subject("S1", taken=(TakenSheet("a-1-AAAA", "a", data.ids),))
    said = answers(data, {"S1": [0, None, 0, 0]})
    (test,) = compute_results(data, said, [subject]).tests
    person = test.people[0]
    assert (person.right, person.asked, person.empty) == (3, 4, 1)
    assert (test.name, test.accuracy.n) == ("a", 4)
    blank = [*said, Response(data[1].id, "S1", "test")]
    for people in ([subject], []):
        assert compute_results(data, blank, people).tests[0].people[0].empty == 1


def test_halves_are_counted_across_tests():
    """The best schemas come first. Different subjects see the two halves."""
    data = problems(6, twins=True)
    a, b = (TakenSheet("a-1-AAAA", "a", data.ids[::2]), TakenSheet("b-1-AAAA", "b", data.ids[1::2]))
    subjects = [Subject("S1", taken=(a,)), Subject("S2"), Subject("S3", taken=(b,))]
    said = {  # the sheet of S2 is unknown
        "S1": [0, None] * 3, "S2": [0, None, 1, None, 1, None], "S3": [None, 0, None, 0, None, 1],
    }  # fmt: skip
    found = compute_results(data, answers(data, said), subjects)
    assert found.record()["halves"] == [
        {"right": [2, 1], "of": [2, 1], "schemas": 1},
        {"right": [1, 1], "of": [1, 2], "schemas": 1},
        {"right": [1, 0], "of": [2, 1], "schemas": 1},
    ]
    assert [test.name for test in found.tests] == ["a", "all", "b"]


def test_histogram_is_sorted_by_fraction_then_people():
    data = problems(5)
    said = {"S1": [0, 0, 1, 1, None], "S2": [None, 0, 0, 0, None], "S3": [None, None, None, 0, 1]}
    (test,) = compute_results(data, answers(data, said)).tests
    assert [*test.histogram] == [(2, 2), (1, 1), (2, 3), (1, 2), (0, 1)]


def test_kappa_and_alpha_count_x_as_a_category():
    data = problems(3)
    (test,) = compute_results(data, answers(data, {who: ["X", 0, 1] for who in "abc"})).tests
    assert test.kappa.value == pytest.approx(1.0)
    assert test.alpha.value == pytest.approx(1.0)


def test_copies_do_not_narrow_the_interval_of_agreement():
    data = make_twins(0, singles=20)
    copies = Dataset(
        [*data, *(replace(p, id=f"{p.id}{n}", twin_id=None) for p in data for n in "xy")]
    )
    once, often = (
        answers(of, {who: [(p.answer or 0) ^ (len(p.sentence) % at == 0) for p in of]
                     for at, who in enumerate("abcd", 4)})
        for of in (data, copies)
    )  # fmt: skip
    once, often = compute_results(data, once).tests[0], compute_results(copies, often).tests[0]
    assert often.kappa.value == pytest.approx(once.kappa.value)
    assert often.kappa.interval == pytest.approx(once.kappa.interval)


def test_sheet_whose_texts_were_all_erased_is_omitted():
    data = problems(3)
    taken = TakenSheet("a1", "a", ()), TakenSheet("b1", "b", data.ids)
    people = [Subject(who, taken=taken) for who in ("S1", "S2")]
    found = compute_results(data, answers(data, {"S1": [0, 0, 1], "S2": [0, 1, 1]}), people)
    assert [(test.name, test.accuracy.in_words) for test in found.tests] == [("b", "3 of 6")]


def test_group_comparison_matches_scipy_and_warns_if_small():
    """The permutation test of 3 and 3 people is exact: 2 of 20 relabellings."""
    native, others = [0.95, 0.97, 0.99], [0.7, 0.8, 0.9]
    found = compare_groups(native, others)
    scipy = ttest_ind(native, others, equal_var=False)
    assert found.welch == pytest.approx(scipy.pvalue)
    assert found.interval == pytest.approx(tuple(scipy.confidence_interval(0.95)))
    assert found.permutation == pytest.approx(2 / 20)
    assert "3 native speakers and 3 others" in found.caution
    assert compare_groups([0.5] * 10 + [0.6], [0.5] * 12).caution == ""
    assert "3 native speakers and 1 other, only" in compare_groups(native, [0.7]).caution
    assert compare_groups([], others) is None
    same = compare_groups([0.5] * 3, others)
    assert same.welch == pytest.approx(ttest_1samp(others, 0.5).pvalue)
    turned = compare_groups(others, [0.5] * 3)
    assert turned.welch == same.welch
    assert turned.difference == pytest.approx(0.3) == -same.difference
    alone = compare_groups([1.0], others)
    assert (alone.permutation, alone.welch, alone.interval) == (0.5, None, None)
    level = compare_groups([1.0] * 2, [0.5] * 2)
    assert (level.welch, level.interval) == (None, None)


def test_weakest_are_left_out_only_if_two_remain():
    data = problems(2)
    said = answers(data, {"S2": [0, 1], "S1": [1, 0], "S3": [0, 0]})
    (one,), (two,) = (compute_results(data, said, weakest=weakest).tests for weakest in (1, 2))
    assert (one.without_weakest.omitted, one.without_weakest.mean) == (("S1",), 0.75)
    assert two.without_weakest is None


def test_agreement_is_summarized_from_counts():
    data = problems(6, [2, 2, 2, 3, 3, 4])
    found = summarize_agreement(
        data, Tally(np.array([5, 9, 5, 9, 9, 0]), np.array([5, 9, 4, 3, 6, 0]))
    )
    assert (found.right, found.answers, found.problems) == (27, 37, 5)
    assert [*found.histogram] == [(9, 9), (5, 5), (4, 5), (6, 9), (3, 9)]
    assert found.by_options == {2: (18, 19), 3: (9, 18)}
    assert found.chance.right == pytest.approx(3 / 2 + 2 / 3)


@pytest.mark.parametrize(
    ("asked", "right", "message"),
    [
        ([0, 0], [0, 0], "no problem has an answer"),
        ([3, 3], [3, 4], "'p1' has 4 intended answers, but only 3 answers in all"),
    ],
)
def test_impossible_counts_are_refused(asked, right, message):
    with pytest.raises(DataError, match=message):
        summarize_agreement(problems(2), Tally(np.array(asked), np.array(right)))


def test_fast_subject_of_the_paper_is_flagged():
    """7.6 s per question is 0.42 of 18.3 s (section 3). Ties are sorted by subject code."""
    found = measure_paces({**{f"S{at}": (3600.0, 197) for at in (4, 2, 3)}, "S9": (1500.0, 197)})
    assert [(p.subject, f"{p.seconds:.1f}", p.flag) for p in found] == [
        ("S9", "7.6", "fast"),
        *((f"S{at}", "18.3", "") for at in (2, 3, 4)),
    ]


def test_results_contain_remarks_and_times():
    data = problems(2)
    known = Subject("S1", seconds=30.0, recognised=(Remark("p0", "a novel"),),
                    words=(Remark(None, "cook-shanty"),))  # fmt: skip
    found = compute_results(data, answers(data, {"S1": [0, 1]}), [known])
    assert found.recognised == (("S1", Remark("p0", "a novel")),)
    assert found.words == (("S1", Remark(None, "cook-shanty")),)
    assert found.pace[0].seconds == 15.0


def test_accuracy_intervals_cluster_by_schema():
    """Different subjects answer the two halves."""
    data = make_twins(10)
    said = [
        Response(problem.id, f"S{who}", "test", (problem.answer or 0) ^ (row < 4))
        for row, problem in enumerate(data)
        for who in range(row % 2, 24, 2)
    ]
    (test,) = compute_results(data, said).tests
    right = np.tile(np.arange(20) >= 4, (24, 1)).astype(float)
    right[np.add.outer(np.arange(24), np.arange(20)) % 2 == 1] = np.nan
    assert (test.accuracy.right, test.accuracy.clusters) == (np.nansum(right), 10)
    assert test.accuracy.design_effect > 1.5 * measure_accuracy(right).design_effect


def test_chance_weights_items_by_their_answers():
    """Two answers to an item of two options and one to an item of four: 1.25 of 3 by chance."""
    data = problems(2, [2, 4])
    (test,) = compute_results(data, answers(data, {"S1": [0, 1], "S2": [0, None]})).tests
    assert (test.chance.right, test.chance.accuracy) == (0.75, 1.25 / 3)
    assert test.above_chance == pytest.approx((2 / 3 - 1.25 / 3) / (1 - 1.25 / 3))
    of_counts = summarize_agreement(data, Tally(np.array([2, 1]), np.array([2, 0])))
    assert of_counts.chance == test.chance


def test_one_person_or_one_item_has_an_interval():
    for shape in ((9, 60), (1, 20), (5, 1), (1, 1)):
        low, high = measure_accuracy(np.ones(shape)).interval
        assert 0 <= low < high <= 1
        assert high == pytest.approx(1)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (Response("p0", "S1", "test", 1), "'S1' answered 'p0' twice"),
        (Response("p9", "S1", "test", 1), "no problem with the id 'p9'"),
        (Response("p2", "S1", "test", 2), "chose option 3 of 'p2', which has 2"),
        (Response("p2", "S1", "test", 3), "chose option 4 of 'p2', which has 2"),
        (Response("p1", "S1", "test", 0), "'S1' answered both halves of a schema \\('p0' and 'p1'"),
        (Response("p2", "S7", "test", 0), "'S7' has answers, but is not among the 1 subjects"),
    ],
)
def test_impossible_responses_are_refused(extra, reason):
    data = problems(4, twins=True)
    with pytest.raises(DataError, match=reason):
        compute_results(data, [Response("p0", "S1", "test", 0), extra], [Subject("S1")])


def test_votes_of_judges_are_ignored():
    data = problems(1)
    vote = Response("p0", "S1", "validate", 0)
    with pytest.raises(DataError, match="no test responses"):
        compute_results(data, [vote])
    both = compute_results(data, [vote, replace(vote, purpose="test")])
    assert both.answers == 1


def test_problem_without_an_answer_is_refused():
    data = Dataset([replace(problems(1)[0], answer=None)])
    with pytest.raises(DataError, match="'p0' has no answer"):
        compute_results(data, [Response("p0", "S1", "test", 0)])
