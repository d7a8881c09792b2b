"""Counts of people's answers to each problem, and changes over a sheet.

Counts need no subjects. With subjects: do people get better or worse, faster or slower, over a
sheet? Who was unusually fast? `check_grim` returns the counts that the printed scores of a test are
possible for, and whether they add up.
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
from winosmith.metrics import Proportion, crossed_proportion, possible_counts
from winosmith.problem import MAX_OPTIONS
from winosmith.response import Response
from winosmith.results import Result, shown

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the problems of a data set, in its order.

    Attributes:
        subjects: how many people answered each, (n,); "X" is an answer.
        intended: how many of them gave the answer that the data set holds, (n,).
        choices: how many chose each option, (n, 5); None if only `intended` is known.

    >>> counts = Tally(np.array([19]), np.array([18]))
    >>> counts.shares()
    array([0.94736842])
    """

    subjects: Ints
    intended: Ints
    choices: Ints | None = None

    def shares(self) -> npt.NDArray[np.float64]:
        """Return the share that gave the intended answer, (n,), 0–1; 0 if nobody answered."""
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
            raise DataError(
                f"{who[1]!r} answered {who[0]!r} twice; it was entered twice, or two subjects have "
                "one code"
            )
        seen.add(who)
        subjects[row] += 1
        if response.choice is not None:
            if response.choice >= len(dataset[row].options):
                raise DataError(
                    f"{who[1]!r} chose option {response.choice + 1} of {who[0]!r}, which has "
                    f"{len(dataset[row].options)}"
                )
            choices[row, response.choice] += 1
    intended = [0 if a is None else choices[row, a] for row, a in enumerate(dataset.answers)]
    return Tally(subjects, np.array(intended, np.int64), choices)


def read_tally(dataset: Dataset) -> Tally | None:
    """Return the counts that the file itself holds (`pdp.agree`, `pdp.subjects`), if any does.

    The Pronoun Disambiguation Problems of 2016 say how many of 19 subjects gave the answer, not
    who they were nor what the others chose.
    """
    found = [[p.extra.get(f"pdp.{of}") for p in dataset] for of in ("subjects", "agree")]
    if not any(isinstance(count, int) for count in found[0]):
        return None
    whole = [[count if isinstance(count, int) else 0 for count in counts] for counts in found]
    return Tally(*np.array(whole, np.int64))


Level = tuple[int, int]
"""How many people gave the intended answer, and how many were asked."""


def rank_level(level: Level) -> tuple[float, int]:
    """Sort larger shares before smaller ones, and of equal ones that of more people first."""
    right, of = level
    return -right / max(1, of), -of


def make_histogram(levels: Iterable[Level]) -> dict[Level, int]:
    """Return how many items have each level, the best level first.

    >>> make_histogram([(4, 4), (3, 4), (4, 4)])
    {(4, 4): 2, (3, 4): 1}
    """
    counted = Counter(levels)
    return {level: counted[level] for level in sorted(counted, key=rank_level)}


def make_pair_histogram(pairs: Iterable[tuple[Level, Level]]) -> dict[tuple[Level, Level], int]:
    """Return how many schemas have each pair of levels, of the better half first; the best first.

    >>> make_pair_histogram([((3, 4), (4, 4)), ((4, 4), (3, 4))])
    {((4, 4), (3, 4)): 2}
    """
    counted = Counter((min(pair, key=rank_level), max(pair, key=rank_level)) for pair in pairs)
    return {p: counted[p] for p in sorted(counted, key=lambda pair: [*map(rank_level, pair)])}


def make_levels_record(histogram: Mapping[Level, int]) -> list[dict[str, int]]:
    """Return a histogram of levels as JSON can hold it."""
    return [{"right": right, "of": of, "items": n} for (right, of), n in histogram.items()]


@dataclass(frozen=True, slots=True)
class Chance(Result):
    """What guessing gives.

    Attributes:
        options: number of options → how many problems.
        right: how many problems guessing gets right on average.
        share: the fraction of the answers that it gets right, 0–1.
    """

    options: dict[int, int]
    right: float
    share: float


@dataclass(frozen=True, slots=True)
class Counts:
    """How many people gave the intended answer, problem by problem.

    Attributes:
        right, answers: over all problems.
        histogram: (people who were right, people asked) → problems, the most agreed on first.
        by_options: number of options → (right answers, answers).
        chance: of the problems that were asked.
        problems: how many were asked.
    """

    right: int
    answers: int
    histogram: dict[Level, int]
    by_options: dict[int, tuple[int, int]]
    chance: Chance
    problems: int

    @property
    def share(self) -> float:
        """The fraction of answers that were the intended one, 0–1."""
        return self.right / self.answers


