"""New ids for what is published, which tell nothing of the answers or of the old ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from winosmith.dataset import Dataset
from winosmith.problem import Extra, Lineage, Problem

__all__ = ["anonymous"]


def anonymous(dataset: Dataset, order: Sequence[Sequence[int]], name: str) -> Dataset:
    """Return the data set with new ids for problems, twins and families, rows as they were.

    Problems are numbered in the shuffled order, which is made from their sentences and options
    alone; so an id, and what stands beside it, can be computed by anyone and is worth nothing.

    Args:
        dataset: as it was collected.
        order: its shuffled blocks.
        name: the prefix of the new ids.

    >>> from winosmith.release._split import shuffled_blocks
    >>> old = Dataset([Problem("3QHITW-2", "The _ fell.", ("cup", "jug"), 1, "3QHITW")])
    >>> new = anonymous(old, shuffled_blocks(old, seed=0), "mine")[0]
    >>> new.id, new.twin_id
    ('mine-0', 'mine-t0')
    """
    rows = [row for block in order for row in block]
    width = len(str(max(len(rows) - 1, 0)))
    ids = {dataset[row].id: f"{name}-{number:0{width}d}" for number, row in enumerate(rows)}
    twins: dict[str, str] = {}
    for row in rows:
        twin_id = dataset[row].twin_id
        if twin_id is not None:
            twins.setdefault(twin_id, f"{name}-t{len(twins):0{width}d}")
    strangers: dict[str, str] = {}

    def renamed(old: str) -> str:
        """Name also the roots and parents that are not in the data set."""
        return ids.get(old) or strangers.setdefault(old, f"{name}-x{len(strangers)}")

    def lineage(old: Lineage | None) -> Lineage | None:
        return old and replace(old, root=renamed(old.root), parent=renamed(old.parent))

    lineages = {row: lineage(dataset[row].lineage) for row in rows}
    return Dataset(
        (
            replace(
                problem,
                id=ids[problem.id],
                twin_id=None if problem.twin_id is None else twins[problem.twin_id],
                lineage=lineages[row],
            )
            for row, problem in enumerate(dataset)
        ),
        name,
    )


def bare(problem: Problem) -> Problem:
    """Return a dev or test problem as it is published: without what only its file's format knew."""
    return replace(problem, extra=Extra())
