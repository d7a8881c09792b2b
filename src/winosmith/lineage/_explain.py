"""Why the three depths of a problem differ, in words."""

from __future__ import annotations

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.lineage._depths import Depths, depths
from winosmith.lineage._edits import edit_script
from winosmith.lineage._walk import find
from winosmith.problem import Edit, Problem
from winosmith.text import tokens

__all__ = ["explain"]

_SIGNS = {"substitute": "{old} → {new}", "insert": "+{new}", "delete": "−{old}"}


def explain(dataset: Dataset, row: int) -> str:
    """Return how each depth of one problem comes about, a line each.

    Raises:
        DataError: there is no such row.

    >>> from winosmith.lineage import perturbed
    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"))
    >>> one = perturbed(root, "The mug hit the _ .", root.options, 0, source="person")
    >>> two = perturbed(one, "The cup hit the old _ .", root.options, 1, source="person", declared=3)
    >>> print(explain(Dataset([root, one, two]), 2))
    declared 3: as stated; neither way of counting gives it
    lineage 2: the token positions touched in 2 steps from the root; 3 edits were made
    edit 1: the fewest edits from the root: +old
    """  # noqa: E501
    if not 0 <= row < len(dataset):
        raise DataError(f"there is no row {row}; the data set has {len(dataset):,} rows")
    path = _path(dataset, row)
    of = depths(Dataset(path))[0]
    if of == (0, 0, 0) and path[0].lineage is None:
        return "a root: its depths are 0"
    return "\n".join([_of_declared(of), _of_lineage(of, path), _of_edit(of, path[0], dataset)])


def _path(dataset: Dataset, row: int) -> list[Problem]:
    """Return the problem, its parent and so on, and the root if it is here."""
    found: dict[int, None] = {}
    now: int | None = row
    while now is not None and now not in found:
        found[now] = None
        lineage = dataset[now].lineage
        now = find(dataset, lineage.parent) if lineage else None
    first = dataset[row].lineage
    root = find(dataset, first.root) if first else None
    if root is not None:
        found[root] = None
    return [dataset[at] for at in found]


def _of_declared(of: Depths) -> str:
    if of.declared is None:
        return "declared —: nothing is stated"
    same = [name for name in ("lineage", "edit") if getattr(of, name) == of.declared]
    agrees = f"it is the {' and the '.join(same)} depth" if same else ""
    if not same and None in (of.lineage, of.edit):
        agrees = "not all that it could be compared with is known"
    return f"declared {of.declared}: as stated; {agrees or 'neither way of counting gives it'}"


def _of_lineage(of: Depths, path: list[Problem]) -> str:
    if of.lineage is None:
        return "lineage —: an ancestor is not here, or the edits do not fit"
    steps = [p for p in path if p.lineage]
    cut = {p.id: tokens(p.sentence) for p in path}
    made = sum(
        len(p.lineage.edits or edit_script(cut[p.lineage.parent], cut[p.id]))
        for p in steps
        if p.lineage
    )
    return (
        f"lineage {of.lineage}: the token positions touched in {_count(len(steps), 'step')} from "
        f"the root; {_count(made, 'edit')} {'was' if made == 1 else 'were'} made"
    )


def _of_edit(of: Depths, problem: Problem, dataset: Dataset) -> str:
    if of.edit is None or problem.lineage is None:
        return "edit —: the root is not here"
    root = dataset[dataset.row(problem.lineage.root)]
    script = edit_script(tokens(root.sentence), tokens(problem.sentence))
    shown = ", ".join(map(_sign, script)) or "none, the sentence is the root's"
    return f"edit {of.edit}: the fewest edits from the root: {shown}"


def _sign(edit: Edit) -> str:
    return _SIGNS[edit.op].format(old=edit.old, new=edit.new)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
