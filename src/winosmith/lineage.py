"""The lineage of perturbed problems: edits, three measures of depth, and checks.

>>> from winosmith import Dataset, Problem
>>> root = Problem("r", "Sue beat Sally because _ ran.", ("Sue", "Sally"), 0)
>>> child = make_child(root, "Sue beat Sally although _ ran.", root.options, 1, source="person")
>>> [str(edit.op) + ": " + edit.old + " → " + edit.new for edit in child.lineage.edits]
['substitute: because → although']
>>> depths(Dataset([root, child]))[1]
Depths(declared=None, lineage=1, edit=1)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import DataError, ProblemError
from winosmith.problem import Edit, Extra, Lineage, Origin, Problem, Scalar
from winosmith.seen import check_blanks
from winosmith.text import compute_edit_distance, format_count, tokenize

UNVALIDATED = "evolve.unvalidated"
"""Key in `extra`: True for a generated problem until people have judged it."""

_ID_DIGITS = 10
"""Number of hex digits in an id's digest. Among 100,000 ids, a collision has probability 0.005."""

_NOTHING: Mapping[str, Scalar] = {}


def make_child(
    parent: Problem,
    sentence: str,
    options: tuple[str, ...],
    answer: int | None,
    *,
    source: str,
    declared: int | None = None,
    extra: Mapping[str, Scalar] = _NOTHING,
) -> Problem:
    """Create a perturbed problem with a new sentence or new options, and its lineage.

    The child's id consists of the root's id and a digest of the sentence and the options. The id
    does not depend on the answer, and equal children have equal ids. The child inherits the
    licence, domain and embargo, but not the twin id. It inherits the pronoun if the options are
    unchanged.

    Args:
        parent: the problem to perturb, which need not be a root.
        sentence: the child's sentence.
        options: the child's options.
        answer: the child's 0-based answer; None if it is not yet known.
        source: who or what made the child ("person", "chat", "wordnet").
        declared: the depth that the source states, if any.
        extra: values for `extra` in addition to `UNVALIDATED`.

    Raises:
        DataError: the parent is a question.
        ProblemError: sentence and options are unchanged, or the child is not a valid problem.

    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"), 0)
    >>> child = make_child(root, "The mug hit the _ .", root.options, 0, source="person")
    >>> child.id, child.lineage.parent, child.lineage.edits[0].new, dict(child.extra)
    ('r.76e67fa1c4', 'r', 'mug', {'evolve.unvalidated': True})
    """
    check_blanks([parent], "a perturbation", unique=True)
    if (sentence, options) == (parent.sentence, parent.options):
        raise ProblemError(
            f"the perturbation changes neither the sentence nor the options of {parent.id!r}"
        )
    origin = parent.origin or Origin()
    seen = "\0".join((sentence, *options)).encode("utf-8", "surrogatepass")
    return Problem(
        id=f"{parent.root}.{hashlib.sha256(seen).hexdigest()[:_ID_DIGITS]}",
        sentence=sentence,
        options=options,
        answer=answer,
        pronoun=parent.pronoun if options == parent.options else None,
        origin=Origin(source, domain=origin.domain, licence=origin.licence),
        lineage=Lineage(
            parent.root,
            parent.id,
            find_edits(tokenize(parent.sentence), tokenize(sentence)),
            declared,
        ),
        embargo=parent.embargo,
        extra=Extra({**extra, UNVALIDATED: True}),
    )


def find_edits(before: Sequence[str], after: Sequence[str]) -> tuple[Edit, ...]:
    """Return a shortest edit script from one sequence of tokens to another.

    Edits are applied from left to right: `at` is an index into the tokens before that edit. The
    number of edits is the Levenshtein distance.

    Args:
        before: tokens from `winosmith.text.tokenize`, none of them empty.
        after: the tokens that the edits produce.

    >>> for edit in find_edits("the cup fell .".split(), "the big jug fell".split()):
    ...     print(edit.op, edit.at, repr(edit.old), repr(edit.new))
    insert 1 '' 'big'
    substitute 2 'cup' 'jug'
    delete 4 '.' ''
    """
    return tuple(
        Edit("insert", step.dest_pos, new=after[step.dest_pos])
        if step.tag == "insert"
        else Edit("delete", step.dest_pos, old=before[step.src_pos])
        if step.tag == "delete"
        else Edit("substitute", step.dest_pos, before[step.src_pos], after[step.dest_pos])
        for step in Levenshtein.editops(before, after)
    )


