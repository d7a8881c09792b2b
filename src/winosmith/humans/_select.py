"""The reliable subset: chosen exactly, with the reason for every problem that is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError
from winosmith.humans._choose import choose
from winosmith.humans._limits import Limit, limits
from winosmith.humans._rules import Rules, unsound
from winosmith.humans._tally import Tally

__all__ = ["Selection", "select"]

STAGE = "reliable subset"


@dataclass(frozen=True)
class Selection:
    """A reliable subset.

    Attributes:
        filtered: the chosen problems, and the others with their reasons; together the input.
        rows: of the chosen, in the order of the data set.
        sound: how many problems could have been chosen.
        right, answers: of all people's answers to the chosen problems, how many are the intended
            ones. Their share is *naive*: the same answers chose the problems; see `cross_fit`.
        levels: (intended, people) → how many of the chosen problems have it, the best first.
    """

    filtered: Filtered
    rows: tuple[int, ...]
    sound: int
    right: int
    answers: int
    levels: dict[tuple[int, int], int]

    @property
    def naive(self) -> float:
        """The share of intended answers to the chosen problems, 0–1; optimistic."""
        return self.right / self.answers if self.answers else 0.0

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "chosen": list(self.filtered.kept.ids),
            "sound": self.sound,
            "naive": self.naive,
            "right": self.right,
            "answers": self.answers,
            "levels": [[right, of, count] for (right, of), count in self.levels.items()],
            "left_out": {left.problem.id: left.reason for left in self.filtered.dropped},
        }


def select(dataset: Dataset, counts: Tally, rules: Rules | None = None, seed: int = 0) -> Selection:
    """Choose the reliable subset of a data set by what people answered.

    Args:
        dataset: the problems with the intended answers.
        counts: of people's answers, from `tally` or `tally_of_counts`.
        rules: the constraints.
        seed: settles ties, such as which half of a schema is taken.

    Raises:
        InputError: the rules ask for more problems than they let through.
        DataError: the counts are of another data set.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(str(i), f"The cup hit jug {i} and _ broke.", ("cup", "jug"), 0)
    ...     for i in range(3)
    ... )
    >>> found = select(data, Tally(np.array([9, 9, 9]), np.array([9, 4, 8])))
    >>> found.rows, found.right, found.answers
    ((0, 2), 17, 18)
    >>> found.filtered.dropped[0].reason
    '4 of 9 gave the intended answer (44%); 80% are needed'
    """
    if len(counts.subjects) != len(dataset):
        raise DataError(
            f"there are counts for {len(counts.subjects)} problems; the data set has {len(dataset)}"
        )
    rules = rules or Rules()
    reasons = unsound(dataset, counts, rules)
    sound = [row for row in range(len(dataset)) if row not in reasons]
    bounds = limits(dataset, sound, rules)
    chosen = choose(counts.shares()[sound], bounds, rules.size, seed)
    reasons |= _not_chosen(sound, chosen, bounds, rules)
    rows = tuple(row for row, taken in zip(sound, chosen, strict=True) if taken)
    pairs = Counter((int(counts.intended[row]), int(counts.subjects[row])) for row in rows)
    return Selection(
        dataset.drop(reasons, STAGE),
        rows,
        len(sound),
        int(counts.intended[list(rows)].sum()),
        int(counts.subjects[list(rows)].sum()),
        dict(sorted(pairs.items(), key=lambda pair: (-pair[0][0] / pair[0][1], -pair[0][1]))),
    )


def _not_chosen(
    sound: Sequence[int], chosen: npt.NDArray[np.bool_], bounds: Sequence[Limit], rules: Rules
) -> dict[int, str]:
    """Return why each sound problem was not taken: what taking it beside the others would break."""
    reasons = {}
    for at, row in enumerate(sound):
        if chosen[at]:
            continue
        with_it = chosen.copy()
        with_it[at] = True
        broken = dict.fromkeys(
            limit.words for limit in bounds if limit.weights[at] > 0 and not limit.holds(with_it)
        )
        words = list(broken) or [
            f"the set of {rules.size} is full, with agreement as high or higher"
        ]
        reasons[row] = "; ".join(words)
    return reasons
