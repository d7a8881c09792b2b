"""Which counts the printed scores of a human test can stand for, and whether they add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from winosmith.errors import DataError
from winosmith.metrics import possible_counts


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
        possible: subject → the counts that are printed so; none where the score is impossible.
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
        """Subjects whose printed score is no share of the items."""
        return tuple(who for who, counts in self.possible.items() if not counts)

    @property
    def adds_up(self) -> bool:
        """Whether every score is possible and both sums can be equal."""
        low, high = self.by_subject
        return not self.impossible and low <= self.by_item <= high

    def needed(self, subject: str) -> int | None:
        """Return the count of a subject that makes both sums equal, all others as printed.

        None where the others allow several sums.
        """
        others = [counts for who, counts in self.possible.items() if who != subject]
        if any(len(counts) != 1 for counts in others):
            return None
        return self.by_item - sum(counts[0] for counts in others)


def grim(test: PrintedTest) -> Grim:
    """Return which counts each printed score can stand for (Brown & Heathers 2017), and the sums.

    >>> found = grim(PrintedTest(89, {"S16": "0.86"}, {1: 77, 0: 12}))
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