def apply_edits(tokens: Sequence[str], edits: Iterable[Edit]) -> tuple[str, ...]:
    """Apply edits to tokens, one after another.

    Raises:
        ProblemError: an edit's position is beyond the end, or does not contain the old token.

    >>> apply_edits(("it", "broke"), [Edit("substitute", 1, "broke", "fell")])
    ('it', 'fell')
    """
    now = list(tokens)
    for number, edit in enumerate(edits, 1):
        there = now[edit.at] if edit.at < len(now) else None
        if edit.op == "insert" and edit.at <= len(now):
            now.insert(edit.at, edit.new)
        elif edit.op == "insert" or there is None:
            raise ProblemError(
                f"edit {number} is at token {edit.at}, beyond the end of {len(now)} tokens"
            )
        elif there != edit.old:
            raise ProblemError(
                f"edit {number} expects {edit.old!r} at token {edit.at}, but found {there!r}"
            )
        elif edit.op == "substitute":
            now[edit.at] = edit.new
        else:
            del now[edit.at]
    return tuple(now)


MEASURED = {"lineage": "depth.lineage", "edit": "depth.edit"}
"""Keys in `extra` for depths that were measured while the whole family was available. These depths
are used if a parent or root is missing from the data, for example because it is not public."""

DISTANCE = "evograd.distance"
"""Key in `extra` for the declared depth if the root is not in the file (as in EvoGrad's format)."""


class Depths(NamedTuple):
    """A problem's distance from its root, by three measures.

    The depths in EvoGrad follow no single rule: its table 2 states the depths 0, 2, 4, 4 for the
    token edit distances 0, 2, 3, 3, and its table 3 states 1, 2, 5, 6, 5 for 1, 2, 7, 10, 9.

    Attributes:
        declared: the depth that the contributor or the file states, or None.
        lineage: the number of distinct token positions that were changed on the path from the
            root (see `depths`). If an ancestor is missing, this is the measured depth (`MEASURED`),
            if any. If edits are inconsistent, it is None.
        edit: the token edit distance (Levenshtein) to the root. If the root is missing, this is
            the measured depth, if any.
    """

    declared: int | None
    lineage: int | None
    edit: int | None


def depths(dataset: Dataset) -> tuple[Depths, ...]:
    """Return the depths of each problem, in order. A root has (0, 0, 0).

    A deleted token leaves an empty position, which a later insertion fills. Each position
    thus counts once, however often it changes, and the lineage depth never decreases along a path:

        the cup was full  →  the mug was full  →  the was full  →  the pot was so full
        depth 0              1                     1                2

    If a lineage has no edits, a shortest edit script from the parent is used. The time is linear in
    the number of problems, regardless of the depth of the trees.

    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"))
    >>> one = make_child(root, "The mug hit the _ .", ("vase", "tray"), None, source="person")
    >>> two = make_child(one, "The cup hit the old _ .", ("vase", "tray"), None, source="person")
    >>> [tuple(found) for found in depths(Dataset([root, one, two]))]
    [(0, 0, 0), (None, 1, 1), (None, 2, 1)]
    """
    declared = (p.lineage.declared if p.lineage else _get_depth(p, DISTANCE, 0) for p in dataset)
    found = [Depths(depth, None, None) for depth in declared]
    roots: dict[str, list[str] | None] = {}
    for visit in _visit_families(dataset):
        lineage = dataset[visit.row].lineage
        edit: int | None = None if _is_orphan(dataset, visit.row) else 0
        if lineage is not None:
            if lineage.root not in roots:
                root = _get_row(dataset, lineage.root)
                roots[lineage.root] = root if root is None else tokenize(dataset[root].sentence)
            known = roots[lineage.root]
            edit = _get_depth(dataset[visit.row], MEASURED["edit"])
            if known is not None:
                edit = compute_edit_distance(known, visit.tokens)
        depth = visit.changed_positions.count if visit.changed_positions else None
        if depth is None and lineage is not None and visit.fault is None:
            depth = _get_depth(dataset[visit.row], MEASURED["lineage"])
        found[visit.row] = found[visit.row]._replace(lineage=depth, edit=edit)
    return tuple(found)


