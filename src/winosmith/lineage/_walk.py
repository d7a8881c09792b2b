"""Walk the trees of a data set from the roots down, whatever their size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from winosmith.dataset import Dataset
from winosmith.errors import DataError, ProblemError
from winosmith.lineage._edits import apply_edits, edit_script
from winosmith.lineage._touched import Touched, untouched
from winosmith.problem import Edit
from winosmith.text import tokens

__all__ = ["DISTANCE", "Stop", "find", "is_orphan", "loops", "parents", "walk"]

DISTANCE = "evograd.distance"
"""The extra key of a declared depth where the root is not in the file (`formats`, EvoGrad)."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One problem on the walk.

    Attributes:
        row: of the problem.
        tokens: of its sentence.
        touched: since its root; None when the way from there is not known.
        edits: from its parent, as they stand in the data or, where there are none, computed;
            empty when the parent is not here.
        fault: why the edits that stand in the data don't turn the parent into it; None.
    """

    row: int
    tokens: tuple[str, ...]
    touched: Touched | None
    edits: tuple[Edit, ...] = ()
    fault: str | None = None


def find(dataset: Dataset, problem_id: str) -> int | None:
    """Return the row of the problem with that id, or None."""
    try:
        return dataset.row(problem_id)
    except DataError:
        return None


def is_orphan(dataset: Dataset, row: int) -> bool:
    """Tell whether a problem is no root although nothing is known of its root."""
    problem = dataset[row]
    return problem.lineage is None and DISTANCE in problem.extra


def parents(dataset: Dataset) -> list[int | None]:
    """Return the row of each problem's parent; None for roots, and when the parent is not here."""
    return [
        find(dataset, problem.lineage.parent) if problem.lineage else None for problem in dataset
    ]


def loops(above: list[int | None]) -> list[tuple[int, ...]]:
    """Return the rows of each cycle: problems that are their own ancestors.

    Args:
        above: the row of each problem's parent, from `parents`.
    """
    seen_on = [-1] * len(above)
    found = []
    for start in range(len(above)):
        row: int | None = start
        while row is not None and seen_on[row] < 0:
            seen_on[row] = start
            row = above[row]
        if row is not None and seen_on[row] == start:
            loop = [row]
            while (after := above[loop[-1]]) is not None and after != row:
                loop.append(after)
            found.append(tuple(loop))
    return found


def walk(dataset: Dataset) -> Iterator[Stop]:
    """Yield a stop for each problem, parents before children; cycles and what hangs on them not."""
    above = parents(dataset)
    children: dict[int, list[int]] = {}
    waiting: list[tuple[int, Stop | None]] = []
    for row, parent in enumerate(above):
        if parent is None:
            waiting.append((row, None))
        else:
            children.setdefault(parent, []).append(row)
    waiting.reverse()
    while waiting:
        row, parent_stop = waiting.pop()
        stop = _first(dataset, row) if parent_stop is None else _next(dataset, row, parent_stop)
        yield stop
        waiting.extend((child, stop) for child in reversed(children.get(row, ())))


def _first(dataset: Dataset, row: int) -> Stop:
    cut = tuple(tokens(dataset[row].sentence))
    is_root = dataset[row].lineage is None and not is_orphan(dataset, row)
    return Stop(row, cut, untouched(len(cut)) if is_root else None)


def _next(dataset: Dataset, row: int, parent: Stop) -> Stop:
    problem = dataset[row]
    cut = tuple(tokens(problem.sentence))
    edits = problem.lineage.edits if problem.lineage else ()
    if not edits:
        edits = edit_script(parent.tokens, cut)
    else:
        fault = _fault(parent.tokens, edits, cut)
        if fault:
            return Stop(row, cut, None, edits, fault)
    return Stop(row, cut, parent.touched and parent.touched.after(edits), edits)


def _fault(before: tuple[str, ...], edits: tuple[Edit, ...], after: tuple[str, ...]) -> str | None:
    """Return why edits don't turn the one sentence into the other, or None."""
    try:
        became = apply_edits(before, edits)
    except ProblemError as error:
        return str(error)
    if became == after:
        return None
    at = next(
        (i for i, (one, other) in enumerate(zip(became, after, strict=False)) if one != other),
        min(len(became), len(after)),
    )
    one, other = (" ".join(row[at : at + 3]) or "the end" for row in (became, after))
    return f"they lead to {one!r} at token {at}, where the sentence has {other!r}"
