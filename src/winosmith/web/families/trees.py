"""The tree of a family, as one person may see it, in small arrays.

Everybody sees the public versions; contributors also see their own hidden ones. A version with a
hidden parent hangs under the nearest visible version above it. The tree of a family of 10,000 takes
30 ms; it is cached until a version is added or removed. A page shows about fifty versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from winosmith.metrics import DepthKind
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.states import visible_to

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DEPTHS: tuple[DepthKind, ...] = ("declared", "lineage", "edit")

UNKNOWN = -1
"""An unknown depth, and the parent of a root."""

OWN = (State.HELD, State.JUDGING, State.REJECTED, State.VALID)
"""The states in which contributors see their own versions that are not public."""

MOST_CACHED = 32
"""Trees in the cache of a process: at 10,000 versions each, about 50 MB."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A family; its versions are numbered from 0, the root, each after its parent.

    Attributes:
        rows: the number of each version's row in the database, (n,).
        parents: the number of the version above each, -1 for the root, (n,).
        depths: kind → the depth of each, -1 if unknown, (n,).
        public: whether everybody sees it, (n,); results only count these, see `as_seen`.
        chance: the probability of guessing it correctly, (n,).
    """

    rows: Ints
    parents: Ints
    depths: Mapping[DepthKind, Ints]
    public: Bools
    chance: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def own(self) -> int:
        """The number of versions that only this reader sees."""
        return len(self) - int(self.public.sum()) - int(not self.public[0])

    def as_seen(self) -> Tree:
        """Return the same tree as if all of it were public, for numbers of what the reader sees."""
        return self if not self.own else replace(self, public=np.ones_like(self.public))

    @property
    def versions(self) -> int:
        """The number of public versions of the root."""
        return int(self.public.sum()) - int(self.public[0])

    @cached_property
    def kind(self) -> DepthKind:
        """The depth that most public versions have; of several the first, as in `metrics`."""
        known = {
            kind: int((of[1:][self.public[1:]] >= 0).sum()) for kind, of in self.depths.items()
        }
        return max(DEPTHS, key=lambda kind: known[kind])

    @cached_property
    def children(self) -> list[list[int]]:
        """The numbers of the versions directly under each, the oldest first."""
        found: list[list[int]] = [[] for _ in range(len(self))]
        for number, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                found[parent].append(number)
        for below in found:
            below.sort(key=self._rows.__getitem__)
        return found

    @cached_property
    def _rows(self) -> list[int]:
        found: list[int] = self.rows.tolist()
        return found

    @cached_property
    def places(self) -> dict[int, int]:
        """The number of each version, by its row in the database."""
        return {row: number for number, row in enumerate(self._rows)}

    def places_of(self, rows: Ints) -> Ints:
        """Return the number of the version of each row; -1 for rows that are not in the tree."""
        order = self._order
        at = np.minimum(np.searchsorted(self.rows, rows, sorter=order), len(self) - 1)
        found: Ints = np.where(self.rows[order[at]] == rows, order[at], UNKNOWN)
        return found

    @cached_property
    def _order(self) -> Ints:
        found: Ints = np.argsort(self.rows)
        return found

    @cached_property
    def leaves(self) -> list[int]:
        """The public versions without a public version below them."""
        inner = set(self.parents[self.public].tolist())
        return [at for at in np.flatnonzero(self.public).tolist() if at not in inner]

    def above(self, number: int) -> list[int]:
        """Return the path from the root to a version, without it."""
        way: list[int] = []
        now = int(self.parents[number])
        while now >= 0:
            way.append(now)
            now = int(self.parents[now])
        return way[::-1]

    def below(self, of: npt.NDArray[Any]) -> Ints:
        """Return the sum of a column over the versions under each, without it, (n,)."""
        sums = of.astype(np.int64).tolist()
        own = list(sums)
        parents = self.parents.tolist()
        for number in range(len(sums) - 1, 0, -1):
            sums[parents[number]] += sums[number]
        return np.array(sums) - np.array(own)

    @cached_property
    def sizes(self) -> Ints:
        """The number of versions under each, (n,)."""
        return self.below(np.ones(len(self), dtype=np.int64))


def tree_of(root: Problem, person: Person | None) -> Tree:
    """Return the family of a root as somebody may see it.

    Args:
        root: one that the person may see.
        person: None for a visitor without a session.
    """
    return _tree(root, _stamp(root), _own_hidden(root, person))


_STAMP = """SELECT count(*), sum(v.problem_id), sum(v.problem_id * v.problem_id)
    FROM perturb_version v JOIN problems_problem p ON p.id = v.problem_id
    WHERE v.root_id = %s AND p.public"""
_FAMILY = """SELECT v.problem_id, v.parent_id, v.step, v.declared, v.lineage, v.edit,
    CASE WHEN p.public THEN 1 ELSE 0 END, OPTIONS(p.options)
    FROM perturb_version v JOIN problems_problem p ON p.id = v.problem_id
    WHERE v.root_id = %s ORDER BY v.step, v.problem_id"""

Row = tuple[int, int | None, int, int | None, int | None, int | None, int, int]
"""Problem, parent, step, the three depths, whether it is public, how many options it has."""


def _stamp(root: Problem) -> tuple[Any, ...]:
    """Return a stamp that changes when a version becomes public or stops being so.

    It needs two indexes and no row: a tenth of the time of the tree.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STAMP, [root.pk])
        return tuple(cursor.fetchone())


