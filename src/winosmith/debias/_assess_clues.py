"""Which words give an answer away: words that met the right option elsewhere in the data.

AFLite says that a problem is predictable, not why. This looks for the reason in the words. The
*cues* of a problem are its trigger (where the twin is there) and the content words of its local
context, w[t-2:]. A *clue* is a cue together with something that tells the options apart:

- "beside": a content word in the same clause as an option. The polarity pattern of WinoGrande's
  table 2 is one ("loved" stands beside "balls", and the trigger is "exciting");
- "option": the option's own last word ("heavy", and the option is "stone");
- "order": which option is mentioned first, alone ("weak" goes with the first, whatever it is).

For each clue, the other twins of the data where the same words meet are counted: in R of them
they point to the right option, in W to the wrong one. The problem's own twin and copies of either
half are left out, so no clue explains a problem by itself. (What only looks alike is counted: that
words come back is what is looked for.) Its strength is that of the sign test,
z = (R − W) / √(R + W), positive where the words point to the option they stand with; |z| ≥ 3 needs
nine other problems at the least. A clue may mislead: what points away from the answer is reported
the same way. On labels that mean nothing there are as many of those as of the others, or a few more
(leaving a problem out of a balanced count tips the count against it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from winosmith.blocks import joined, plain
from winosmith.dataset import Dataset
from winosmith.debias._assess_tokens import Reading, read_problem
from winosmith.debias._groups import numbered
from winosmith.errors import DataError
from winosmith.metrics import first_of_twins

Kind = Literal["beside", "option", "order"]

_PLAINEST_FIRST: tuple[Kind, ...] = ("order", "option", "beside")


@dataclass(frozen=True, slots=True)
class Clue:
    """Words of a problem that point to one of its options.

    Attributes:
        kind: "beside", "option" or "order"; see the module.
        words: the cue last; before it the word beside the option, or the option's last word.
        option: the index of the option that it points to.
        toward: whether that is the answer.
        right: other problems where the same words pointed to the right option.
        wrong: other problems where they pointed to the wrong one.
        z: the strength, 0 or more: of the sign test on `right` and `wrong`.
    """

    kind: Kind
    words: tuple[str, ...]
    option: int
    toward: bool
    right: int
    wrong: int
    z: float


def find_clues(dataset: Dataset, *, z: float = 3.0) -> tuple[tuple[Clue, ...], ...]:
    """Return the clues of each problem with a strength of `z` or more, strongest first.

    Raises:
        DataError: a problem with more than two options, or without its answer.
    """
    for problem in dataset:
        if len(problem.options) != 2 or problem.answer is None:
            raise DataError(
                f"the problem {problem.id!r} has {len(problem.options)} options and the answer "
                f"{problem.answer}; clues need two options and an answer"
            )
    counted = _Counted(dataset)
    strength = counted.strength()
    clues: list[list[tuple[bool, Clue]]] = [[] for _ in dataset]
    for at in np.flatnonzero(np.abs(strength) >= z):
        by_contrast = bool(strength[at] < 0)
        clues[counted.rows[at]].append((by_contrast, counted.clue(int(at), float(strength[at]))))
    return tuple(tuple(clue for _, clue in sorted(found, key=_rank)) for found in clues)


def _rank(found: tuple[bool, Clue]) -> tuple[float, bool, int, tuple[str, ...]]:
    """Rank by strength; of equals, words of the option pointed to come first, and plain kinds."""
    by_contrast, clue = found
    return -clue.z, by_contrast, _PLAINEST_FIRST.index(clue.kind), clue.words


class _Counted:
    """Every (problem, option, words) of a data set, with how the same words fare elsewhere.

    Attributes:
        rows, options: (m,) the problem, and the option that the words stand with.
        right, wrong: (m,) problems of other twins where they stand with the right, wrong option.
        keys: kind and words, by feature number.
        features: (m,) the feature number.
    """

    def __init__(self, dataset: Dataset):
        first = first_of_twins(dataset)
        numbers: dict[tuple[Kind, tuple[str, ...]], int] = {}
        found = [
            (row, option, numbers.setdefault(key, len(numbers)), option == dataset.answers[row])
            for rows in dataset.groups
            for row, reading in zip(rows, _readings(dataset, rows), strict=True)
            for option, key in _features(reading, int(first[row]))
        ]
        table = np.array(found, dtype=np.intp).reshape(-1, 4)
        self.rows, self.options, self.features, holds = table.T
        self.keys = list(numbers)
        self.answers = dataset.answers
        texts = [[plain(problem.sentence)] for problem in dataset]
        own = (
            numbered(joined(dataset.groups, texts), len(dataset))[self.rows]
            * max(len(self.keys), 1)
            + self.features
        )
        _, own = np.unique(own, return_inverse=True)
        self.right = _elsewhere(self.features, own, holds == 1)
        self.wrong = _elsewhere(self.features, own, holds == 0)

    def strength(self) -> NDArray[np.float64]:
        """Return the signed statistic of the sign test, (m,); 0 where nothing was counted."""
        counted = np.maximum(self.right + self.wrong, 1)
        strength: NDArray[np.float64] = (self.right - self.wrong) / np.sqrt(counted)
        return strength

    def clue(self, at: int, strength: float) -> Clue:
        kind, words = self.keys[self.features[at]]
        option, right, wrong = (int(part[at]) for part in (self.options, self.right, self.wrong))
        if strength < 0:
            option, right, wrong = 1 - option, wrong, right
        toward = option == self.answers[self.rows[at]]
        return Clue(kind, words, option, toward, right, wrong, abs(strength))


def _elsewhere(
    features: NDArray[np.intp], own: NDArray[np.intp], those: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Count the rows of `those` by feature, without those of the same twin and its copies."""
    everywhere = np.bincount(features[those], minlength=int(features.max(initial=0)) + 1)
    here = np.bincount(own[those], minlength=int(own.max(initial=0)) + 1)
    counted: NDArray[np.intp] = everywhere[features] - here[own]
    return counted


def _readings(dataset: Dataset, rows: Sequence[int]) -> Iterator[Reading]:
    """Yield each problem's cues and what stands beside its options; twins show their trigger."""
    for row in rows:
        other = dataset[sum(rows) - row].sentence if len(rows) == 2 else None
        yield read_problem(dataset[row], other)


def _features(reading: Reading, first: int) -> Iterator[tuple[int, tuple[Kind, tuple[str, ...]]]]:
    """Yield the option and the words of each possible clue, once.

    Options with the same last word are not told apart by it, nor by what stands beside it.
    """
    for cue in reading.cues:
        yield first, ("order", (cue,))
        if reading.heads[0] == reading.heads[1]:
            continue
        for option in (0, 1):
            yield option, ("option", (reading.heads[option], cue))
            for word in reading.beside[option]:
                if word != cue and word not in reading.beside[1 - option]:
                    yield option, ("beside", (word, cue))
