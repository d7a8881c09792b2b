"""Problems with the words marked that give their answer away, or point away from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from winosmith.dataset import Dataset
from winosmith.debias._assess_clues import Clue, find_clues

_SHOWN = 3
"""Clues shown of one problem; weaker ones only blur the picture."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of a sentence, and where it points.

    Attributes:
        start, end: its characters, `sentence[start:end]`.
        toward: whether the strongest clue that it is part of points to the answer.
        z: that clue's strength.
    """

    start: int
    end: int
    toward: bool
    z: float


@dataclass(frozen=True, slots=True)
class MarkedProblem:
    """A problem with its marked words, and the clues that they rest on, strongest first."""

    row: int
    id: str
    sentence: str
    options: tuple[str, ...]
    answer: int
    marks: tuple[Mark, ...]
    clues: tuple[Clue, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, unrounded."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Leads:
    """Where the strongest clue of each problem leads.

    Attributes:
        problems: how many.
        toward: those whose strongest clue points to the answer.
        away: those whose strongest clue points to the other option.
    """

    problems: int
    toward: int
    away: int

    def to_json(self) -> dict[str, int]:
        """Return the three counts."""
        return asdict(self)


@dataclass(frozen=True)
class Associations:
    """The clues of a data set; made by `associations`."""

    dataset: Dataset
    clues: tuple[tuple[Clue, ...], ...]

    def leads(self, rows: Iterable[int]) -> Leads:
        """Count where the strongest clues of these rows lead."""
        first = [self.clues[row][:1] for row in rows]
        toward = sum(clue.toward for clues in first for clue in clues)
        return Leads(len(first), toward, sum(map(len, first)) - toward)

    def strongest(
        self, rows: Collection[int], number: int
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return the twins among `rows` that their words give away the most.

        The kinds of clue take turns, and no two twins rest on the same words, so that a few show
        what there is. Twins with a half elsewhere, and what is under embargo, are left out.
        """
        ranked: dict[str, list[tuple[float, int, tuple[int, ...]]]] = {}
        for group in self._whole(rows):
            leading = [self.clues[row][0] for row in group if self.clues[row]]
            pull = sum(clue.z if clue.toward else -clue.z for clue in leading)
            if pull > 0:
                kind = max(leading, key=lambda clue: clue.z).kind
                ranked.setdefault(kind, []).append((-pull, group[0], group))
        waiting = [iter(sorted(ranked[kind])) for kind in sorted(ranked)]
        seen: set[tuple[str, ...]] = set()
        found: list[tuple[int, ...]] = []
        while waiting and len(found) < number:
            turn = waiting.pop(0)
            for _, _, group in turn:
                words = {self.clues[row][0].words for row in group if self.clues[row]}
                if not words & seen:
                    seen |= words
                    found.append(group)
                    waiting.append(turn)
                    break
        return tuple(tuple(map(self.marked, group)) for group in found)

    def drawn(
        self, rows: Collection[int], number: int, *, seed: int = 0
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return twins among `rows` drawn at random; singles where there are no whole twins."""
        whole = list(self._whole(rows))
        choice = [group for group in whole if len(group) == 2] or whole
        order = np.random.default_rng([seed, 2]).permutation(len(choice))[:number]
        return tuple(tuple(map(self.marked, choice[at])) for at in order)

    def _whole(self, rows: Collection[int]) -> Iterator[tuple[int, ...]]:
        there = frozenset(map(int, rows))
        for group in self.dataset.groups:
            if there.issuperset(group) and not any(self.dataset[row].embargo for row in group):
                yield group

    def marked(self, row: int) -> MarkedProblem:
        """Return one problem with the words of its strongest three clues marked."""
        problem, clues = self.dataset[row], self.clues[row][:_SHOWN]
        pointing: dict[str, Clue] = {}
        for clue in clues:
            for word in clue.words:
                pointing.setdefault(word, clue)
        spans = [
            (*found.span(), clue)
            for word, clue in pointing.items()
            for found in _as_word(word).finditer(problem.sentence)
        ]
        marks: list[Mark] = []
        for start, end, clue in sorted(spans, key=lambda span: span[:2]):
            if not marks or start >= marks[-1].end:
                marks.append(Mark(start, end, clue.toward, clue.z))
        assert problem.answer is not None  # noqa: S101 - find_clues refuses it
        return MarkedProblem(
            row, problem.id, problem.sentence, problem.options, problem.answer, tuple(marks), clues
        )


def associations(dataset: Dataset, *, z: float = 3.0) -> Associations:
    """Find which words give the answers of a data set away.

    What counts as a clue, and as a strong one, is told at the top of `_assess_clues`: words that
    stood with the right option in other twins, by the sign test at `z` or more.

    Raises:
        DataError: a problem with more than two options, or without its answer.

    >>> from winosmith.problem import Problem
    >>> halves = [
    ...     Problem(f"{n}{t}", f"Stone {n} hit the leaf: _ was {t}.", ("stone", "leaf"), a, str(n))
    ...     for n in range(12)
    ...     for t, a in (("heavy", 0), ("light", 1))
    ... ]
    >>> found = associations(Dataset(halves))
    >>> clue = found.marked(0).clues[0]
    >>> clue.kind, clue.words, clue.right, clue.wrong, clue.toward
    ('order', ('heavy',), 11, 0, True)
    """
    return Associations(dataset, find_clues(dataset, z=z))


def _as_word(word: str) -> re.Pattern[str]:
    """Return a pattern that finds a lower-cased token where it stands as a word."""
    before = "" if "'" in word else r"(?<!\w)"
    return re.compile(before + re.escape(word) + r"(?!\w)", re.IGNORECASE)
