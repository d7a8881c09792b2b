"""New ids for what is published, which tell nothing of the answers or of the old ids."""

from __future__ import annotations

from dataclasses import replace

from winosmith.dataset import Dataset
from winosmith.problem import Extra, Lineage, Problem


def anonymous(dataset: Dataset, name: str) -> Dataset:
    """Return the data set with new ids for problems, twins and families, numbered by their rows.

    The rows should be in the shuffled order, which is made from sentences and options alone: an id
    can then be computed by anyone, and is worth nothing.

    Args:
        dataset: in the shuffled order.
        name: the prefix of the new ids.

    >>> old = Dataset([Problem("3QHITW-2", "The _ fell.", ("cup", "jug"), 1, "3QHITW")])
    >>> new = anonymous(old, "mine")[0]
    >>> new.id, new.twin_id
    ('mine-0', 'mine-t0')
    """
    width = len(str(max(len(dataset) - 1, 0)))
    ids = {problem.id: f"{name}-{row:0{width}d}" for row, problem in enumerate(dataset)}
    twins: dict[str, str] = {}
    for problem in dataset:
        if problem.twin_id is not None:
            twins.setdefault(problem.twin_id, f"{name}-t{len(twins):0{width}d}")
    strangers: dict[str, str] = {}

    def renamed(old: str) -> str:
        """Name also the roots and parents that are not in the data set."""
        return ids.get(old) or strangers.setdefault(old, f"{name}-x{len(strangers)}")

    def lineage(old: Lineage | None) -> Lineage | None:
        return old and replace(old, root=renamed(old.root), parent=renamed(old.parent))

    return Dataset(
        (
            replace(
                problem,
                id=ids[problem.id],
                twin_id=None if problem.twin_id is None else twins[problem.twin_id],
                lineage=lineage(problem.lineage),
            )
            for problem in dataset
        ),
        name,
    )


def bare(problem: Problem) -> Problem:
    """Return a dev or test problem as it is published: without what only its file's format knew."""
    return replace(problem, extra=Extra())
