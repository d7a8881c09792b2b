"""Which counts the printed scores of a human test can stand for, and whether they add up.

And is there a table of who got what right that has all the printed margins? Whether rows and
columns of zeros and ones with given sums exist is settled by Gale and Ryser (1957): the j largest
rows may not hold more than the columns can take from j rows, for each j. That is linear in the row
sums and in how many columns there are of a kind, so the search over everything that rounding leaves
open is one small integer program, and its "no" is a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.metrics import possible_counts


@dataclass(frozen=True, slots=True)
class PrintedTest:
    """A test as a paper prints it (as in Davis et al. 2016, section 4).

    Attributes:
        items: how many problems it has.
        scores: subject → the share right, as printed ("0.80"); text keeps the last zero.
        histogram: subjects who answered rightly → how many problems; all problems.
        weakest: subjects that a second histogram leaves out.
        without: that histogram; it may name only some of the problems.

    Raises:
        DataError: the histogram does not have as many problems as the test, counts more people
            than took it, or `weakest` names one who did not.

    >>> test = PrintedTest(2, {"S1": "1.00", "S2": "0.50"}, {2: 1, 1: 1})
    >>> test.subjects, test.right_by_item
    (2, 3)
    """

    items: int
    scores: Mapping[str, str]
    histogram: Mapping[int, int]
    weakest: tuple[str, ...] = ()
    without: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if sum(self.histogram.values()) != self.items:
            raise DataError(
                f"the histogram has {sum(self.histogram.values())} problems; the test {self.items}"
            )
        if any(not 0 <= right <= self.subjects for right in self.histogram):
            raise DataError(f"the histogram counts more people than the {self.subjects} subjects")
        strangers = set(self.weakest) - set(self.scores)
        if strangers:
            raise DataError(f"{min(strangers)!r} is left out, but has no printed score")

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


Bools = npt.NDArray[np.bool_]
Kinds = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class MatrixFit:
    """A table that meets the printed margins, or why there is none.

    Attributes:
        subjects: the rows' names, in the order in which they are printed.
        matrix: who got what right, (subjects, items); items come by decreasing number of people
            who were right. None where no table exists.
        reason: why not; empty where there is one.
    """

    subjects: tuple[str, ...]
    matrix: Bools | None
    reason: str = ""


def fit_matrix(test: PrintedTest, counts: Mapping[str, int] | None = None) -> MatrixFit:
    """Return a table of subjects and items with all printed margins, or the proof of none.

    The margins are each subject's score, to the rounding of the last printed place; how many items
    so many people got right; and the same without the weakest subjects where that is printed.

    Args:
        test: what is printed.
        counts: subject → how many they got right, in place of the printed score.

    Raises:
        DataError: `counts` names a subject that the test does not have.

    >>> fit_matrix(PrintedTest(2, {"a": "0.5", "b": "1.0"}, {2: 1, 1: 1})).matrix.astype(int)
    array([[1, 0],
           [1, 1]])
    >>> fit_matrix(PrintedTest(2, {"a": "0.5", "b": "1.0"}, {2: 2})).reason
    'the subjects have 3 right answers, the items 4'
    """
    counts = counts or {}
    strangers = set(counts) - set(test.scores)
    if strangers:
        raise DataError(f"there is no printed score of {min(strangers)!r}")
    found = grim(test)
    allowed = {who: ((counts[who],) if who in counts else found.possible[who])
               for who in test.scores}  # fmt: skip
    names = tuple(test.scores)
    reason = _plainly(allowed, test, found)
    if not reason:
        solved = _solved(test, allowed)
        if solved is not None:
            return MatrixFit(names, _built(test, *solved))
        reason = "no table of zeros and ones has these sums of rows and columns (Gale and Ryser)"
    return MatrixFit(names, None, reason)


def repairs(test: PrintedTest) -> dict[str, tuple[int, ...]]:
    """Return the single changes after which a table exists: subject → counts that would do.

    Empty when the printed margins fit as they are, or when no change of one subject is enough.
    Impossible scores are changed within what cutting or raising the last place would print; others
    by one right answer more or less than is printed.
    """
    if fit_matrix(test).matrix is not None:
        return {}
    found = grim(test)
    fits: dict[str, tuple[int, ...]] = {}
    for who, counts in found.possible.items():
        near = found.otherwise.get(who) or (min(counts) - 1, max(counts) + 1)
        works = tuple(
            count
            for count in near
            if 0 <= count <= test.items and fit_matrix(test, {who: count}).matrix is not None
        )
        if works:
            fits[who] = works
    return fits


def matrix_of_margins(rows: Sequence[int], columns: Sequence[int]) -> Bools | None:
    """Return a table of zeros and ones with these sums, (rows, columns); None if none exists.

    Gale's construction (1957): each row goes to the columns that still need most.

    >>> matrix_of_margins([2, 1], [1, 1, 1]).astype(int)
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> matrix_of_margins([3, 0], [2, 1]) is None
    True
    """
    need = np.array(columns, dtype=np.int64)
    matrix = np.zeros((len(rows), len(need)), dtype=bool)
    if sum(rows) != need.sum() or any(not 0 <= row <= len(need) for row in rows):
        return None
    for at in sorted(range(len(rows)), key=lambda row: -rows[row]):
        best = np.argsort(-need, kind="stable")[: rows[at]]
        if rows[at] and need[best[-1]] < 1:
            return None
        matrix[at, best] = True
        need[best] -= 1
    return None if need.any() else matrix


def _plainly(allowed: Mapping[str, tuple[int, ...]], test: PrintedTest, found: Grim) -> str:
    """Return what is wrong already without a search; empty if nothing is."""
    for who, counts in allowed.items():
        if not counts:
            near = " or ".join(map(str, found.otherwise[who]))
            return (
                f"the score {test.scores[who]} of {who} is no share of {test.items}"
                + (f"; {near} would be printed otherwise" if near else "")
            )  # fmt: skip
    low = sum(min(counts) for counts in allowed.values())
    high = sum(max(counts) for counts in allowed.values())
    if not low <= test.right_by_item <= high:
        sums = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"the subjects have {sums} right answers, the items {test.right_by_item:,}"
    return ""


def _solved(
    test: PrintedTest, allowed: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, int], Kinds] | None:
    """Return row sums, and how many columns there are with (all, weakest) right; None if none.

    The variables are the row sums; the number of columns of each kind; and for each block of rows
    and each j, t and u with j·t + Σu ≥ the sum of the j largest rows.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    names = list(allowed)
    weak = [at for at, who in enumerate(names) if who in test.weakest]
    strong = [at for at in range(len(names)) if at not in weak]
    kinds = [
        (right, w)
        for right in sorted(test.histogram, reverse=True)
        for w in range(len(weak) + 1)
        if 0 <= right - w <= len(strong)
    ]
    first_kind, ranks = len(names), [(b, j) for b in (strong, weak) for j in range(1, len(b) + 1)]
    first_rank = first_kind + len(kinds)
    size = first_rank + sum(1 + len(block) for block, _ in ranks)
    rows: list[npt.NDArray[np.float64]] = []
    low: list[float] = []
    high: list[float] = []

    def add(coefficients: Mapping[int, float], least: float, most: float) -> None:
        row = np.zeros(size)
        for at, value in coefficients.items():
            row[at] += value
        rows.append(row)
        low.append(least)
        high.append(most)

    for right, problems in test.histogram.items():
        members = {first_kind + at: 1.0 for at, (k, _) in enumerate(kinds) if k == right}
        add(members, problems, problems)
    for right, problems in test.without.items():
        members = {first_kind + at: 1.0 for at, (k, w) in enumerate(kinds) if k - w == right}
        add(members, problems, problems)
    place = first_rank
    for block, j in ranks:
        own = [w if block is weak else k - w for k, w in kinds]
        takes = {first_kind + at: float(min(j, value)) for at, value in enumerate(own)}
        largest = {place: -float(j), **{place + 1 + at: -1.0 for at in range(len(block))}}
        add({**takes, **largest}, 0, np.inf)
        for at, row_of in enumerate(block):
            add({place: 1.0, place + 1 + at: 1.0, row_of: -1.0}, 0, np.inf)
        if j == len(block):
            add({**takes, **dict.fromkeys(block, -1.0)}, 0, 0)
        place += 1 + len(block)
    upper = np.full(size, np.inf)
    lower = np.zeros(size)
    for at, who in enumerate(names):
        lower[at], upper[at] = min(allowed[who]), max(allowed[who])
    found = milp(
        np.zeros(size),
        integrality=[1] * first_rank + [0] * (size - first_rank),
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(np.array(rows), low, high),
    )
    if found.x is None:
        if found.status != 2:
            raise DataError(f"the search for a table did not end: {found.message}")
        return None
    whole = np.rint(found.x[:first_rank]).astype(int)
    return (
        {who: int(whole[at]) for at, who in enumerate(names)},
        {kind: int(whole[first_kind + at]) for at, kind in enumerate(kinds)},
    )


def _built(test: PrintedTest, sums: Mapping[str, int], kinds: Kinds) -> Bools:
    """Return the table of these sums, block by block."""
    names = list(sums)
    columns = [kind for kind, count in kinds.items() for _ in range(count)]
    matrix = np.zeros((len(names), len(columns)), dtype=bool)
    for is_weak in (False, True):
        block = [at for at, who in enumerate(names) if (who in test.weakest) == is_weak]
        if block:
            part = matrix_of_margins(
                [sums[names[at]] for at in block], [w if is_weak else k - w for k, w in columns]
            )
            if part is None:  # the integer program holds Gale and Ryser's condition
                raise DataError("the search gave sums that no table has: its tolerance is too wide")
            matrix[block] = part
    return matrix
