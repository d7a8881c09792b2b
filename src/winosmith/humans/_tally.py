"""What people answered to each problem, counted: how many were right, and what most said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import MAX_OPTIONS

__all__ = ["Tally", "tally", "tally_of_counts"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the problems of a data set, in its order.

    Attributes:
        subjects: how many people answered each, (n,); "X" is an answer.
        intended: how many of them gave the answer that the data set holds, (n,).
        choices: how many chose each option, (n, 5); None where only `intended` is known.

    >>> counts = Tally(np.array([19]), np.array([18]))
    >>> counts.shares()
    array([0.94736842])
    """

    subjects: Ints
    intended: Ints
    choices: Ints | None = None

    def shares(self) -> npt.NDArray[np.float64]:
        """Return the share that gave the intended answer, (n,), 0–1; 0 where nobody answered."""
        return np.asarray(self.intended / np.maximum(self.subjects, 1))

    def majority(self, row: int) -> int | None:
        """Return the option that more people chose than any other; None for a tie or no counts."""
        if self.choices is None:
            return None
        first, second = np.sort(self.choices[row])[::-1][:2]
        return int(self.choices[row].argmax()) if first > second else None


def tally(dataset: Dataset, responses: Iterable[Response]) -> Tally:
    """Count the test responses to each problem.

    Raises:
        DataError: a response to a problem that the data set does not hold, a choice that is none
            of its options, or two responses of one person to one problem.
    """
    choices = np.zeros((len(dataset), MAX_OPTIONS), np.int64)
    subjects = np.zeros(len(dataset), np.int64)
    seen: set[tuple[str, str]] = set()
    for response in responses:
        if response.purpose != "test":
            continue
        row = dataset.row(response.problem_id)
        who = (response.problem_id, response.participant)
        if who in seen:
            raise DataError(f"{who[1]!r} answered {who[0]!r} twice; keep one of the answers")
        seen.add(who)
        subjects[row] += 1
        if response.choice is not None:
            if response.choice >= len(dataset[row].options):
                raise DataError(
                    f"{who[1]!r} chose option {response.choice + 1} of {who[0]!r}, which has "
                    f"{len(dataset[row].options)}"
                )
            choices[row, response.choice] += 1
    return Tally(subjects, _of_answers(choices, dataset.answers), choices)


def _of_answers(choices: Ints, answers: Sequence[int | None]) -> Ints:
    return np.array(
        [0 if answer is None else choices[row, answer] for row, answer in enumerate(answers)],
        np.int64,
    )


def tally_of_counts(dataset: Dataset) -> Tally | None:
    """Return the counts that the file itself holds (`pdp.agree`, `pdp.subjects`), if any does.

    The Pronoun Disambiguation Problems of 2016 say how many of 19 subjects gave the answer, not
    who they were nor what the others chose.
    """
    subjects = [problem.extra.get("pdp.subjects") for problem in dataset]
    agree = [problem.extra.get("pdp.agree") for problem in dataset]
    if not any(isinstance(count, int) for count in subjects):
        return None
    return Tally(_whole(subjects), _whole(agree))


def _whole(counts: Sequence[object]) -> Ints:
    return np.array([count if isinstance(count, int) else 0 for count in counts], np.int64)