def measure_chance(options: Sequence[int], answers: Sequence[int] | None = None) -> Chance:
    """Return what guessing gives on problems with these numbers of options.

    Args:
        options: options of each problem.
        answers: how many each has, one or more in all; as many as any other without.

    >>> found = measure_chance([2] * 74 + [3] * 27 + [4] * 4 + [5] * 3)  # Davis et al. 2016
    >>> round(found.right, 1), round(found.share, 2)
    (47.6, 0.44)
    """
    sizes = dict(sorted(Counter(options).items()))
    asked = [1] * len(options) if answers is None else answers
    guessed = sum(Fraction(n, k) for k, n in zip(options, asked, strict=True))
    right = sum(Fraction(n, k) for k, n in sizes.items())
    return Chance(sizes, float(right), float(guessed / sum(asked)))


def count_agreement(dataset: Dataset, tally: Tally) -> Counts:
    """Return a summary of the counts of right answers.

    Args:
        dataset: the problems.
        tally: people asked and people right, as `read_tally` reads them from the file.

    Raises:
        DataError: nobody was asked anything, or more were right than asked.
    """
    pairs = [(int(r), int(n)) for r, n in zip(tally.intended, tally.subjects, strict=True)]
    asked = [row for row, (_, of) in enumerate(pairs) if of]
    if not asked:
        raise DataError("no problem has an answer")
    by_options: dict[int, tuple[int, int]] = {}
    for row in asked:
        right, of = pairs[row]
        if right > of:
            raise DataError(f"{dataset[row].id!r}: {right} of {of} people can't have been right")
        size = len(dataset[row].options)
        before = by_options.get(size, (0, 0))
        by_options[size] = before[0] + right, before[1] + of
    return Counts(
        int(tally.intended[asked].sum()),
        int(tally.subjects.sum()),
        make_histogram(pairs[row] for row in asked),
        dict(sorted(by_options.items())),
        measure_chance(
            [len(dataset[row].options) for row in asked], [pairs[row][1] for row in asked]
        ),
        len(asked),
    )


def measure_crossed_share(right: Floats, problems: Ints | None = None) -> Proportion:
    """Return the fraction of answers that are right, for other people and other items.

    Args:
        right: 1 and 0, NaN for what was not asked, (subjects, items).
        problems: which items go together (`metrics.clusters`), (items,); none without.

    >>> table = np.ones((4, 50))
    >>> table[0, :10] = 0
    >>> found = measure_crossed_share(table)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.95, [0.59, 1.0])
    """
    who, what = np.nonzero(~np.isnan(right))
    together = what if problems is None else problems[what]
    return crossed_proportion(right[who, what], who, together)


_PARTS = 8
"""Into how many parts of equal length a sheet is cut for the drawing."""

_FAST, _SLOW = 0.5, 2.0
"""Times of the median pace at which a subject stands out. The one speedy subject of Davis et al.
(2016, section 3) took 7.6 s a question where an hour makes 18.3: 0.42 of it."""


@dataclass(frozen=True, slots=True)
class Slope(Result):
    """How much something changes from the first question to the last.

    Attributes:
        change: from the first question to the last: the mean over subjects of each one's own
            least-squares line; with items set aside, the one least-squares slope of all answers
            next to a level of each subject and of each item.
        interval: its 95 % interval, by Student's t over subjects; None for fewer than two, and for
            fewer than `FEWEST` with items set aside.
        subjects: how many have a part in it.
    """

    change: float
    interval: tuple[float, float] | None
    subjects: int


@dataclass(frozen=True, slots=True)
class Part(Result):
    """A part of a sheet.

    Attributes:
        first, last: its questions.
        share: the fraction right.
        seconds: the median time of a question; None if nothing was timed.
    """

    first: int
    last: int
    share: Proportion = field(metadata={"json": "flat"})
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Course(Result):
    """One test from its first question to its last.

    Attributes:
        parts: the parts of the sheet, in order.
        right: the change of the fraction right, items set aside if `items_set_aside`.
        seconds: the change of the seconds, likewise; None without times.
        items_set_aside: whether each answer was compared with the others' on the same item. That
            needs at least two orders of the items; with one order, place and item can't be
            distinguished.
    """

    parts: tuple[Part, ...]
    right: Slope | None
    seconds: Slope | None
    items_set_aside: bool