def _own_hidden(root: Problem, person: Person | None) -> tuple[int, ...]:
    """Return the rows that only this person sees; never gold questions."""
    if person is None or not person.is_active:
        return ()
    mine = Version.objects.filter(
        root=root, problem__twin__contributor=person, problem__gold=False, problem__state__in=OWN
    )
    hidden = mine.filter(problem__public=False)
    return tuple(hidden.order_by("pk").values_list("pk", flat=True))


def _family(root: Problem) -> list[Row]:
    length = "jsonb_array_length" if connection.vendor == "postgresql" else "json_array_length"
    with connection.cursor() as cursor:
        cursor.execute(_FAMILY.replace("OPTIONS", length), [root.pk])
        found: list[Row] = cursor.fetchall()
    return found


def is_public(problem: Problem) -> bool:
    """Return whether everybody sees a problem."""
    return visible_to(None, problem)


@lru_cache(MOST_CACHED)
def _tree(root: Problem, _as_stamped: tuple[Any, ...], own: tuple[int, ...]) -> Tree:
    """Return the tree of public and own versions; versions under hidden ones move up."""
    family = _family(root)
    alone: Row = (root.pk, None, 0, 0, 0, 0, int(is_public(root)), len(root.options))
    shown: list[Row] = [next((row for row in family if row[0] == root.pk), alone)]
    parents = [UNKNOWN]
    number = {root.pk: 0}
    for row in family:
        if row[0] == root.pk:
            continue
        above = number.get(row[1] or 0, 0)
        if row[6] or row[0] in own:
            number[row[0]] = len(shown)
            parents.append(above)
            shown.append(row)
        else:
            number[row[0]] = above
    columns = list(zip(*shown, strict=True))
    depths: dict[DepthKind, Ints] = {
        kind: np.array([UNKNOWN if depth is None else depth for depth in columns[3 + at]])
        for at, kind in enumerate(DEPTHS)
    }
    return Tree(
        np.array(columns[0]),
        np.array(parents),
        depths,
        np.array(columns[6], dtype=np.bool_),
        1 / np.array(columns[7], dtype=np.float64),
    )


MOST = 50
"""Versions under the chosen one; more would make the page unreadable."""

MOST_ADDED = 30
"""Versions that are added to an open page at once."""

MOST_CHILDREN = 30
"""Versions under one parent that are shown at once."""

LEVELS = 5
"""Generations that are shown at once; deeper ones are opened."""

MOST_ABOVE = 4
"""The last steps of a long path that are shown."""


@dataclass(slots=True)
class Shown:
    """A version on a page.

    Attributes:
        number: of the version in its tree.
        children: shown under it.
        folded: the number of versions under it if none is shown; otherwise 0.
        after: the number of children before the first hidden one.
        left: the number of children after the last shown one.
        others: the number of hidden children, because this is only on the path to another version.
        skipped: the number of hidden versions between this one and the one shown above it.
    """

    number: int
    children: list[Shown] = field(default_factory=list)
    folded: int = 0
    after: int = 0
    left: int = 0
    others: int = 0
    skipped: int = 0


def around(tree: Tree, number: int, after: int = 0) -> Shown:
    """Return the root with the path to a version, and the versions under it.

    Args:
        tree: the family.
        number: of the version.
        after: the number of its children that were shown already.
    """
    top = under(tree, number, after)
    way = tree.above(number)
    skipped = max(0, len(way) - 1 - MOST_ABOVE)
    if skipped:
        way = [way[0], *way[1 + skipped :]]
        top_of_rest = way[1]
    for at in reversed(way):
        top = Shown(at, [top], others=len(tree.children[at]) - 1)
        if skipped and at == top_of_rest:
            top.skipped = skipped
    return top


def under(tree: Tree, number: int, after: int = 0, most: int = MOST) -> Shown:
    """Return a version and those under it, generation by generation, until the page is full.

    Args:
        tree: the family.
        number: of the version.
        after: the number of its children that were shown already.
        most: the most versions on a page.
    """
    top = Shown(number)
    waiting = [(top, after, 0)]
    for shown, start, level in waiting:
        below = tree.children[shown.number]
        here = below[start : start + MOST_CHILDREN]
        if shown is not top and (len(here) > most or level >= LEVELS):
            shown.folded = int(tree.sizes[shown.number])
            continue
        most -= len(here)
        shown.children = [Shown(child) for child in here]
        shown.after = start + len(here)
        shown.left = max(0, len(below) - shown.after)
        waiting += [(child, 0, level + 1) for child in shown.children]
    return top
