"""The three depths of a problem, of which every figure says the one it uses."""

from __future__ import annotations

from typing import NamedTuple

from winosmith.dataset import Dataset
from winosmith.lineage._walk import DISTANCE, find, is_orphan, walk
from winosmith.problem import Problem
from winosmith.text import edit_distance, tokens

__all__ = ["MEASURED", "Depths", "depths"]

MEASURED = {"lineage": "depth.lineage", "edit": "depth.edit"}
"""The extra keys of depths that whoever has the whole family measured. They count where the data
lack what it takes to measure them: a parent or a root that is not public."""


class Depths(NamedTuple):
    """How far a problem is from its root, three ways.

    The depths that EvoGrad prints follow no single rule: its table 2 prints 0, 2, 4, 4 where the
    token edit distances are 0, 2, 3, 3, and its table 3 prints 1, 2, 5, 6, 5 for 1, 2, 7, 10, 9.

    Attributes:
        declared: as the contributor or the file states it; None when nothing is stated.
        lineage: the distinct token positions that were touched on the path from the root, see
            `winosmith.lineage`; when an ancestor is not here, what was measured (`MEASURED`), else
            None; None, too, when edits don't fit.
        edit: the token edit distance (Levenshtein) to the root; when that is not here, what was
            measured, else None.
    """

    declared: int | None
    lineage: int | None
    edit: int | None


def depths(dataset: Dataset) -> tuple[Depths, ...]:
    """Return the depths of each problem, in order; those of a root are (0, 0, 0).

    A deleted token leaves an empty position, which a later insertion there fills; so a position
    counts once, however often it is changed, and lineage depth never falls on the way down:

        the cup was full  →  the mug was full  →  the was full  →  the pot was so full
        depth 0              1                     1                2

    Where a lineage states no edits, a shortest script from the parent is taken. Trees of any size
    and depth take linear time.

    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"))
    >>> from winosmith.lineage import perturbed
    >>> one = perturbed(root, "The mug hit the _ .", ("vase", "tray"), None, source="person")
    >>> two = perturbed(one, "The cup hit the old _ .", ("vase", "tray"), None, source="person")
    >>> [tuple(found) for found in depths(Dataset([root, one, two]))]
    [(0, 0, 0), (None, 1, 1), (None, 2, 1)]
    """
    found = [Depths(_declared(problem), None, None) for problem in dataset]
    roots: dict[str, list[str] | None] = {}
    for stop in walk(dataset):
        lineage = dataset[stop.row].lineage
        edit: int | None = None if is_orphan(dataset, stop.row) else 0
        if lineage is not None:
            if lineage.root not in roots:
                root = find(dataset, lineage.root)
                roots[lineage.root] = root if root is None else tokens(dataset[root].sentence)
            known = roots[lineage.root]
            edit = (
                _measured(dataset[stop.row], "edit")
                if known is None
                else edit_distance(known, stop.tokens)
            )
        touched = stop.touched.count if stop.touched else None
        if touched is None and lineage is not None and stop.fault is None:
            touched = _measured(dataset[stop.row], "lineage")
        found[stop.row] = found[stop.row]._replace(lineage=touched, edit=edit)
    return tuple(found)


def _measured(problem: Problem, kind: str) -> int | None:
    stated = problem.extra.get(MEASURED[kind])
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else None


def _declared(problem: Problem) -> int | None:
    if problem.lineage is not None:
        return problem.lineage.declared
    stated = problem.extra.get(DISTANCE, 0)
    return stated if isinstance(stated, int) else None
