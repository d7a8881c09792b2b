"""What counts without subjects can tell: how many people were right on each problem, no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.humans._tally import Tally

__all__ = ["UNTOLD", "Chance", "Counts", "chance", "counts"]

UNTOLD = (
    "scores by subject, their deviation, and what it is without the weakest",
    "native speakers beside others",
    "an interval: who answered what, and so what goes together, is not known",
    "Fleiss' kappa and Krippendorff's alpha: what the others chose is not known",
    "answers of X, and the other reading of badly built items",
    "learning, fatigue and time over the sheet",
)
"""What needs to know who answered what."""


@dataclass(frozen=True, slots=True)
class Chance:
    """What guessing gives.

    Attributes:
        options: number of options → how many problems.
        right: how many problems guessing gets right on average.
    """

    options: dict[int, int]
    right: float

    @property
    def share(self) -> float:
        """The share that guessing gets right, 0–1."""
        return self.right / sum(self.options.values())


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
    histogram: dict[tuple[int, int], int]
    by_options: dict[int, tuple[int, int]]
    chance: Chance
    problems: int

    @property
    def share(self) -> float:
        """The share of answers that were the intended one, 0–1."""
        return self.right / self.answers

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it, with what it can't tell."""
        return {
            "right": self.right,
            "answers": self.answers,
            "share": self.share,
            "problems": self.problems,
            "histogram": [
                {"right": right, "of": of, "problems": n}
                for (right, of), n in self.histogram.items()
            ],
            "by_options": {str(k): list(pair) for k, pair in self.by_options.items()},
            "chance": self.chance.share,
            "untold": list(UNTOLD),
        }


def chance(options: Sequence[int]) -> Chance:
    """Return what guessing gives on problems with these numbers of options.

    >>> found = chance([2] * 74 + [3] * 27 + [4] * 4 + [5] * 3)  # Davis et al. 2016, section 1
    >>> round(found.right, 1), round(found.share, 2)
    (47.6, 0.44)
    """
    sizes = dict(sorted(Counter(options).items()))
    return Chance(sizes, float(sum(Fraction(n, k) for k, n in sizes.items())))


def counts(dataset: Dataset, tally: Tally) -> Counts:
    """Return what counts of right answers tell.

    Args:
        dataset: the problems.
        tally: people asked and people right, as `tally_of_counts` reads them from the file.

    Raises:
        DataError: nobody was asked anything, or more were right than asked.
    """
    pairs = [(int(r), int(n)) for r, n in zip(tally.intended, tally.subjects, strict=True)]
    asked = [row for row, (_, of) in enumerate(pairs) if of]
    if not asked:
        raise DataError("no problem has an answer")
    wrong = next((row for row in asked if pairs[row][0] > pairs[row][1]), None)
    if wrong is not None:
        right, of = pairs[wrong]
        raise DataError(f"{dataset[wrong].id!r}: {right} of {of} people can't have been right")
    by_options: dict[int, tuple[int, int]] = {}
    for row in asked:
        size = len(dataset[row].options)
        right, of = by_options.get(size, (0, 0))
        by_options[size] = (right + pairs[row][0], of + pairs[row][1])
    levels = Counter(pairs[row] for row in asked)
    return Counts(
        sum(pairs[row][0] for row in asked),
        sum(pairs[row][1] for row in asked),
        dict(sorted(levels.items(), key=lambda level: (-level[0][0] / level[0][1], level[0]))),
        dict(sorted(by_options.items())),
        chance([len(dataset[row].options) for row in asked]),
        len(asked),
    )