def measure_course(
    right: Floats, places: Ints, seconds: Floats, length: int, problems: Ints | None = None
) -> Course | None:
    """Return how a test went from start to end; None for fewer than two questions.

    Args:
        right: 1 and 0, NaN for no answer, (subjects, items).
        places: the number of each item on the subject's sheet, from 1; 0 if it was not asked.
        seconds: for each answer, NaN if it was not timed.
        length: length of the sheet, in questions.
        problems: see `measure_crossed_share`.
    """
    there = ~np.isnan(right) & (places > 0)
    if length < 2 or not there.any():
        return None
    last = places.max(axis=0, where=there, initial=0)
    adjusted = bool((places.min(axis=0, where=there, initial=length) < last).any())
    along, line = (places - 1) / (length - 1), _fit_slope_within_levels if adjusted else _fit_slope
    edges = np.linspace(0, length, min(_PARTS, length) + 1).round().astype(int)
    parts = []
    for first, last in zip(edges[:-1] + 1, edges[1:], strict=True):
        here = there & (places >= first) & (places <= last)
        if here.any():
            part = np.where(here, right, np.nan)
            timed = seconds[here & ~np.isnan(seconds)]
            median = float(np.median(timed)) if len(timed) else None
            parts.append(Part(int(first), int(last), measure_crossed_share(part, problems), median))
    change, slower = line(right, along, there), line(seconds, along, there)
    return Course(tuple(parts), change, slower, adjusted)


FEWEST = 5
"""Number of subjects that an interval needs if items are set aside."""

_PASSES, _SETTLED = 1_000, 1e-10


def _fit_slope_within_levels(
    values: Floats, along: Floats, there: npt.NDArray[np.bool_]
) -> Slope | None:
    """Return the slope of all answers next to a level of each subject and item; None without one.

    To take the others' mean off each answer is not enough: they had the item at places of their
    own, and with few orders these go with one's own. Of a true fall 58 to 78 hundredths are left
    with two to five orders. The variance is clustered by subjects, with the corrections for few of
    them and for the levels (Cameron & Miller 2015, equation 12), and never below that of answers
    that are independent next to their levels: few subjects can seem to agree.
    """
    from scipy.stats import t

    known = there & ~np.isnan(values)
    x = _center_by_level(along, known)
    of_each = (x**2).sum(axis=1)
    whole, subjects = float(of_each.sum()), int((of_each > _SETTLED).sum())
    if whole < _SETTLED:
        return None
    y = _center_by_level(values, known)
    change = float((x * y).sum() / whole)
    answers, levels = int(known.sum()), int(known.any(axis=0).sum() + known.any(axis=1).sum())
    free = answers - levels
    if subjects < FEWEST or free < 1:
        return Slope(change, None, subjects)
    left = y - change * x
    alone = float((left**2).sum()) / free / whole
    few = subjects / (subjects - 1) * (answers - 1) / free
    together = few * float(((x * left).sum(axis=1) ** 2).sum()) / whole**2
    half = max(
        float(t.ppf(0.975, freedom) * np.sqrt(variance))
        for freedom, variance in ((free, alone), (subjects - 1, together))
    )
    return Slope(change, (change - half, change + half), subjects)