def _get_depth(problem: Problem, key: str, default: int | None = None) -> int | None:
    stated = problem.extra.get(key, default)
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else None


@dataclass(frozen=True, slots=True)
class _Visit:
    """A visit to a problem on a walk from the roots.

    Attributes:
        changed_positions: the positions changed since the root; None if the path from the root
            is unknown.
        fault: why the edits in the data are inconsistent, or None.
    """

    row: int
    tokens: tuple[str, ...]
    changed_positions: _ChangedPositions | None
    fault: str | None = None


def _visit_families(dataset: Dataset) -> Iterator[_Visit]:
    """Visit each problem, parents first, except problems in or below a cycle."""
    above = _get_parent_rows(dataset)
    children: dict[int, list[int]] = {}
    waiting: list[tuple[int, _Visit | None]] = []
    for row, parent in enumerate(above):
        if parent is None:
            waiting.append((row, None))
        else:
            children.setdefault(parent, []).append(row)
    waiting.reverse()
    while waiting:
        row, parent_visit = waiting.pop()
        cut = tuple(tokenize(dataset[row].sentence))
        lineage, visit = dataset[row].lineage, _Visit(row, cut, None)
        if parent_visit is not None:
            edits, changed = lineage.edits if lineage else (), parent_visit.changed_positions
            if edits and (fault := _explain_edit_mismatch(parent_visit.tokens, edits, cut)):
                visit = _Visit(row, cut, None, fault)
            elif changed:
                edits = edits or find_edits(parent_visit.tokens, cut)
                visit = _Visit(row, cut, changed.apply(edits))
        elif lineage is None and not _is_orphan(dataset, row):
            visit = _Visit(row, cut, _ChangedPositions(bytes(len(cut)), (0,) * (len(cut) + 1), 0))
        yield visit
        waiting.extend((child, visit) for child in reversed(children.get(row, ())))


def _explain_edit_mismatch(
    before: tuple[str, ...], edits: tuple[Edit, ...], after: tuple[str, ...]
) -> str | None:
    try:
        became = apply_edits(before, edits)
    except ProblemError as error:
        return str(error)
    if became == after:
        return None
    at = len(commonprefix([became, after]))  # noqa: RUF071 - tokens
    one, other = (" ".join(row[at : at + 3]) or "the end" for row in (became, after))
    return f"they result in {one!r} at token {at}, but the sentence has {other!r}"


def _get_row(dataset: Dataset, problem_id: str) -> int | None:
    try:
        return dataset.row(problem_id)
    except DataError:
        return None


def _is_orphan(dataset: Dataset, row: int) -> bool:
    """Return whether a problem has no lineage although it is known to be perturbed."""
    problem = dataset[row]
    return problem.lineage is None and DISTANCE in problem.extra


def _get_parent_rows(dataset: Dataset) -> list[int | None]:
    """Return the row of each problem's parent, or None for roots and missing parents."""
    return [
        _get_row(dataset, problem.lineage.parent) if problem.lineage else None
        for problem in dataset
    ]


def _find_cycles(parent_rows: list[int | None]) -> list[tuple[int, ...]]:
    seen_on = [-1] * len(parent_rows)
    found = []
    for start in range(len(parent_rows)):
        row: int | None = start
        while row is not None and seen_on[row] < 0:
            seen_on[row] = start
            row = parent_rows[row]
        if row is not None and seen_on[row] == start:
            loop = [row]
            while (after := parent_rows[loop[-1]]) is not None and after != row:
                loop.append(after)
            found.append(tuple(loop))
    return found


