"""What a human test gave: by subject, by item, and over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.humans._answers_subjects import Remark, Subject
from winosmith.humans._results_order import Pace, paces
from winosmith.humans._results_rows import ItemRow
from winosmith.humans._results_test import TestResult, result_of_test
from winosmith.problem import Problem

__all__ = ["Halves", "Results", "results"]


@dataclass(frozen=True, slots=True)
class Halves:
    """Schemas whose both halves were answered, by different people.

    Attributes:
        levels: ((right, of) of the better half, of the other) → schemas, the best first.
        schemas: how many there are.
    """

    levels: Mapping[tuple[tuple[int, int], tuple[int, int]], int]
    schemas: int

    def record(self) -> list[dict[str, Any]]:
        """Return it as JSON can hold it."""
        return [
            {"right": [a[0], b[0]], "of": [a[1], b[1]], "schemas": n}
            for (a, b), n in self.levels.items()
        ]


@dataclass(frozen=True)
class Results:
    """All tests of a round.

    Attributes:
        tests: each on its own, in order of their names.
        halves: how both halves of the schemas did.
        pace: the time of each subject a question, over all tests; empty without times.
        recognised, words: subject and what they said about texts and words.
        subjects: how many took at least one test.
    """

    tests: tuple[TestResult, ...]
    halves: Halves
    pace: Sequence[Pace]
    recognised: tuple[tuple[str, Remark], ...]
    words: tuple[tuple[str, Remark], ...]
    subjects: int

    @property
    def right(self) -> int:
        """Intended answers over all tests."""
        return int(sum(test.share.right for test in self.tests))

    @property
    def answers(self) -> int:
        """Questions asked over all tests, times the people who were asked."""
        return sum(test.share.n for test in self.tests)

    @property
    def flagged(self) -> tuple[ItemRow, ...]:
        """The badly built items of all tests: fewer than half gave the intended answer."""
        return tuple(item for test in self.tests for item in test.items if item.flagged)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "subjects": self.subjects,
            "right": self.right,
            "answers": self.answers,
            "tests": [test.record() for test in self.tests],
            "halves": self.halves.record(),
            "pace": [pace.record() for pace in self.pace],
            "recognised": [_remark(who, remark) for who, remark in self.recognised],
            "words": [_remark(who, remark) for who, remark in self.words],
        }


def _remark(who: str, remark: Remark) -> dict[str, Any]:
    return {"subject": who, "problem": remark.problem, "text": remark.text}


def results(
    dataset: Dataset,
    responses: Sequence[Response],
    subjects: Iterable[Subject] = (),
    *,
    weakest: int = 3,
    seed: int = 0,
) -> Results:
    """Return the results of human tests.

    A test is the sheets of one name ("a", "b", "common"), as the subjects' records tell; problems
    answered outside any known sheet form one more test, "all", in the order of the answers. A
    question that was asked and left empty counts as not right.

    Args:
        dataset: the problems with their answers.
        responses: those with the purpose "test" count.
        subjects: what is known of them; may be empty.
        weakest: how many of the lowest scores are left out in the second reading.
        seed: of bootstraps and permutations.

    Raises:
        DataError: no test response; an unknown problem, option, or subject; an answer given twice;
            a problem without an answer; somebody who saw both halves of a schema.
    """
    said = [response for response in responses if response.purpose == "test"]
    if not said:
        raise DataError("there are no test responses; `winosmith humans enter` makes them")
    people = {subject.code: subject for subject in subjects}
    given = _given(dataset, said)
    _check_halves(dataset, given)
    if people:
        stranger = next((r.participant for r in said if r.participant not in people), None)
        if stranger is not None:
            raise DataError(
                f"{stranger!r} has answers, but is not among the {len(people)} subjects"
            )
    asked = _asked(given, people)
    for problem in {p for sheets in asked.values() for each in sheets.values() for p in each}:
        _judged(dataset, problem)
    tests = tuple(
        result_of_test(dataset, name, sheets, given, people, weakest, seed)
        for name, sheets in sorted(asked.items())
    )
    return Results(
        tests,
        _halves(dataset, tests),
        paces(_times(given, people, asked)),
        tuple((who, remark) for who, subject in people.items() for remark in subject.recognised),
        tuple((who, remark) for who, subject in people.items() for remark in subject.words),
        len({who for sheets in asked.values() for who in sheets}),
    )


Given = dict[str, dict[str, Response]]
"""Subject → problem → response."""


def _given(dataset: Dataset, said: Iterable[Response]) -> Given:
    given: Given = {}
    for response in said:
        problem = _judged(dataset, response.problem_id)
        if response.choice is not None and response.choice >= len(problem.options):
            raise DataError(
                f"{response.participant!r} chose option {response.choice + 1} of {problem.id!r}, "
                f"which has {len(problem.options)}"
            )
        mine = given.setdefault(response.participant, {})
        if problem.id in mine:
            raise DataError(
                f"{response.participant!r} answered {problem.id!r} twice; it was entered twice, or "
                "two subjects have one code"
            )
        mine[problem.id] = response
    return given


def _judged(dataset: Dataset, problem_id: str) -> Problem:
    problem = dataset[dataset.row(problem_id)]
    if problem.answer is None:
        raise DataError(f"{problem_id!r} has no answer, so no response to it can be judged")
    return problem


def _check_halves(dataset: Dataset, given: Given) -> None:
    for first, second in dataset.twins:
        ids = dataset[first].id, dataset[second].id
        for who, mine in given.items():
            if ids[0] in mine and ids[1] in mine:
                raise DataError(
                    f"{who!r} answered both halves of a schema ({ids[0]!r} and {ids[1]!r}); the "
                    "half that was seen first influences the other, so leave one out"
                )


def _asked(given: Given, people: Mapping[str, Subject]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return test → subject → the problems in the order in which they were asked."""
    asked: dict[str, dict[str, tuple[str, ...]]] = {}
    for who, mine in given.items():
        left = dict.fromkeys(mine)
        for taken in people[who].taken if who in people else ():
            sheets = asked.setdefault(taken.test, {})
            sheets[who] = sheets.get(who, ()) + taken.problems
            for problem in taken.problems:
                left.pop(problem, None)
        if left:
            asked.setdefault("all", {})[who] = tuple(left)
    return asked


def _halves(dataset: Dataset, tests: Sequence[TestResult]) -> Halves:
    """Return how often both halves were right, over the people of all tests."""
    counts: dict[int, tuple[int, int]] = {}
    for item in (item for test in tests for item in test.items):
        right, of = counts.get(item.row, (0, 0))
        counts[item.row] = right + item.right, of + item.asked
    levels: Counter[tuple[tuple[int, int], tuple[int, int]]] = Counter()
    for first, second in dataset.twins:
        if first in counts and second in counts:
            pair = sorted((counts[first], counts[second]), key=lambda c: (-c[0] / c[1], -c[1]))
            levels[pair[0], pair[1]] += 1
    best = sorted(levels.items(), key=lambda entry: [-right / of for right, of in entry[0]])
    return Halves(dict(best), sum(levels.values()))


def _times(
    given: Given,
    people: Mapping[str, Subject],
    asked: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[float, int]]:
    """Return subject → seconds and questions, of those who were timed."""
    found: dict[str, tuple[float, int]] = {}
    for who, mine in given.items():
        total = people[who].seconds if who in people else None
        if total is not None:
            found[who] = total, sum(len(sheets.get(who, ())) for sheets in asked.values())
            continue
        each = [r.seconds for r in mine.values() if r.seconds is not None]
        if each and len(each) == len(mine):
            found[who] = float(np.sum(each)), len(each)
    return found
