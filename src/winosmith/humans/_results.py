"""Compute the results of human tests: overall, by test, by subject and by item.

See Davis et al. (2016, section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from winosmith import metrics
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.humans import _subjects, _tally
from winosmith.humans._subjects import Groups, Remark, ResultsWithoutWeakest, Subject
from winosmith.humans._tally import Level, Pace
from winosmith.metrics import Proportion, Reliability
from winosmith.options import Seed, checked
from winosmith.problem import MAX_OPTIONS
from winosmith.report import percent, points, probability, to_fixed
from winosmith.response import Response
from winosmith.results import HIDDEN, Result, computed, shown

Sheets = Mapping[str, tuple[str, ...]]
"""The ids of the problems on each subject's sheet, in order."""
ResponsesBySubject = dict[str, dict[str, Response]]
"""The responses by subject and by problem id."""


def _make_halves_record(halves: Mapping[tuple[Level, Level], int]) -> list[dict[str, Any]]:
    return [
        {"right": [a[0], b[0]], "of": [a[1], b[1]], "schemas": n} for (a, b), n in halves.items()
    ]


def _make_remarks_record(remarks: Sequence[tuple[str, Remark]]) -> list[dict[str, Any]]:
    return [{"subject": code, "problem": note.problem, "text": note.text} for code, note in remarks]


@dataclass(frozen=True)
class Results(Result):
    """Results of all tests in a round.

    Attributes:
        tests: the results of each test, sorted by name.
        halves: (correct, asked) for the better half and for the other half → number of schemas, the
            best first; only schemas with answers to both halves (from different people).
        pace: each subject's time per question over all tests; empty if there are no times.
        recognised: subjects and their remarks about recognised texts.
        words: subjects and their remarks about words.
        subjects: number of subjects who took at least one test.
    """

    tests: tuple[TestResult, ...]
    halves: Mapping[tuple[Level, Level], int] = field(metadata={"json": _make_halves_record})
    pace: Sequence[Pace]
    recognised: tuple[tuple[str, Remark], ...] = field(metadata={"json": _make_remarks_record})
    words: tuple[tuple[str, Remark], ...] = field(metadata={"json": _make_remarks_record})
    subjects: int

    @property
    @computed()
    def right(self) -> int:
        """Number of intended answers in all tests."""
        return int(sum(test.accuracy.right for test in self.tests))

    @property
    @computed()
    def answers(self) -> int:
        """Number of answers in all tests, including empty answers."""
        return sum(test.accuracy.n for test in self.tests)

    @property
    def flagged_items(self) -> tuple[ItemRow, ...]:
        """The items for which fewer than half of the respondents gave the intended answer."""
        return tuple(item for test in self.tests for item in test.items if item.is_flagged)