@dataclass(frozen=True, slots=True)
class _ChangedPositions:
    """The token positions that changed since the root, whose number is the lineage depth.

    EvoGrad (section 3.1) treats an insertion as the substitution of an empty string, and a deletion
    as the substitution by an empty string. Positions are thus never removed: a deleted token leaves
    an empty position, which a later insertion fills. "A depth increment corresponds solely to the
    perturbation of a token distinct from those previously perturbed":

        the cup was full      →  the mug was full      cup is touched                  depth 1
        the mug was full      →  the jug was full      the same position               depth 1
        the jug was full      →  the was full          its position is empty now       depth 1
        the was full          →  the pot was full      the empty position is filled    depth 1
        the pot was full      →  the pot was so full   a new position                  depth 2
        the pot was so full   →  the pot was full      which is empty now              depth 2

    If several positions between two tokens are empty, the first is filled. A change that is undone
    still counts, so the depth never decreases.

    Attributes:
        tokens: 1 for each token whose position was changed, otherwise 0; shape (n,).
        empty: number of (changed) empty positions before each token and at the end; shape (n + 1,).
        count: number of changed positions, including empty ones: the lineage depth.
    """

    tokens: bytes
    empty: tuple[int, ...]
    count: int

    def apply(self, edits: Iterable[Edit]) -> _ChangedPositions:
        """Return the changed positions after additional edits, which must fit the tokens."""
        tokens, empty, count = bytearray(self.tokens), list(self.empty), self.count
        for edit in edits:
            at = edit.at
            if edit.op == "insert":
                left = max(0, empty[at] - 1)
                count += not empty[at]
                tokens.insert(at, 1)
                empty[at : at + 1] = [0, left]
                continue
            count += not tokens[at]
            if edit.op == "substitute":
                tokens[at] = 1
            else:
                del tokens[at]
                empty[at : at + 2] = [empty[at] + 1 + empty[at + 1]]
        return _ChangedPositions(bytes(tokens), tuple(empty), count)


_MAX_LISTED_IDS = 5


def check_lineages(dataset: Dataset, *, complete: bool = True) -> dict[int, str]:
    """Return the fault of each row whose lineage is wrong.

    Faults are cycles, a root that differs from the parent's root, and edits that don't turn the
    parent's sentence into the child's. As in EvoGrad, a declared depth may differ from the number
    of edits.

    Args:
        dataset: the problems.
        complete: whether families must be complete. If so, a missing parent or root is also a
            fault, and so is an impossible declared depth (0 if the sentence differs from the
            root's, or more than 0 if it does not).

    >>> from winosmith import Lineage, Problem
    >>> lost = Problem("c", "A _ b.", ("x", "y"), lineage=Lineage("r", "p"))
    >>> check_lineages(Dataset([lost]))
    {0: "the parent 'p' is not in the data set"}
    """
    if not any(problem.lineage for problem in dataset):
        return {}
    above = _get_parent_rows(dataset)
    wrong = {row: _describe_cycle(dataset, loop) for loop in _find_cycles(above) for row in loop}
    for row, parent in enumerate(above):
        lineage = dataset[row].lineage
        if parent is not None and lineage and lineage.root != (other := dataset[parent]).root:
            fault = f"the root is {lineage.root!r}, but its parent {other.id!r} has the root "
            wrong.setdefault(row, f"{fault}{other.root!r}")
    stated = any(problem.lineage and problem.lineage.edits for problem in dataset)
    for visit in _visit_families(dataset) if stated else ():
        if visit.fault:
            parent_id = dataset.problems[above[visit.row] or 0].id
            fault = f"the edits do not fit the parent {parent_id!r}: {visit.fault}"
            wrong.setdefault(visit.row, fault)
    if complete:
        wrong = _find_family_faults(dataset) | wrong
    return dict(sorted(wrong.items()))


def _describe_cycle(dataset: Dataset, rows: tuple[int, ...]) -> str:
    ids = [repr(dataset[row].id) for row in rows]
    if len(ids) == 1:
        return "the problem is its own parent; a root has no lineage"
    more = f" … ({len(ids):,} problems)" if len(ids) > _MAX_LISTED_IDS else ""
    chain = " ← ".join([*ids[:_MAX_LISTED_IDS], *([] if more else ids[:1])])
    return f"the lineage is a cycle: {chain}{more}"


def _find_family_faults(dataset: Dataset) -> dict[int, str]:
    found = {}
    for row, (problem, of) in enumerate(zip(dataset, depths(dataset), strict=True)):
        lineage = problem.lineage
        if lineage is None:
            continue
        root = _get_row(dataset, lineage.root)
        if _get_row(dataset, lineage.parent) is None:
            found[row] = f"the parent {lineage.parent!r} is not in the data set"
        elif root is None:
            found[row] = f"the root {lineage.root!r} is not in the data set"
        elif of.declared == 0 and of.edit:
            found[row] = (
                f"the declared depth is 0, but the root is {format_count(of.edit, 'edit')} away"
            )
        elif of.declared and of.edit == 0 and dataset[root].options == problem.options:
            found[row] = (
                f"the declared depth is {of.declared}, but the sentence and the options are the "
                "same as the root's"
            )
    return found
