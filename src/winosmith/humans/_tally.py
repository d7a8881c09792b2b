"""Count people's answers, and measure the accuracy and the pace of subjects.

`check_grim` checks whether the printed scores of a test are possible and consistent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics import Proportion, crossed_proportion, find_possible_counts
from winosmith.problem import MAX_OPTIONS
from winosmith.report import percent_span
from winosmith.response import Response
from winosmith.results import Result, shown

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of people's answers to each problem of a data set.

    Attributes:
        subjects: number of people who answered each problem, (n,); "X" is counted as an answer.
        intended: number of people who gave the intended answer, (n,).
        choices: number of people who chose each option, (n, 5); None if unknown.

    >>> counts = Tally(np.array([19]), np.array([18]))
    >>> counts.compute_agreement()
    array([0.94736842])
    """

    subjects: Ints
    intended: Ints
    choices: Ints | None = None

    def compute_agreement(self) -> npt.NDArray[np.float64]:
        """Return the fraction of intended answers, (n,), 0–1; 0 if nobody answered."""
        return np.asarray(self.intended / np.maximum(self.subjects, 1))

    def find_majority(self, row: int) -> int | None:
        """Return the option chosen most often; None if tied or if the counts are unknown."""
        if self.choices is None:
            return None
        first, second = np.sort(self.choices[row])[::-1][:2]
        return int(self.choices[row].argmax()) if first > second else None


