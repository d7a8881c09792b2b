"""Accuracy of the majority, of individuals who see a problem for the first time, of annotators."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from winosmith import Dataset, Lineage, Origin, Response
from winosmith.errors import DataError
from winosmith.metrics import (
    fleiss_kappa,
    krippendorff_alpha,
    measure_annotators,
    measure_human_accuracy,
    measure_person_accuracy,
)
from winosmith.testing import make_twins

TEN = make_twins(10)
DATA = TEN[:10]


def answer(row: int, who: str, right: bool | None, purpose: Any = "test") -> Response:
    choice = None if right is None else (TEN[row].answer or 0) ^ (not right)
    return Response(TEN[row].id, who, purpose, choice)


def respond(row: int, right: Sequence[bool | None], purpose: Any = "test") -> list[Response]:
    """Return the responses of several people to a problem: correct, incorrect, or none."""
    return [answer(row, f"{purpose}-{row}-{n}", r, purpose) for n, r in enumerate(right)]


def test_majority_must_be_correct():
    """Ties and missing answers are incorrect."""
    responses = [
        *respond(0, [True, True, False]),
        *respond(1, [True, False, False]),
        *respond(2, [True, True, False, False]),
        *respond(3, [True, None, None]),
        *respond(4, [True, True, True]),
    ]
    found = measure_human_accuracy(DATA, responses)
    assert (found.right, found.problems, found.accuracy) == (2, 5, 0.4)


def test_copies_of_problems_narrow_no_interval():
    """One half of each twin is answered correctly, so its halves alone would look independent."""
    votes = [vote for row in range(10) for vote in respond(row, [row % 2 == 0] * 3)]
    twice = Dataset([*DATA, *(replace(p, id=f"{p.id}/a", twin_id=f"{p.twin_id}/a") for p in DATA)])
    more = [*votes, *(replace(vote, problem_id=f"{vote.problem_id}/a") for vote in votes)]
    assert measure_human_accuracy(twice, more).interval == pytest.approx(
        measure_human_accuracy(DATA, votes).interval
    )
    alike = [replace(vote, participant=vote.participant[-1]) for vote in more]
    one, other = (
        measure_annotators(of, [v for v in alike if v.problem_id in of.ids]).people[0].accuracy
        for of in (DATA, twice)
    )
    assert other.interval == pytest.approx(one.interval)


def test_interval_is_wilsons_and_is_wider_for_twins():
    responses = [vote for row in range(10) for vote in respond(row, [row != 3] * 3)]
    single = make_twins(0, singles=10)
    of_single = [
        replace(vote, problem_id=problem.id, choice=None if row == 3 else problem.answer)
        for row, problem in enumerate(single)
        for vote in responses[3 * row : 3 * row + 3]
    ]
    found = measure_human_accuracy(single, of_single)
    wilson = proportion_confint(9, 10, method="wilson")
    assert found.interval == pytest.approx(wilson)
    assert measure_human_accuracy(DATA, responses).interval[0] < wilson[0] - 0.1


def test_problems_with_too_few_subjects_are_omitted():
    data = Dataset([replace(DATA[0], answer=None), *DATA[1:]])
    responses = [*respond(0, [True] * 3), *respond(1, [True] * 2), *respond(2, [True] * 3)]
    found = measure_human_accuracy(data, responses)
    assert (found.problems, found.left_out) == (1, 2)
    assert measure_human_accuracy(data, responses, subjects=2).problems == 2


@pytest.mark.parametrize("figure", [measure_human_accuracy, measure_person_accuracy])
def test_validation_votes_are_refused(figure):
    """Validated problems are correct by construction."""
    votes = respond(0, [True] * 3, "validate") + respond(1, [True] * 3, "local")
    with pytest.raises(DataError, match="Validation votes are not used"):
        figure(DATA, votes)


@pytest.mark.parametrize("purpose", ["validate", "local", "test"])
def test_subjects_who_met_the_problem_before_are_refused(purpose):
    before = Response(DATA[0].id, "ann", purpose, 0)
    test = [Response(DATA[0].id, who, "test", 0) for who in ("ann", "bob", "cy")]
    for responses in ([before, *test], [*test, before]):
        for figure in (measure_human_accuracy, measure_person_accuracy):
            with pytest.raises(DataError, match=r"'ann' can't be a subject .* answered it before"):
                figure(DATA, responses)


def test_authors_are_refused_as_subjects():
    data = Dataset([replace(DATA[0], origin=Origin(author="test-0-1")), *DATA[1:]])
    with pytest.raises(DataError, match=r"'test-0-1' can't be a subject .* they wrote it"):
        measure_human_accuracy(data, respond(0, [True] * 3))


def test_responses_to_other_problems_are_ignored():
    other = Response("elsewhere", "ann", "test", 0)
    assert measure_human_accuracy(DATA, [other, *respond(0, [True] * 3)]).problems == 1


def test_each_answer_counts_once():
    said = [answer(0, "a", True), answer(2, "a", True), answer(0, "b", True), answer(2, "b", False),
            answer(0, "c", None), answer(2, "c", False)]  # fmt: skip
    found = measure_person_accuracy(TEN, said)
    assert (found.accuracy.right, found.accuracy.n) == (3, 6)
    assert (found.people, found.problems) == (3, 2)
    assert found.spread == pytest.approx(np.std([1, 0.5, 0], ddof=1))


def test_majority_is_more_accurate_than_its_members():
    said = [answer(row, f"{row % 2}{who}", who != row % 3) for row in range(20) for who in range(3)]
    assert measure_person_accuracy(TEN, said).accuracy.value == pytest.approx(2 / 3)
    assert measure_human_accuracy(TEN, said).accuracy == 1.0


def test_differences_between_people_widen_the_interval():
    asked = [(row, who) for row in range(0, 20, 2) for who in range(8)]
    said = [answer(row, f"p{who}", who % 2 == 0) for row, who in asked]
    mixed = [answer(row, f"p{who}", (who + row // 2) % 2 == 0) for row, who in asked]
    divided, even = (measure_person_accuracy(TEN, of) for of in (said, mixed))
    assert divided.accuracy.value == even.accuracy.value
    assert divided.accuracy.design_effect > 3 * even.accuracy.design_effect


ROOT = make_twins(1)[0]
FAMILY = Dataset(
    [
        ROOT,
        *(
            replace(ROOT, id=f"c{n}", sentence=f"{'well, ' * n}{ROOT.sentence}", answer=n % 2,
                    twin_id=None, lineage=Lineage(ROOT.id, ROOT.id))
            for n in range(1, 9)
        ),
    ]
)  # fmt: skip
DEPTHS = [None, *range(1, 9)]


def said(who: str, wrong: set[str], asked: Dataset = FAMILY) -> list[Response]:
    """Return a person's responses, incorrect for these problems."""
    return [Response(p.id, who, "test", (p.answer or 0) ^ (p.id in wrong)) for p in asked]


