"""The reliable subset: chosen exactly, with the reason for every problem that is left out.

A schema is judged by the agreement on both of its halves, and which half is taken is drawn by lot
(Davis et al. 2016, section 4.4: "the choice of half used should be made at random"). To take the
half that people agree on more would be to choose by luck, and the other half is published with it.
"""

from __future__ import annotations

import hashlib
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

Level = tuple[int, int]
"""How many people gave the intended answer, and how many answered."""


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
        schemas: (intended, people) of the better half and of the other one → how many of the
            schemas have it of which a half is chosen, the best first.
    """

    filtered: Filtered
    rows: tuple[int, ...]
    sound: int
    right: int
    answers: int
    levels: dict[Level, int]
    schemas: dict[tuple[Level, Level], int]

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
            "schemas": [[*one, *other, count] for (one, other), count in self.schemas.items()],
            "left_out": {left.problem.id: left.reason for left in self.filtered.dropped},
        }


def select(dataset: Dataset, counts: Tally, rules: Rules | None = None, seed: int = 0) -> Selection:
    """Choose the reliable subset of a data set by what people answered.

    Args:
        dataset: the problems with the intended answers.
        counts: of people's answers, from `tally` or `tally_of_counts`.
        rules: the constraints.
        seed: draws the half of a schema that is taken, and settles ties. The lots are the same
            whatever the order of the problems and of their options.

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
    worth = _by_schema(dataset, counts, sound)
    chosen = choose(worth, bounds, rules.size, _lots(dataset, sound, seed))
    reasons |= _not_chosen(sound, chosen, bounds, rules)
    rows = tuple(row for row, taken in zip(sound, chosen, strict=True) if taken)
    level = list(zip(counts.intended.tolist(), counts.subjects.tolist(), strict=True))
    levels, schemas = Counter(level[row] for row in rows), Counter(_schemas(dataset, level, rows))
    return Selection(
        dataset.drop(reasons, STAGE),
        rows,
        len(sound),
        int(counts.intended[list(rows)].sum()),
        int(counts.subjects[list(rows)].sum()),
        dict(sorted(levels.items(), key=lambda found: _best_first(found[0]))),
        dict(sorted(schemas.items(), key=lambda found: [*map(_best_first, found[0])])),
    )


def _by_schema(dataset: Dataset, counts: Tally, sound: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return the agreement that each sound problem is judged by, (n,): its schema's, if it has one.

    That of a schema is the mean of its halves' shares, where both are sound.
    """
    shares, worth = counts.shares(), counts.shares()
    may_be_taken = set(sound)
    for pair in dataset.twins:
        if may_be_taken.issuperset(pair):
            worth[list(pair)] = shares[list(pair)].mean()
    return worth[list(sound)]


def _lots(dataset: Dataset, rows: Sequence[int], seed: int) -> npt.NDArray[np.float64]:
    """Return what each problem drew, (n,), above 0 and at most 1, all of them different.

    The lot hangs on the seed and on what is shown, not on answers, agreement or the file's order.
    """

    def digest(row: int) -> tuple[bytes, str]:
        p = dataset[row]
        shown = "\0".join((str(seed), p.sentence, p.pronoun or "", *sorted(p.options)))
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest(), p.id

    order = sorted(range(len(rows)), key=lambda at: digest(rows[at]))
    lots = np.zeros(len(rows))
    lots[order] = np.arange(1, len(rows) + 1) / max(1, len(rows))
    return lots


def _schemas(
    dataset: Dataset, level: Sequence[Level], rows: Sequence[int]
) -> list[tuple[Level, Level]]:
    """Return the levels of both halves of each schema that has a chosen half, the better first."""
    taken = set(rows)
    return [
        (level[first], level[second])
        for first, second in (
            sorted(pair, key=lambda row: _best_first(level[row])) for pair in dataset.twins
        )
        if not taken.isdisjoint((first, second))
    ]


def _best_first(level: Level) -> tuple[float, int]:
    right, of = level
    return -right / max(1, of), -of


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
