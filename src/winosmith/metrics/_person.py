"""How well one person does: the share of single answers that are right, from fresh people only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics._graded import clusters
from winosmith.metrics._intervals import Proportion, crossed_proportion
from winosmith.metrics._people import fresh_tests

__all__ = ["PersonAccuracy", "person_accuracy"]


@dataclass(frozen=True, slots=True)
class PersonAccuracy:
    """The accuracy of single people.

    Attributes:
        accuracy: the share of test responses that are right; its interval knows that a person's
            answers go together, and so do the answers to a twin.
        people: how many distinct subjects there are.
        problems: how many problems they answered.
        spread: the standard deviation of the subjects' own accuracies (n − 1), 0–1; None for one.
    """

    accuracy: Proportion
    people: int
    problems: int
    spread: float | None


def person_accuracy(dataset: Dataset, responses: Iterable[Response]) -> PersonAccuracy:
    """Return how well a single person does, beside `human_accuracy` by the majority of three.

    Only responses with the purpose "test" are counted, and a response without a choice is wrong.
    The majority's accuracy is higher than this; a model that answers once is fairly compared with
    a single person. Cases are clustered two ways, by people and by problems that go together.

    Args:
        dataset: the problems with their answers.
        responses: of any purpose.

    Raises:
        DataError: no test response to a problem with an answer, or a subject is not fresh: they
            validated that problem, wrote it, or answered it twice.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "test", choice) for who, choice in zip("wxyz", (1, 1, 1, 0))]
    >>> person_accuracy(data, said).accuracy.value
    0.75
    """
    found = [
        (row, response.participant, response.choice == dataset[row].answer)
        for row, said in fresh_tests(dataset, responses).items()
        for response in said
        if dataset[row].answer is not None
    ]
    if not found:
        raise DataError(
            "there is no test response; votes that validated a problem can't serve, because it was "
            "kept for their being right"
        )
    rows, people, right = zip(*found, strict=True)
    by_problem = clusters(dataset)[list(rows)]
    person = np.unique(people, return_inverse=True)[1]
    own = np.bincount(person, right) / np.bincount(person)
    return PersonAccuracy(
        crossed_proportion(right, by_problem, person),
        len(own),
        len(set(rows)),
        float(own.std(ddof=1)) if len(own) > 1 else None,
    )
