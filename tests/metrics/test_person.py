"""A single person's accuracy, from fresh people only."""

from __future__ import annotations

import numpy as np
import pytest

from winosmith import Response
from winosmith.errors import DataError
from winosmith.metrics import human_accuracy, person_accuracy
from winosmith.testing import made_twins

DATA = made_twins(10)


def answer(row: int, who: str, right: bool | None, purpose: str = "test") -> Response:
    """Return the response of one person."""
    choice = None if right is None else (DATA[row].answer or 0) ^ (not right)
    return Response(DATA[row].id, who, purpose, choice)  # type: ignore[arg-type]


def test_each_answer_counts_once() -> None:
    """Three people with two, one and no right answers of two have 3 of 6; silence is wrong."""
    said = [answer(0, "a", True), answer(2, "a", True), answer(0, "b", True), answer(2, "b", False),
            answer(0, "c", None), answer(2, "c", False)]  # fmt: skip
    found = person_accuracy(DATA, said)
    assert (found.accuracy.right, found.accuracy.n) == (3, 6)
    assert (found.people, found.problems) == (3, 2)
    assert found.spread == pytest.approx(np.std([1, 0.5, 0], ddof=1))


def test_the_majority_does_better_than_its_people() -> None:
    """Of people who err apart, the majority of three is right more often than one of them."""
    said = [answer(row, f"{row % 2}{who}", who != row % 3) for row in range(20) for who in range(3)]
    assert person_accuracy(DATA, said).accuracy.value == pytest.approx(2 / 3)
    assert human_accuracy(DATA, said).accuracy == 1.0


def test_people_who_differ_widen_the_interval() -> None:
    """With half of the people always right and half always wrong, the answers tell little."""
    said = [answer(row, f"p{who}", who % 2 == 0) for row in range(0, 20, 2) for who in range(8)]
    mixed = [
        answer(row, f"p{who}", (who + row // 2) % 2 == 0)
        for row in range(0, 20, 2)
        for who in range(8)
    ]
    divided, even = person_accuracy(DATA, said), person_accuracy(DATA, mixed)
    assert divided.accuracy.value == even.accuracy.value
    assert divided.accuracy.design_effect > 3 * even.accuracy.design_effect


def test_votes_that_validated_are_no_test() -> None:
    """Validators give no accuracy, and can't be subjects of what they validated."""
    with pytest.raises(DataError, match="votes that validated a problem can't serve"):
        person_accuracy(DATA, [answer(0, "a", True, "validate")])
    with pytest.raises(DataError, match="had answered it before"):
        person_accuracy(DATA, [answer(0, "a", True, "validate"), answer(0, "a", True)])