def _center_by_level(values: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    """Return values without the level of each row and of each column, 0 if they are not known.

    Means are taken off in turn until nothing is left of them, which is the least-squares fit (as in
    Guimarães & Portugal 2010); in a full table two passes do.
    """
    left = np.where(known, values, 0.0)
    counts = [np.maximum(known.sum(axis=axis, keepdims=True), 1) for axis in (1, 0)]
    for _ in range(_PASSES):
        most = 0.0
        for axis, count in zip((1, 0), counts, strict=True):
            level = left.sum(axis=axis, keepdims=True) / count
            left = np.where(known, left - level, 0.0)
            most = max(most, float(np.abs(level).max()))
        if most < _SETTLED:
            break
    return left


def _fit_slope(values: Floats, along: Floats, there: npt.NDArray[np.bool_]) -> Slope | None:
    from scipy.stats import t

    lines = []
    for value, at, known in zip(values, along, there & ~np.isnan(values), strict=True):
        x, y = at[known], value[known]
        if len(np.unique(x)) > 1:
            centred = x - x.mean()
            lines.append(float(centred @ (y - y.mean()) / (centred @ centred)))
    if not lines:
        return None
    mean = float(np.mean(lines))
    if len(lines) < 2:
        return Slope(mean, None, 1)
    half = float(t.ppf(0.975, len(lines) - 1) * np.std(lines, ddof=1) / np.sqrt(len(lines)))
    return Slope(mean, (mean - half, mean + half), len(lines))


@dataclass(frozen=True, slots=True)
class Pace(Result):
    """How long a subject took a question.

    Attributes:
        subject: the code.
        seconds: a question, over all their sheets.
        questions: how many they were asked.
        times_median: in medians of all subjects.
        odd: "fast" (half the median or less), "slow" (twice it or more), or "".
    """

    subject: str = field(metadata=shown("subject"))
    seconds: float = field(metadata=shown("seconds", ".1f"))
    questions: int = field(metadata=shown("questions"))
    times_median: float = field(metadata=shown("times the median", ".2f"))
    odd: str = field(metadata=shown("pace", lambda odd: odd or None))


def measure_paces(taken: Mapping[str, tuple[float, int]]) -> Sequence[Pace]:
    """Return the pace of each subject, the fastest first.

    Args:
        taken: subject → seconds in all, and questions.

    >>> hour, half = (3600.0, 197), (25 * 60.0, 197)  # Davis et al. 2016, section 3
    >>> found = measure_paces({"a": hour, "b": hour, "c": half})
    >>> [(pace.subject, round(pace.seconds, 1), pace.odd) for pace in found]
    [('c', 7.6, 'fast'), ('a', 18.3, ''), ('b', 18.3, '')]
    """
    each = {who: seconds / questions for who, (seconds, questions) in taken.items() if questions}
    if not each:
        return ()
    median = float(np.median(list(each.values())))
    found = []
    for who, seconds in sorted(each.items(), key=lambda pair: (pair[1], pair[0])):
        times = seconds / median if median else 1.0
        odd = "fast" if times <= _FAST else "slow" if times >= _SLOW else ""
        found.append(Pace(who, seconds, taken[who][1], times, odd))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PrintedTest:
    """A test as a paper prints it (as in Davis et al. 2016, section 4).

    Attributes:
        items: how many problems it has.
        scores: subject → the share right, as printed ("0.80"); text keeps the last zero.
        histogram: subjects who answered rightly → how many problems; all problems.

    Raises:
        DataError: the histogram does not have as many problems as the test, or counts more people
            than took it.

    >>> test = PrintedTest(2, {"S1": "1.00", "S2": "0.50"}, {2: 1, 1: 1})
    >>> test.subjects, test.right_by_item
    (2, 3)
    """

    items: int
    scores: Mapping[str, str]
    histogram: Mapping[int, int]

    def __post_init__(self) -> None:
        if sum(self.histogram.values()) != self.items:
            raise DataError(
                f"the histogram has {sum(self.histogram.values())} problems; the test {self.items}"
            )
        if any(not 0 <= right <= self.subjects for right in self.histogram):
            raise DataError(f"the histogram counts more people than the {self.subjects} subjects")

    @property
    def subjects(self) -> int:
        """How many took the test."""
        return len(self.scores)

    @property
    def right_by_item(self) -> int:
        """How many right answers the histogram counts."""
        return sum(right * problems for right, problems in self.histogram.items())


@dataclass(frozen=True, slots=True)
class Grim:
    """What the printed scores of one test allow.

    Attributes:
        possible: subject → the counts that are printed so; none if the score is impossible.
        otherwise: for the impossible ones, the counts that cutting or raising the last place
            would print so.
        by_subject: the least and the largest sum of right answers that the possible scores allow;
            impossible ones count with `otherwise`.
        by_item: the sum that the histogram gives.
    """

    possible: Mapping[str, tuple[int, ...]]
    otherwise: Mapping[str, tuple[int, ...]]
    by_subject: tuple[int, int]
    by_item: int

    @property
    def impossible(self) -> tuple[str, ...]:
        """Subjects whose printed score is no fraction of the items."""
        return tuple(who for who, counts in self.possible.items() if not counts)

    @property
    def adds_up(self) -> bool:
        """Whether every score is possible and both sums can be equal."""
        low, high = self.by_subject
        return not self.impossible and low <= self.by_item <= high

    def needed(self, subject: str) -> int | None:
        """Return the count of a subject that makes both sums equal, all others as printed.

        None if the others allow several sums.
        """
        others = [counts for who, counts in self.possible.items() if who != subject]
        if any(len(counts) != 1 for counts in others):
            return None
        return self.by_item - sum(counts[0] for counts in others)


def check_grim(test: PrintedTest) -> Grim:
    """Return which counts each printed score can stand for (Brown & Heathers 2017), and the sums.

    >>> found = check_grim(PrintedTest(89, {"S16": "0.86"}, {1: 77, 0: 12}))
    >>> found.possible, found.otherwise, found.needed("S16")
    ({'S16': ()}, {'S16': (76, 77)}, 77)
    """
    possible = {
        who: possible_counts(printed, test.items, scale=1) for who, printed in test.scores.items()
    }
    otherwise = {
        who: possible_counts(test.scores[who], test.items, scale=1, rounding="any")
        for who, counts in possible.items()
        if not counts
    }
    read = [counts or otherwise[who] or (0, test.items) for who, counts in possible.items()]
    sums = sum(min(counts) for counts in read), sum(max(counts) for counts in read)
    return Grim(possible, otherwise, sums, test.right_by_item)