@checked
def compute_results(
    dataset: Dataset,
    responses: Sequence[Response],
    subjects: Iterable[Subject] = (),
    *,
    weakest: Annotated[
        int, Field(ge=0, description="Number of lowest scores to omit in the second evaluation.")
    ] = 3,
    seed: Annotated[Seed, Field(description="Random seed for bootstraps and permutations.")] = 0,
) -> Results:
    """Return the results of human tests.

    The subjects' records state the test of each sheet ("a", "b", "common"). Answers without a known
    sheet form the test "all", in their given order. An empty answer counts as incorrect.

    Args:
        dataset: the problems with their answers.
        responses: the responses; only those with the purpose "test" are used.
        subjects: the subjects' records; may be empty.
        weakest: number of lowest scores to omit in the second evaluation.
        seed: random seed of bootstraps and permutations.

    Raises:
        DataError: there are no test responses; a problem, option or subject is unknown; an answer
            was given twice; a problem has no answer; or a subject saw both halves of a schema.
    """
    test_responses = [response for response in responses if response.purpose == "test"]
    if not test_responses:
        raise DataError("there are no test responses; `winosmith humans enter` creates them")
    people = {subject.code: subject for subject in subjects}
    _tally.tally(dataset, test_responses)  # checks the responses
    answered: ResponsesBySubject = {}
    for response in test_responses:
        answered.setdefault(response.participant, {})[response.problem_id] = response
    for first, second in dataset.twins:
        ids = dataset[first].id, dataset[second].id
        for who, own in answered.items():
            if ids[0] in own and ids[1] in own:
                raise DataError(
                    f"{who!r} answered both halves of a schema ({ids[0]!r} and {ids[1]!r}); the "
                    "first influences the second, so remove one answer"
                )
    if people and (strangers := answered.keys() - people.keys()):
        raise DataError(
            f"{min(strangers)!r} has answers, but is not among the {len(people)} subjects"
        )
    asked = _group_questions_by_test(answered, people)
    for problem in {p for sheets in asked.values() for each in sheets.values() for p in each}:
        if dataset[dataset.row(problem)].answer is None:
            raise DataError(f"{problem!r} has no answer, so responses to it can't be scored")
    tests = tuple(
        measure_test(dataset, name, sheets, answered, people, weakest, seed)
        for name, sheets in sorted(asked.items())
    )
    counts: dict[int, Level] = {}
    for item in (item for test in tests for item in test.items):
        correct, of = counts.get(item.row, (0, 0))
        counts[item.row] = correct + item.right, of + item.asked
    answered_twins = [pair for pair in dataset.twins if counts.keys() >= {*pair}]
    return Results(
        tests,
        _tally.make_pair_histogram((counts[one], counts[other]) for one, other in answered_twins),
        _tally.measure_paces(_measure_times(answered, people, asked)),
        tuple((who, remark) for who, subject in people.items() for remark in subject.recognised),
        tuple((who, remark) for who, subject in people.items() for remark in subject.words),
        len({who for sheets in asked.values() for who in sheets}),
    )


def _group_questions_by_test(
    answers: ResponsesBySubject, people: Mapping[str, Subject]
) -> dict[str, dict[str, tuple[str, ...]]]:
    tests: dict[str, dict[str, tuple[str, ...]]] = {}
    for who, mine in answers.items():
        left = dict.fromkeys(mine)
        for taken in people[who].taken if who in people else ():
            if not taken.problems:  # a site has erased all texts of the sheet
                continue
            sheets = tests.setdefault(taken.test, {})
            sheets[who] = tuple(dict.fromkeys((*sheets.get(who, ()), *taken.problems)))
            for problem in taken.problems:
                left.pop(problem, None)
        if left:
            tests.setdefault("all", {})[who] = tuple(left)
    return tests


