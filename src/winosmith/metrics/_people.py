"""How well people do: the majority of those who took a test, never of those who validated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics._intervals import wilson_interval

__all__ = ["HumanAccuracy", "human_accuracy"]


@dataclass(frozen=True, slots=True)
class HumanAccuracy:
    """The accuracy of the majority of subjects (WinoGrande, section 4.1: 94.1 dev, 94.0 test).

    Attributes:
        accuracy: the share of the problems counted on which the majority is right, 0–1.
        interval: its 95 % interval, by Wilson (1927).
        right: how many problems the majority got right.
        problems: how many were counted: those with an answer and enough subjects.
        left_out: how many had a response, but an answer withheld or too few subjects.
    """

    accuracy: float
    interval: tuple[float, float]
    right: int
    problems: int
    left_out: int


def human_accuracy(
    dataset: Dataset, responses: Iterable[Response], subjects: int = 3
) -> HumanAccuracy:
    """Return the accuracy of the majority vote of fresh people.

    Only responses with the purpose "test" are counted. Votes that validated a problem can't be:
    the problem was kept because they were right, so they would give 100 % by construction. More
    than half of a problem's subjects must choose the right option; a tie is wrong.

    Args:
        dataset: the problems with their answers.
        responses: of any purpose.
        subjects: how many distinct subjects a problem needs to be counted.

    Raises:
        DataError: no problem has enough test responses, or a subject is not fresh: they validated
            that problem, wrote it, or answered it twice.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "test", choice) for who, choice in zip("xyz", (1, 1, 0))]
    >>> human_accuracy(data, said).accuracy
    1.0
    """
    asked = fresh_tests(dataset, responses)
    counted = {
        row: said
        for row, said in asked.items()
        if len(said) >= subjects and dataset[row].answer is not None
    }
    if not counted:
        raise DataError(
            f"no problem has the test responses of {subjects} people or more; votes that validated "
            "a problem can't serve, because it was kept for their being right"
        )
    right = sum(
        2 * sum(response.choice == dataset[row].answer for response in said) > len(said)
        for row, said in counted.items()
    )
    return HumanAccuracy(
        right / len(counted),
        wilson_interval(right, len(counted)),
        right,
        len(counted),
        len(asked) - len(counted),
    )


def fresh_tests(dataset: Dataset, responses: Iterable[Response]) -> dict[int, list[Response]]:
    """Return the test responses to each row; raises DataError when a subject is not fresh."""
    asked: dict[int, list[Response]] = {}
    known: set[tuple[int, str]] = set()
    rows = {problem.id: row for row, problem in enumerate(dataset)}
    mine = [response for response in responses if response.problem_id in rows]
    for response in mine:
        if response.purpose != "test":
            known.add((rows[response.problem_id], response.participant))
    for response in mine:
        if response.purpose == "test":
            _check_fresh(response, dataset, rows[response.problem_id], known)
            asked.setdefault(rows[response.problem_id], []).append(response)
    return asked


def _check_fresh(
    response: Response, dataset: Dataset, row: int, known: set[tuple[int, str]]
) -> None:
    origin = dataset[row].origin
    who = (row, response.participant)
    wrote = origin is not None and origin.author == response.participant
    if wrote or who in known:
        what = "wrote it" if wrote else "had answered it before"
        raise DataError(
            f"{response.participant!r} can't be a subject for the problem "
            f"{response.problem_id!r}: they {what}; take the response out"
        )
    known.add(who)
