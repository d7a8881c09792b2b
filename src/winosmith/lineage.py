"""Edits between sentences, the trees that they grow, and three measures of depth.

EvoGrad (2024, section 3.1) perturbs a sentence one token at a time, again and again, and calls the
number of perturbations its depth. Its equation is lost in print, and its printed depths follow no
single rule, so there are three, and whoever reports one says which:

- *declared*: what the contributor or the file states (`Lineage.declared`).
- *lineage*: how many distinct tokens were touched along the path from the root. "A depth increment
  corresponds solely to the perturbation of a token distinct from those previously perturbed": a
  token that is substituted twice, or inserted and then changed, counts once; one that is deleted
  and another inserted in its place are two.
- *edit*: the token Levenshtein distance to the root, whatever the path was.

Tokens are those of `winosmith.text.tokens`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import ProblemError
from winosmith.problem import Edit, Extra, Lineage, Origin, Problem, Scalar
from winosmith.text import edit_distance, tokens

__all__ = [
    "UNVALIDATED",
    "Depths",
    "apply_edits",
    "check_lineages",
    "depths",
    "edit_script",
    "explain",
    "perturbed",
    "unmarked",
]

UNVALIDATED = "evolve.unvalidated"
"""The key of `extra` that is True on generated problems until people have judged them."""

_ID_DIGITS = 10


def edit_script(before: Sequence[str], after: Sequence[str]) -> tuple[Edit, ...]:
    """Return a shortest sequence of edits that turns one sequence of tokens into the other.

    The edits apply one after another: the position of each is counted in the tokens as they are
    just before it. There are as many as the Levenshtein distance; of equally short scripts one is
    taken, always the same.

    >>> edit_script("it is large".split(), "so it is small".split())
    (Edit(op='insert', at=0, old='', new='so'), Edit(op='substitute', at=3, old='large', new='small'))
    """  # noqa: E501
    edits: list[Edit] = []
    shift = 0
    for op in Levenshtein.editops(before, after):
        at = op.src_pos + shift
        if op.tag == "replace":
            edits.append(Edit("substitute", at, before[op.src_pos], after[op.dest_pos]))
        elif op.tag == "insert":
            edits.append(Edit("insert", at, new=after[op.dest_pos]))
            shift += 1
        else:
            edits.append(Edit("delete", at, old=before[op.src_pos]))
            shift -= 1
    return tuple(edits)


def apply_edits(before: Sequence[str], edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return the tokens after the edits, applied one after another.

    Raises:
        ProblemError: an edit is beyond the end, or another token stands at its place.

    >>> apply_edits(["it", "is", "large"], [Edit("substitute", 2, "large", "small")])
    ('it', 'is', 'small')
    """
    after = list(before)
    for edit in edits:
        if edit.at > len(after) - (edit.op != "insert"):
            raise ProblemError(f"an edit is at token {edit.at}; there are {len(after)}")
        if edit.op != "insert" and after[edit.at] != edit.old:
            raise ProblemError(
                f"an edit changes {edit.old!r} at token {edit.at}, where {after[edit.at]!r} stands"
            )
        after[edit.at : edit.at + (edit.op != "insert")] = [edit.new] if edit.new else []
    return tuple(after)


def perturbed(
    parent: Problem,
    sentence: str,
    options: tuple[str, ...],
    answer: int | None,
    *,
    source: str,
    declared: int | None = None,
    extra: Mapping[str, Scalar] | None = None,
) -> Problem:
    """Return a child of a problem, with its lineage, marked as not yet judged by people.

    It keeps the parent's licence, domain and embargo, and has no twin. Its id is made of the root's
    and of a digest of sentence and options; it does not depend on the answer.

    Args:
        parent: what was perturbed.
        sentence: the new sentence, with one blank.
        options: the new options, in the order of the parent's.
        answer: the index of the right one.
        source: who perturbed it: "wordnet", "chat", "masked", "person".
        declared: the depth that the source states.
        extra: what else to keep.

    Raises:
        ProblemError: it is no problem.

    >>> cup = Problem("c", "The cup hit the jug and _ broke.", ("cup", "jug"), 0)
    >>> child = perturbed(cup, "The cup hit the jug but _ broke.", cup.options, 1, source="person")
    >>> child.lineage.edits
    (Edit(op='substitute', at=5, old='and', new='but'),)
    """
    root = parent.lineage.root if parent.lineage else parent.id
    known = parent.origin or Origin()
    digest = hashlib.sha256("\x00".join([sentence, *options]).encode()).hexdigest()
    return Problem(
        id=f"{root}.{digest[:_ID_DIGITS]}",
        sentence=sentence,
        options=options,
        answer=answer,
        origin=Origin(source=source, domain=known.domain, licence=known.licence),
        lineage=Lineage(
            root, parent.id, edit_script(tokens(parent.sentence), tokens(sentence)), declared
        ),
        embargo=parent.embargo,
        extra=Extra({**(extra or {}), UNVALIDATED: True}),
    )