def tally(dataset: Dataset, responses: Iterable[Response]) -> Tally:
    """Count the test responses to each problem.

    Raises:
        DataError: a problem or an option is unknown, or a person answered a problem twice.
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
            raise DataError(
                f"{who[1]!r} answered {who[0]!r} twice; either the answer was entered twice, or "
                "two subjects have the same code"
            )
        seen.add(who)
        subjects[row] += 1
        if response.choice is not None:
            if response.choice >= len(dataset[row].options):
                raise DataError(
                    f"{who[1]!r} chose option {response.choice + 1} of {who[0]!r}, which has "
                    f"{len(dataset[row].options)} (options are numbered from 1 in CSV, and "
                    "from 0 in JSON Lines)"
                )
            choices[row, response.choice] += 1
    intended = [0 if a is None else choices[row, a] for row, a in enumerate(dataset.answers)]
    return Tally(subjects, np.array(intended, np.int64), choices)


def read_tally(dataset: Dataset) -> Tally | None:
    """Return the counts in the problems' `pdp.agree` and `pdp.subjects` fields; None if missing.

    The Pronoun Disambiguation Problems of 2016 state how many of 19 subjects were correct.
    """
    found = [[p.extra.get(f"pdp.{key}") for p in dataset] for key in ("subjects", "agree")]
    if not any(isinstance(count, int) for count in found[0]):
        return None
    whole = [[count if isinstance(count, int) else 0 for count in counts] for counts in found]
    return Tally(*np.array(whole, np.int64))


Level = tuple[int, int]
"""The number of people who gave the intended answer, and the number of people who were asked."""


def rank_level(level: Level) -> tuple[float, int]:
    right, of = level
    return -right / max(1, of), -of


def make_histogram(levels: Iterable[Level]) -> dict[Level, int]:
    """Return the number of items at each level, sorted from the best level to the worst.

    >>> make_histogram([(4, 4), (3, 4), (4, 4)])
    {(4, 4): 2, (3, 4): 1}
    """
    counted = Counter(levels)
    return {level: counted[level] for level in sorted(counted, key=rank_level)}


def make_pair_histogram(pairs: Iterable[tuple[Level, Level]]) -> dict[tuple[Level, Level], int]:
    """Count schemas by their pair of levels (better half, other half), the best pair first.

    >>> make_pair_histogram([((3, 4), (4, 4)), ((4, 4), (3, 4))])
    {((4, 4), (3, 4)): 2}
    """
    counted = Counter((min(pair, key=rank_level), max(pair, key=rank_level)) for pair in pairs)
    return {p: counted[p] for p in sorted(counted, key=lambda pair: [*map(rank_level, pair)])}


def make_levels_record(histogram: Mapping[Level, int]) -> list[dict[str, int]]:
    return [{"right": right, "of": of, "items": n} for (right, of), n in histogram.items()]


@dataclass(frozen=True, slots=True)
class Chance(Result):
    """Expected results of guessing.

    Attributes:
        options: number of options → number of problems.
        right: expected number of correctly guessed problems.
        accuracy: expected fraction of correct answers, 0–1.
    """

    options: dict[int, int]
    right: float
    accuracy: float = field(metadata={"key": "share"})


@dataclass(frozen=True, slots=True)
class AgreementSummary:
    """A summary of the counts of intended answers.

    Attributes:
        histogram: (people who were correct, people asked) → number of problems, the best first.
        by_options: number of options → (intended answers, answers).
        chance: expected results of guessing on the problems with answers.
        problems: number of problems with answers.
    """

    right: int
    answers: int
    histogram: dict[Level, int]
    by_options: dict[int, tuple[int, int]]
    chance: Chance
    problems: int

    @property
    def accuracy(self) -> float:
        return self.right / self.answers


def measure_chance(options: Sequence[int], answers: Sequence[int] | None = None) -> Chance:
    """Return the expected results of guessing on problems with given numbers of options.

    If `answers` is None, each problem has one answer.

    >>> found = measure_chance([2] * 74 + [3] * 27 + [4] * 4 + [5] * 3)  # Davis et al. 2016
    >>> round(found.right, 1), round(found.accuracy, 2)
    (47.6, 0.44)
    """
    sizes = dict(sorted(Counter(options).items()))
    asked = [1] * len(options) if answers is None else answers
    guessed = sum(Fraction(n, k) for k, n in zip(options, asked, strict=True))
    right = sum(Fraction(n, k) for k, n in sizes.items())
    return Chance(sizes, float(right), float(guessed / sum(asked)))


def summarize_agreement(dataset: Dataset, tally: Tally) -> AgreementSummary:
    """Summarize the counts of intended answers.

    Args:
        dataset: the problems.
        tally: counts of the answers, for example from `read_tally`.

    Raises:
        DataError: there are no answers, or more intended answers than answers.
    """
    pairs = [(int(r), int(n)) for r, n in zip(tally.intended, tally.subjects, strict=True)]
    asked = [row for row, (_, of) in enumerate(pairs) if of]
    if not asked:
        raise DataError("no problem has an answer")
    by_options: dict[int, tuple[int, int]] = {}
    for row in asked:
        right, of = pairs[row]
        if right > of:
            raise DataError(
                f"{dataset[row].id!r} has {right} intended answers, but only {of} answers in all"
            )
        size = len(dataset[row].options)
        before = by_options.get(size, (0, 0))
        by_options[size] = before[0] + right, before[1] + of
    return AgreementSummary(
        int(tally.intended[asked].sum()),
        int(tally.subjects.sum()),
        make_histogram(pairs[row] for row in asked),
        dict(sorted(by_options.items())),
        measure_chance(
            [len(dataset[row].options) for row in asked], [pairs[row][1] for row in asked]
        ),
        len(asked),
    )


def measure_accuracy(is_correct: Floats, problems: Ints | None = None) -> Proportion:
    """Return the fraction of correct answers, with an interval for new people and new items.

    Args:
        is_correct: 1 for correct, 0 for incorrect, NaN for not asked, (subjects, items).
        problems: cluster of each item (`metrics.find_clusters`); None if each item is a cluster.

    >>> table = np.ones((4, 50))
    >>> table[0, :10] = 0
    >>> found = measure_accuracy(table)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.95, [0.59, 1.0])
    """
    who, what = np.nonzero(~np.isnan(is_correct))
    together = what if problems is None else problems[what]
    return crossed_proportion(is_correct[who, what], who, together)


def format_levels(levels: Mapping[Level, int]) -> str:
    return "; ".join(f"{right} of {asked}: {items}" for (right, asked), items in levels.items())


SHOWN_INTERVAL = ("95 % interval", lambda of: percent_span(of.interval))
"""Column with the interval of an accuracy; see `results.shown`."""

_FAST, _SLOW = 0.5, 2.0
"""Multiples of the median time per question at which a subject is flagged. The one fast subject of
Davis et al. (2016, section 3) took 7.6 s, 0.42 of the 18.3 s that an hour allows."""


@dataclass(frozen=True, slots=True)
class Pace(Result):
    """The pace of a subject.

    Attributes:
        subject: code of the subject.
        seconds: mean seconds per question on all sheets.
        questions: number of questions.
        times_median: `seconds` divided by the median over subjects.
        flag: "fast" (at most half the median), "slow" (at least twice the median), or "".
    """

    subject: str = field(metadata=shown("subject"))
    seconds: float = field(metadata=shown("seconds", ".1f"))
    questions: int = field(metadata=shown("questions"))
    times_median: float = field(metadata=shown("times the median", ".2f"))
    flag: str = field(metadata={**shown("pace", lambda flag: flag or None), "key": "odd"})


def measure_paces(totals: Mapping[str, tuple[float, int]]) -> Sequence[Pace]:
    """Return the pace of each subject, the fastest first.

    Args:
        totals: total seconds and number of questions of each subject.

    >>> hour, half = (3600.0, 197), (25 * 60.0, 197)  # Davis et al. 2016, section 3
    >>> found = measure_paces({"a": hour, "b": hour, "c": half})
    >>> [(pace.subject, round(pace.seconds, 1), pace.flag) for pace in found]
    [('c', 7.6, 'fast'), ('a', 18.3, ''), ('b', 18.3, '')]
    """
    each = {who: seconds / questions for who, (seconds, questions) in totals.items() if questions}
    if not each:
        return ()
    median = float(np.median(list(each.values())))
    found = []
    for who, seconds in sorted(each.items(), key=lambda pair: (pair[1], pair[0])):
        times = seconds / median if median else 1.0
        flag = "fast" if times <= _FAST else "slow" if times >= _SLOW else ""
        found.append(Pace(who, seconds, totals[who][1], times, flag))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PrintedTest:
    """The printed results of a test, such as those of Davis et al. (2016, section 4).

    Attributes:
        items: number of problems.
        scores: subject → fraction of correct answers as printed, with trailing zeros ("0.80").
        histogram: number of problems by the number of subjects who answered them correctly.

    Raises:
        DataError: the histogram has the wrong number of problems, or too many subjects.

    >>> test = PrintedTest(2, {"S1": "1.00", "S2": "0.50"}, {2: 1, 1: 1})
    >>> test.subject_count, test.histogram_correct_count
    (2, 3)
    """

    items: int
    scores: Mapping[str, str]
    histogram: Mapping[int, int]

    def __post_init__(self) -> None:
        if sum(self.histogram.values()) != self.items:
            raise DataError(
                f"the histogram has {sum(self.histogram.values())} problems, not {self.items}"
            )
        if any(not 0 <= right <= self.subject_count for right in self.histogram):
            raise DataError(f"the histogram has more people than the {self.subject_count} subjects")

    @property
    def subject_count(self) -> int:
        """The number of subjects."""
        return len(self.scores)

    @property
    def histogram_correct_count(self) -> int:
        """The number of correct answers according to the histogram."""
        return sum(right * problems for right, problems in self.histogram.items())


@dataclass(frozen=True, slots=True)
class GrimResult:
    """The counts that are consistent with a test's printed scores.

    Attributes:
        possible: subject → counts that round to the score; empty if the score is impossible.
        other_roundings: subject with an impossible score → counts that give the score if truncated
            or rounded up.
        by_subject: minimum and maximum number of correct answers according to the scores.
        by_item: number of correct answers according to the histogram.
    """

    possible: Mapping[str, tuple[int, ...]]
    other_roundings: Mapping[str, tuple[int, ...]]
    by_subject: tuple[int, int]
    by_item: int

    @property
    def impossible_subjects(self) -> tuple[str, ...]:
        return tuple(who for who, counts in self.possible.items() if not counts)

    @property
    def is_consistent(self) -> bool:
        low, high = self.by_subject
        return not self.impossible_subjects and low <= self.by_item <= high

    def infer_count(self, subject: str) -> int | None:
        """Return the subject's number of correct answers for which both totals agree.

        Return None if another subject's score is impossible or ambiguous.
        """
        others = [counts for who, counts in self.possible.items() if who != subject]
        if any(len(counts) != 1 for counts in others):
            return None
        return self.by_item - sum(counts[0] for counts in others)


def check_grim(test: PrintedTest) -> GrimResult:
    """Return the counts that are consistent with each printed score.

    This is the GRIM test of Brown & Heathers (2017).

    >>> found = check_grim(PrintedTest(89, {"S16": "0.86"}, {1: 77, 0: 12}))
    >>> found.possible, found.other_roundings, found.infer_count("S16")
    ({'S16': ()}, {'S16': (76, 77)}, 77)
    """
    possible = {
        who: find_possible_counts(printed, test.items, scale=1)
        for who, printed in test.scores.items()
    }
    other_roundings = {
        who: find_possible_counts(test.scores[who], test.items, scale=1, rounding="any")
        for who, counts in possible.items()
        if not counts
    }
    read = [counts or other_roundings[who] or (0, test.items) for who, counts in possible.items()]
    sums = sum(min(counts) for counts in read), sum(max(counts) for counts in read)
    return GrimResult(possible, other_roundings, sums, test.histogram_correct_count)
