"""Lineages that can't be true."""

from __future__ import annotations

from winosmith.dataset import Dataset
from winosmith.lineage._depths import depths
from winosmith.lineage._walk import find, loops, parents, walk

__all__ = ["check_lineages"]

_SHOWN = 5
"""How many ids of a cycle a message names."""


def check_lineages(dataset: Dataset, *, complete: bool = True) -> dict[int, str]:
    """Return what is wrong with lineages, by row; rows with nothing wrong are left out.

    Always wrong: a cycle; a root that the parent does not share; edits that don't turn the
    parent's sentence into the child's. A declared depth is nobody's fault while it differs from
    the edits only in number, as those that EvoGrad prints do; `explain` says why.

    Args:
        dataset: the problems.
        complete: also report what is no contradiction in a part of a family: a parent or a root
            that is not here, and a declared depth that no way of counting can give (0 for a
            sentence that is not the root's, or more for one that is).

    >>> from winosmith import Lineage, Problem
    >>> lost = Problem("c", "A _ b.", ("x", "y"), lineage=Lineage("r", "p"))
    >>> check_lineages(Dataset([lost]))
    {0: "the parent 'p' is not in the data set"}
    """
    if not any(problem.lineage for problem in dataset):
        return {}
    above = parents(dataset)
    wrong = {row: _loop(dataset, loop) for loop in loops(above) for row in loop}
    for row, parent in enumerate(above):
        fault = None if parent is None else _other_root(dataset, row, parent)
        if fault:
            wrong.setdefault(row, fault)
    stated = any(problem.lineage and problem.lineage.edits for problem in dataset)
    for stop in walk(dataset) if stated else ():
        if stop.fault:
            parent_id = dataset.problems[above[stop.row] or 0].id
            wrong.setdefault(
                stop.row, f"the edits do not fit the parent {parent_id!r}: {stop.fault}"
            )
    if complete:
        for row, fault in _incomplete(dataset).items():
            wrong.setdefault(row, fault)
    return dict(sorted(wrong.items()))


def _loop(dataset: Dataset, loop: tuple[int, ...]) -> str:
    ids = [repr(dataset[row].id) for row in loop]
    if len(ids) == 1:
        return "the problem is its own parent; a root has no lineage"
    more = f" … ({len(ids):,} problems)" if len(ids) > _SHOWN else ""
    chain = " ← ".join([*ids[:_SHOWN], *([] if more else ids[:1])])
    return f"the lineage runs in a circle: {chain}{more}"


def _other_root(dataset: Dataset, row: int, parent: int) -> str | None:
    lineage, above = dataset[row].lineage, dataset[parent]
    if lineage is None or lineage.root == above.root:
        return None
    return f"the root is {lineage.root!r}, but that of its parent {above.id!r} is {above.root!r}"


def _incomplete(dataset: Dataset) -> dict[int, str]:
    found = {}
    for row, (problem, of) in enumerate(zip(dataset, depths(dataset), strict=True)):
        lineage = problem.lineage
        if lineage is None:
            continue
        root = find(dataset, lineage.root)
        if find(dataset, lineage.parent) is None:
            found[row] = f"the parent {lineage.parent!r} is not in the data set"
        elif root is None:
            found[row] = f"the root {lineage.root!r} is not in the data set"
        elif of.declared == 0 and of.edit:
            found[row] = f"the declared depth is 0, but the root is {_edits(of.edit)} away"
        elif of.declared and of.edit == 0 and dataset[root].options == problem.options:
            found[row] = (
                f"the declared depth is {of.declared}, but sentence and options are the root's"
            )
    return found


def _edits(number: int) -> str:
    return f"{number:,} edit{'s' * (number != 1)}"