def test_annotator_with_errors_has_an_error_depth():
    """Errors at depths 3 and 8 have a mean of 5.5 and a first error of 3; guessing gives 4.5."""
    found = measure_annotators(FAMILY, [*said("anna", {"c3", "c8"}), *said("ben", set())], DEPTHS)
    anna, ben = found.people
    assert (anna.participant, anna.errors, anna.mean, anna.first) == ("anna", 2, 5.5, 3.0)
    assert anna.coin == 4.5
    assert (ben.accuracy.value, ben.errors, ben.mean, ben.first) == (1.0, 0, None, None)
    assert found.accuracy == pytest.approx((7 / 9 + 1) / 2)


def test_an_error_on_the_root_has_no_depth():
    """The root counts only for the accuracy."""
    (anna,) = measure_annotators(FAMILY, said("anna", {ROOT.id}), DEPTHS).people
    assert (anna.accuracy.right, anna.accuracy.n, anna.errors, anna.mean) == (8, 9, 0, None)


def test_agreement_is_that_of_the_table_of_choices():
    people = [said("a", {"c1"}), said("b", {"c1", "c2"}), said("c", set())]
    found = measure_annotators(FAMILY, [response for one in people for response in one], DEPTHS)
    table = [[sum(one[row].choice == c for one in people) for c in (0, 1)] for row in range(9)]
    assert found.kappa.value == pytest.approx(fleiss_kappa(table).value)
    assert found.alpha.value == pytest.approx(krippendorff_alpha(table).value)
    assert found.kappa.items == found.alpha.items == 9


def test_kappa_omits_problems_with_fewer_answers():
    responses = [r for who in "abc" for r in said(who, {"c1"} if who == "a" else set())]
    responses = [r for r in responses if (r.participant, r.problem_id) != ("c", "c5")]
    found = measure_annotators(FAMILY, responses)
    assert (found.kappa.items, found.kappa.answers) == (8, 24)
    assert (found.alpha.items, found.alpha.answers) == (9, 26)


def test_choosing_no_option_counts_as_an_answer():
    """Two people who find a problem ambiguous agree on it, and both are incorrect."""
    responses = [r for who in "ab" for r in said(who, set())]
    responses = [replace(r, choice=None) if r.problem_id == "c4" else r for r in responses]
    found = measure_annotators(FAMILY, responses, DEPTHS)
    assert found.alpha.value == 1.0
    assert [person.mean for person in found.people] == [4.0, 4.0]


def test_agreement_of_one_annotator_is_none_with_a_reason():
    found = measure_annotators(FAMILY, said("anna", set()))
    assert found.kappa.reason == found.alpha.reason == "no item has two answers or more"
    assert found.record()["kappa"]["value"] is None


def test_unsuitable_responses_and_depths_are_refused():
    votes = [replace(response, purpose="validate") for response in said("anna", set())]
    with pytest.raises(DataError, match="no test response is for a problem that has an answer"):
        measure_annotators(FAMILY, votes)
    with pytest.raises(DataError, match="'anna' can't be a subject"):
        measure_annotators(FAMILY, [*votes, *said("anna", set())])
    with pytest.raises(DataError, match="there are 1 depths for 9 problems"):
        measure_annotators(FAMILY, said("anna", set()), [1])