@dataclass(frozen=True, slots=True)
class Depths:
    """The depths of one problem; a root has 0 of each.

    Attributes:
        declared: None when nothing is declared.
        lineage: None when a problem on the path is missing.
        edit: None when the root is missing.
    """

    declared: int | None
    lineage: int | None
    edit: int | None


_ROOT = Depths(0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Path:
    """Where a path stands: how many tokens were touched, and which of those here were."""

    touched: int
    marks: tuple[bool, ...]

    def after(self, edits: Iterable[Edit]) -> _Path:
        touched, marks = self.touched, list(self.marks)
        for edit in edits:
            known = edit.op != "insert" and marks[edit.at]
            touched += not known
            marks[edit.at : edit.at + (edit.op != "insert")] = [True] if edit.new else []
        return _Path(touched, tuple(marks))


def depths(dataset: Dataset) -> tuple[Depths, ...]:
    """Return the three depths of each problem, in order; linear in the number of problems.

    Where a lineage names no edits, as in a table that declares depths alone, the shortest script
    from the parent stands for them.

    Raises:
        ProblemError: recorded edits do not fit the parent's tokens; see `check_lineages`.

    >>> root = Problem("r", "The cup hit the jug and _ broke.", ("cup", "jug"), 0)
    >>> once = perturbed(root, "The cup hit the jug but _ broke.", root.options, 1, source="person")
    >>> twice = perturbed(once, "The cup hit the jug so _ broke.", root.options, 1, source="person")
    >>> depths(Dataset([root, once, twice]))[2]
    Depths(declared=None, lineage=1, edit=1)
    """
    paths: dict[int, _Path | None] = {}
    cut = [tuple(tokens(problem.sentence)) for problem in dataset]
    for row in range(len(dataset)):
        for at in reversed(_unknown_path(dataset, row, paths)):
            paths[at] = _path(dataset, at, paths, cut)
    return tuple(_depths(dataset, row, paths[row], cut) for row in range(len(dataset)))


def _unknown_path(dataset: Dataset, row: int, known: Mapping[int, object]) -> list[int]:
    """Return the rows from this one up to the last whose path is not known; cycles end there."""
    found: dict[int, None] = {}
    at: int | None = row
    while at is not None and at not in known and at not in found:
        found[at] = None
        at = _parent_row(dataset, at)
    return list(found)


def _parent_row(dataset: Dataset, row: int) -> int | None:
    lineage = dataset[row].lineage
    if lineage is None or lineage.parent not in dataset:
        return None
    return dataset.row(lineage.parent)


def _path(
    dataset: Dataset, row: int, paths: Mapping[int, _Path | None], cut: Sequence[tuple[str, ...]]
) -> _Path | None:
    lineage = dataset[row].lineage
    if lineage is None:
        return _Path(0, (False,) * len(cut[row]))
    parent = _parent_row(dataset, row)
    before = None if parent is None else paths.get(parent)
    if parent is None or before is None:
        return None
    if apply_edits(cut[parent], lineage.edits) != cut[row] and lineage.edits:
        raise ProblemError(
            f"the edits of {dataset[row].id!r} do not turn the sentence of its parent into its own"
        )
    return before.after(lineage.edits or edit_script(cut[parent], cut[row]))


def _depths(
    dataset: Dataset, row: int, path: _Path | None, cut: Sequence[tuple[str, ...]]
) -> Depths:
    lineage = dataset[row].lineage
    if lineage is None:
        return _ROOT
    root = dataset.row(lineage.root) if lineage.root in dataset else None
    return Depths(
        lineage.declared,
        path and path.touched,
        None if root is None else edit_distance(cut[root], cut[row]),
    )


def check_lineages(dataset: Dataset) -> dict[int, str]:
    """Return the rows whose lineage is wrong, each with the reason.

    Found are cycles, parents and roots that are missing or disagree, and edits that do not turn
    the parent's sentence into the problem's. A declared depth that differs from the others is no
    fault (see `explain`), but one of 0 beside a changed sentence is.
    """
    faults: dict[int, str] = {}
    looping = _looping(dataset)
    for row, problem in enumerate(dataset):
        if problem.lineage is not None:
            reason = "its lineage is a cycle" if row in looping else _fault(dataset, problem)
            if reason is not None:
                faults[row] = reason
    return faults


def _looping(dataset: Dataset) -> set[int]:
    """Return the rows from which the parents never reach a root."""
    ends: dict[int, bool] = {}
    for row in range(len(dataset)):
        path = _unknown_path(dataset, row, ends)
        if not path:
            continue
        above = _parent_row(dataset, path[-1])
        loops = above is not None and ends.get(above, True)
        ends.update(dict.fromkeys(path, loops))
    return {row for row, loops in ends.items() if loops}


def _fault(dataset: Dataset, problem: Problem) -> str | None:
    lineage = problem.lineage
    if lineage is None:
        return None
    if lineage.parent not in dataset:
        return f"its parent {lineage.parent!r} is not in the data"
    if lineage.root not in dataset:
        return f"its root {lineage.root!r} is not in the data"
    parent = dataset[dataset.row(lineage.parent)]
    if (parent.lineage.root if parent.lineage else parent.id) != lineage.root:
        return f"its parent {parent.id!r} has another root than {lineage.root!r}"
    before, after = tokens(parent.sentence), tokens(problem.sentence)
    if lineage.declared == 0 and before != after:
        return "it declares depth 0, and its sentence is not its parent's"
    if not lineage.edits:
        return None
    try:
        made = apply_edits(before, lineage.edits)
    except ProblemError as error:
        return f"its edits do not fit the sentence of its parent {parent.id!r}: {error}"
    if made != tuple(after):
        return (
            f"its edits turn the sentence of its parent {parent.id!r} into {' '.join(made)!r}, "
            "which is not its own"
        )
    return None


def explain(dataset: Dataset, row: int) -> str:
    """Say in words where the three depths of a problem come from, and why they differ.

    Raises:
        ProblemError: recorded edits do not fit; see `check_lineages`.

    >>> root = Problem("r", "The cup hit the jug and _ broke.", ("cup", "jug"), 0)
    >>> child = Problem("c", "The cup hit the jug but _ broke.", ("cup", "jug"), 1,
    ...                 lineage=Lineage("r", "r", declared=2))
    >>> print(explain(Dataset([root, child]), 1))
    declared: 2, by its source
    lineage: 1 distinct token touched on a path of 1 step
    edit: 1 from the root: and → but
    """
    path = [row]
    while (above := _parent_row(dataset, path[-1])) is not None and above not in path:
        path.append(above)
    found = depths(dataset.select(sorted({*path, *_root_row(dataset, row)})))
    own = dict(zip(sorted({*path, *_root_row(dataset, row)}), found, strict=True))[row]
    declared = "none" if own.declared is None else f"{own.declared}, by its source"
    lines = [f"declared: {declared}"]
    steps = len(path) - 1
    lines.append(
        "lineage: unknown, because a problem on its path is not in the data"
        if own.lineage is None
        else f"lineage: {own.lineage} distinct token{'s' * (own.lineage != 1)} touched on a path "
        f"of {steps} step{'s' * (steps != 1)}"
    )
    lines.append(_edit_told(dataset, row, own))
    return "\n".join(lines)


def _root_row(dataset: Dataset, row: int) -> list[int]:
    lineage = dataset[row].lineage
    return [dataset.row(lineage.root)] if lineage and lineage.root in dataset else []


def _edit_told(dataset: Dataset, row: int, own: Depths) -> str:
    root = _root_row(dataset, row)
    if own.edit is None:
        return "edit: unknown, because its root is not in the data"
    if not root or not own.edit:
        return f"edit: {own.edit} from the root"
    script = edit_script(tokens(dataset[root[0]].sentence), tokens(dataset[row].sentence))
    changes = ", ".join(f"{edit.old or '∅'} → {edit.new or '∅'}" for edit in script)
    return f"edit: {own.edit} from the root: {changes}"


def unmarked(problem: Problem) -> Problem:
    """Return the problem without the mark of `UNVALIDATED`, after people have judged it."""
    kept = {key: value for key, value in problem.extra.items() if key != UNVALIDATED}
    return replace(problem, extra=Extra(kept))