def _measure_times(
    answers: ResponsesBySubject,
    people: Mapping[str, Subject],
    questions: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for who, mine in answers.items():
        total = people[who].seconds if who in people else None
        if total is not None:
            found[who] = total, sum(len(sheets.get(who, ())) for sheets in questions.values())
            continue
        each = [r.seconds for r in mine.values() if r.seconds is not None]
        if each and len(each) == len(mine):
            found[who] = float(np.sum(each)), len(each)
    return found


def _format_reliability(found: Reliability) -> str:
    if found.value is None or found.interval is None:
        return f"not defined: {found.reason}"
    low, high = (to_fixed(end, ".2f") for end in found.interval)
    return f"{to_fixed(found.value, '.2f')} ({low} to {high})"


_GROUPS: tuple[tuple[str, Callable[[Groups], str]], ...] = (
    (
        "native, others",
        lambda of: (
            f"{percent(of.means[0])}, {percent(of.means[1])} ({of.native} and {of.others} people)"
        ),
    ),
    (
        "  difference",
        lambda of: (
            f"{points(of.difference)} points; "
            + ("" if of.welch is None else f"Welch p {probability(of.welch)}, ")
            + f"permutation p {probability(of.permutation)}"
        ),
    ),
)


@dataclass(frozen=True)
class TestResult(Result):
    """Results of one test.

    Attributes:
        name: name of the test.
        people: a row for each subject, sorted by code.
        items: a row for each item, in the order of the data set.
        accuracy: fraction of intended answers, with an interval for new people and new items.
        deviation: standard deviation of the subjects' scores (n − 1 in the denominator); None for
            one subject.
        histogram: (subjects who were correct, subjects asked) → number of items, the best first.
        chance: expected results of guessing.
        groups: native speakers compared with other subjects; None if not declared.
        without_weakest: the results without the weakest subjects; None if too few remain.
        kappa: Fleiss' kappa of the answers; X counts as an answer.
        alpha: Krippendorff's alpha, which allows missing answers; X counts as an answer.
    """

    __test__ = False  # pytest: a result, not a test

    name: str
    people: tuple[SubjectRow, ...]
    items: tuple[ItemRow, ...]
    accuracy: Proportion = field(
        metadata={"key": "share"}
        | shown(
            "answers intended",
            lambda of: f"{percent(of.value)} ({of.in_words})",
            _tally.SHOWN_INTERVAL,
        )
    )
    deviation: float | None = field(metadata=shown("deviation of scores", percent))
    histogram: Mapping[Level, int] = field(
        metadata=shown(
            "items by intended answers", _tally.format_levels, json=_tally.make_levels_record
        )
    )
    chance: _tally.Chance = field(
        metadata=shown("guessing", lambda of: f"{percent(of.accuracy)}, {of.right:.1f} items")
    )
    groups: Groups | None = field(metadata=shown(*_GROUPS[0], *_GROUPS[1:]))
    without_weakest: ResultsWithoutWeakest | None = field(
        metadata={"key": "without"}
        | shown(
            "without the weakest",
            lambda of: f"{percent(of.mean)}, of {of.subjects} ({', '.join(of.omitted)} omitted)",
            ("  their items", lambda of: _tally.format_levels(of.histogram)),
            *((f"  {title}", lambda of, form=form: of.groups and form(of.groups))
              for title, form in _GROUPS),
        )
    )  # fmt: skip
    kappa: Reliability = field(metadata=shown("Fleiss' kappa", _format_reliability))
    alpha: Reliability = field(metadata=shown("Krippendorff's alpha", _format_reliability))

    @property
    @computed(**shown("above guessing (0–100 %)", percent))
    def above_chance(self) -> float:
        """The fraction of intended answers above chance, rescaled: 0 is chance, 1 is perfect."""
        return (self.accuracy.value - self.chance.accuracy) / (1 - self.chance.accuracy)

    @property
    @computed(key="same", **shown("most frequent answer", percent))
    def most_frequent_fraction(self) -> float:
        """The fraction of answers that equal the item's most frequent answer, 0–1."""
        return sum(item.most_frequent_count for item in self.items) / self.accuracy.n

    @property
    @computed(**shown("ambiguous (X)"))
    def ambiguous(self) -> int:
        """Number of answers marked X (ambiguous)."""
        return sum(item.ambiguous for item in self.items)


def measure_test(
    dataset: Dataset,
    name: str,
    sheets: Sheets,
    responses: Mapping[str, Mapping[str, Response]],
    subjects: Mapping[str, Subject],
    weakest: int,
    seed: int,
) -> TestResult:
    names = sorted(sheets, key=_make_sort_key)
    rows = sorted({dataset.row(problem) for problems in sheets.values() for problem in problems})
    together = metrics.find_clusters(dataset)[rows]
    column = {dataset[row].id: at for at, row in enumerate(rows)}
    right = np.full((len(names), len(rows)), np.nan)
    natives = [subjects[who].native if who in subjects else None for who in names]
    people = []
    for at, who in enumerate(names):
        given = [responses[who].get(problem) for problem in sheets[who]]
        for problem, said in zip(sheets[who], given, strict=True):
            where = column[problem]
            right[at, where] = said is not None and said.choice == dataset[rows[where]].answer
        left = [said for said in given if said is None or said.choice is None]
        ambiguous = sum(said is not None and said.ambiguous for said in left)
        score = int(np.nansum(right[at]))
        people.append(
            SubjectRow(who, score, len(given), ambiguous, len(left) - ambiguous, natives[at])
        )
    items = []
    table = np.zeros((len(rows), MAX_OPTIONS + 1), np.int64)
    for at, row in enumerate(rows):
        one = dataset[row]
        asked = [who for who, problems in sheets.items() if one.id in problems]
        answers = [said for who in asked if (said := responses[who].get(one.id)) is not None]
        chosen = Counter(said.choice for said in answers)
        choices = tuple(chosen[option] for option in range(len(one.options)))
        ambiguous = sum(said.choice is None and said.ambiguous for said in answers)
        table[at, : len(choices)], table[at, -1] = choices, ambiguous
        key = one.answer or 0
        items.append(ItemRow(row, one.id, one.options, key, choices, ambiguous, len(asked)))
    scores = np.nanmean(right, axis=1)
    return TestResult(
        name,
        tuple(people),
        tuple(items),
        _tally.measure_accuracy(right, together),
        float(scores.std(ddof=1)) if len(scores) > 1 else None,
        _tally.make_histogram((item.right, item.asked) for item in items),
        _tally.measure_chance(
            [len(item.options) for item in items], [item.asked for item in items]
        ),
        _subjects.compare_scores(scores, natives, seed),
        _subjects.omit_weakest(right, names, natives, weakest, seed),
        metrics.fleiss_kappa(table, clusters=together, seed=seed),
        metrics.krippendorff_alpha(table, clusters=together, seed=seed),
    )


def _make_sort_key(name: str) -> tuple[str, int, str]:
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if digits else -1, name


@dataclass(frozen=True, slots=True)
class SubjectRow(Result):
    """The result of one subject in one test.

    Attributes:
        subject: code of the subject.
        right: number of intended answers.
        asked: number of questions on the sheet.
        ambiguous: number of X answers.
        empty: number of empty answers.
        native: whether English is the subject's first language; None if not declared.
    """

    subject: str = field(metadata=shown("subject"))
    right: int = field(metadata=shown("right"))
    asked: int = field(metadata=shown("of"))
    ambiguous: int = field(metadata=shown("X"))
    empty: int = field(metadata=shown("empty"))
    native: bool | None = field(metadata=shown("native"))

    @property
    @computed(key="share", **shown("score", percent))
    def accuracy(self) -> float:
        """Fraction of intended answers, 0–1."""
        return self.right / self.asked


@dataclass(frozen=True, slots=True)
class ItemRow(Result):
    """The answers to one item.

    Attributes:
        row: row of the problem in the data set.
        problem: id of the problem.
        options: options of the problem.
        answer: index of the intended option.
        choices: for each option, the number of people who chose it.
        ambiguous: number of people who answered X.
        asked: number of people who were asked.
    """

    row: int = field(metadata=HIDDEN)
    problem: str = field(metadata=shown("item"))
    options: tuple[str, ...] = field(metadata=HIDDEN)
    answer: int = field(metadata=HIDDEN)
    choices: Sequence[int]
    ambiguous: int = field(metadata=shown("X"))
    asked: int = field(metadata=shown("of"))

    @property
    @computed(**shown("intended"))
    def right(self) -> int:
        """Number of people who gave the intended answer."""
        return self.choices[self.answer]

    @property
    @computed(key="same", **shown("same"))
    def most_frequent_count(self) -> int:
        """Number of people who gave the most frequent answer, which may be X."""
        return max(*self.choices, self.ambiguous)

    @property
    @computed(key="flagged", **shown("flawed", lambda flagged: "yes" if flagged else None))
    def is_flagged(self) -> bool:
        """Whether fewer than half gave the intended answer (Davis et al. 2016, section 4.2)."""
        return 2 * self.right < self.asked

    @property
    @computed(key="reading", **shown("people read", lambda reading: reading or None))
    def majority_reading(self) -> str:
        """The most frequent answer; "" if it is the intended one, "no answers" if there is none."""
        most = self.most_frequent_count
        if not most:
            return "no answers"
        tied = [at for at, number in enumerate(self.choices) if number == most]
        if tied == [self.answer] and self.ambiguous < most:
            return ""
        ambiguous = ["ambiguous (X)"] * (self.ambiguous == most)
        return " or ".join([*(self.options[at] for at in tied), *ambiguous])
