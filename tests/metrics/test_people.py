"""People's accuracy, of the majority and of each, is that of fresh people alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from winosmith import Dataset, Origin, Response, metrics
from winosmith.errors import DataError
from winosmith.metrics import measure_human_accuracy, measure_person_accuracy
from winosmith.testing import make_twins

DATA = make_twins(5)


def taken(row: int, right: Sequence[bool | None], purpose: Any = "test") -> list[Response]:
    """Return the responses of so many people to a problem: right, wrong or none."""
    answer = DATA.answers[row] or 0
    return [
        Response(
            DATA[row].id, f"{purpose}-{row}-{n}", purpose, None if r is None else answer ^ (not r)
        )
        for n, r in enumerate(right)
    ]


def test_the_majority_of_three_is_counted() -> None:
    """A problem is right when more than half of its subjects are; ties and silence are wrong."""
    responses = [
        *taken(0, [True, True, False]),
        *taken(1, [True, False, False]),
        *taken(2, [True, True, False, False]),
        *taken(3, [True, None, None]),
        *taken(4, [True, True, True]),
    ]
    found = metrics.measure_human_accuracy(DATA, responses)
    assert (found.right, found.problems, found.accuracy) == (2, 5, 0.4)


def test_the_interval_is_wilsons_and_knows_of_twins() -> None:
    """Of singles the 95 % interval is Wilson's, as statsmodels has it; of twins it is wider."""
    responses = [vote for row in range(10) for vote in taken(row, [row != 3] * 3)]
    single = make_twins(0, singles=10)
    of_single = [
        replace(vote, problem_id=problem.id, choice=None if row == 3 else problem.answer)
        for row, problem in enumerate(single)
        for vote in responses[3 * row : 3 * row + 3]
    ]
    found = metrics.measure_human_accuracy(single, of_single)
    wilson = proportion_confint(9, 10, method="wilson")
    assert found.interval == pytest.approx(wilson)
    assert metrics.measure_human_accuracy(DATA, responses).interval[0] < wilson[0] - 0.1


def test_problems_with_too_few_subjects_are_left_out_and_counted() -> None:
    """A problem with fewer subjects than asked for, or without an answer, is not counted."""
    data = Dataset([replace(DATA[0], answer=None), *DATA[1:]])
    responses = [*taken(0, [True] * 3), *taken(1, [True] * 2), *taken(2, [True] * 3)]
    found = metrics.measure_human_accuracy(data, responses)
    assert (found.problems, found.left_out) == (1, 2)
    assert metrics.measure_human_accuracy(data, responses, subjects=2).problems == 2


@pytest.mark.parametrize("figure", [measure_human_accuracy, measure_person_accuracy])
def test_votes_that_validated_are_no_human_test(figure: Any) -> None:
    """Votes for validation, right by construction, give no accuracy, with the reason."""
    votes = taken(0, [True] * 3, "validate") + taken(1, [True] * 3, "local")
    with pytest.raises(DataError, match="Validation votes are not used"):
        figure(DATA, votes)


@pytest.mark.parametrize("purpose", ["validate", "local", "test"])
def test_a_subject_has_not_met_the_problem_before(purpose: Any) -> None:
    """Whoever validated a problem, or answered it already, can't be its subject."""
    before = Response(DATA[0].id, "ann", purpose, 0)
    test = [Response(DATA[0].id, who, "test", 0) for who in ("ann", "bob", "cy")]
    for responses in ([before, *test], [*test, before]):
        for figure in (measure_human_accuracy, measure_person_accuracy):
            with pytest.raises(DataError, match=r"'ann' can't be a subject .* answered it before"):
                figure(DATA, responses)


def test_an_author_is_no_subject() -> None:
    """Whoever wrote a problem can't be its subject."""
    data = Dataset([replace(DATA[0], origin=Origin(author="test-0-1")), *DATA[1:]])
    with pytest.raises(DataError, match=r"'test-0-1' can't be a subject .* they wrote it"):
        metrics.measure_human_accuracy(data, taken(0, [True] * 3))


def test_responses_to_other_problems_do_not_matter() -> None:
    """A response to a problem that the data do not hold is not counted."""
    other = Response("elsewhere", "ann", "test", 0)
    assert metrics.measure_human_accuracy(DATA, [other, *taken(0, [True] * 3)]).problems == 1


TEN = make_twins(10)


def answer(row: int, who: str, right: bool | None, purpose: str = "test") -> Response:
    """Return the response of one person."""
    choice = None if right is None else (TEN[row].answer or 0) ^ (not right)
    return Response(TEN[row].id, who, purpose, choice)


def test_each_answer_counts_once() -> None:
    """Three people with two, one and no right answers of two have 3 of 6; silence is wrong."""
    said = [answer(0, "a", True), answer(2, "a", True), answer(0, "b", True), answer(2, "b", False),
            answer(0, "c", None), answer(2, "c", False)]  # fmt: skip
    found = measure_person_accuracy(TEN, said)
    assert (found.accuracy.right, found.accuracy.n) == (3, 6)
    assert (found.people, found.problems) == (3, 2)
    assert found.spread == pytest.approx(np.std([1, 0.5, 0], ddof=1))


def test_the_majority_does_better_than_its_people() -> None:
    """Of people who err apart, the majority of three is right more often than one of them."""
    said = [answer(row, f"{row % 2}{who}", who != row % 3) for row in range(20) for who in range(3)]
    assert measure_person_accuracy(TEN, said).accuracy.value == pytest.approx(2 / 3)
    assert measure_human_accuracy(TEN, said).accuracy == 1.0


def test_people_who_differ_widen_the_interval() -> None:
    """With half of the people always right and half always wrong, the answers tell little."""
    said = [answer(row, f"p{who}", who % 2 == 0) for row in range(0, 20, 2) for who in range(8)]
    mixed = [
        answer(row, f"p{who}", (who + row // 2) % 2 == 0)
        for row in range(0, 20, 2)
        for who in range(8)
    ]
    divided, even = measure_person_accuracy(TEN, said), measure_person_accuracy(TEN, mixed)
    assert divided.accuracy.value == even.accuracy.value
    assert divided.accuracy.design_effect > 3 * even.accuracy.design_effect
