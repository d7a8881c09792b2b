"""What of a data set is written down more than once, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winosmith import blocks
from winosmith.dataset import Dataset

__all__ = ["Copies", "copies"]

EXAMPLES = 3
"""How many groups are named."""

LONGEST = 4
"""How many problems of a group are named."""

Groups = tuple[tuple[str, ...], ...]
"""Ids, by group."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Which problems of a data set are one observation, and which ids make no twin.

    Attributes:
        groups: the ids of identical problems; see `winosmith.blocks.copies`.
        contradictions: those of `groups` that name different options as the right one.
        crowded: the ids of the problems of each twin id that three or more share. Nothing says
            which two of them are a twin, so each counts as a single.
    """

    groups: Groups = ()
    contradictions: Groups = ()
    crowded: Groups = ()

    def record(self) -> dict[str, Any]:
        """Return how many groups and problems each kind has, as JSON, with the first few ids."""
        kinds = {
            "copies": self.groups,
            "contradictions": self.contradictions,
            "crowded": self.crowded,
        }
        return {
            name: {
                "count": len(groups),
                "problems": sum(map(len, groups)),
                "examples": [list(ids) for ids in groups[:EXAMPLES]],
            }
            for name, groups in kinds.items()
        }

    def told(self) -> list[str]:
        """Return what there is to say, as sentences with the first few ids; nothing for none.

        >>> Copies(contradictions=(("a", "b"),)).told()[0]
        '1 group of identical problems with different answers: a = b. Correct it, or leave it out.'
        """
        lines = []
        if self.groups:
            lines.append(
                f"{_counted(self.groups)} of identical problems, {sum(map(len, self.groups)):,} "
                f"problems in all: {_named(self.groups, ' = ')}. Each is one observation, of "
                "which a build keeps one."
            )
        if self.contradictions:
            these = "it" if len(self.contradictions) == 1 else "them"
            lines.append(
                f"{_counted(self.contradictions)} of identical problems with different answers: "
                f"{_named(self.contradictions, ' = ')}. Correct {these}, or leave {these} out."
            )
        if self.crowded:
            ids = (
                "1 twin id is" if len(self.crowded) == 1 else f"{len(self.crowded):,} twin ids are"
            )
            lines.append(
                f"{ids} shared by three problems or more: {_named(self.crowded, ', ')}. Two make "
                "a twin; give each twin an id of its own."
            )
        return lines


def copies(dataset: Dataset) -> Copies:
    """Find what of a data set is written down more than once.

    >>> from winosmith import Problem
    >>> cup = [Problem(id_, "The cup hit the jug and _ fell.", ("cup", "jug"), 0) for id_ in "ab"]
    >>> copies(Dataset(cup)).groups
    (('a', 'b'),)
    """
    same = blocks.copies(dataset)
    against = blocks.contradictions(dataset, same)
    crowded = [rows for rows in dataset.groups if len(rows) > 2]
    return Copies(*(_ids(dataset, groups) for groups in (same, against, crowded)))


def _ids(dataset: Dataset, groups: Sequence[Sequence[int]]) -> Groups:
    return tuple(tuple(dataset[row].id for row in rows) for rows in groups)


def _counted(groups: Groups) -> str:
    return "1 group" if len(groups) == 1 else f"{len(groups):,} groups"


def _named(groups: Groups, between: str) -> str:
    named = [
        between.join(ids[:LONGEST]) + (f"{between}…" if len(ids) > LONGEST else "")
        for ids in groups[:EXAMPLES]
    ]
    return "; ".join(named) + ("; …" if len(groups) > EXAMPLES else "")
