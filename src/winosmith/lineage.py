"""How a perturbed problem came about: its edits, its three depths, and whether they hold.

>>> from winosmith import Dataset, Problem
>>> root = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
>>> child = perturbed(root, "Sue beat Sally although _ ran well.", root.options, 1, source="person")
>>> [str(edit.op) + ": " + edit.old + " → " + edit.new for edit in child.lineage.edits]
['substitute: because → although']
>>> depths(Dataset([root, child]))[1]
Depths(declared=None, lineage=1, edit=1)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import DataError, ProblemError
from winosmith.problem import Edit, Extra, Lineage, Origin, Problem, Scalar
from winosmith.seen import check_blanks
from winosmith.text import edit_distance, number_of, tokens

__all__ = [
    "MEASURED",
    "UNVALIDATED",
    "Depths",
    "apply_edits",
    "check_lineages",
    "depths",
    "edit_script",
    "explain",
    "perturbed",
]

UNVALIDATED = "evolve.unvalidated"
"""The extra key that is True on a generated problem until people have judged it."""

_DIGITS = 10
"""Hexadecimal digits of a digest in an id: two of 100,000 children share one with p = 0.005."""

_NOTHING: Mapping[str, Scalar] = {}


def perturbed(
    parent: Problem,
    sentence: str,
    options: tuple[str, ...],
    answer: int | None,
    *,
    source: str,
    declared: int | None = None,
    extra: Mapping[str, Scalar] = _NOTHING,
) -> Problem:
    """Return a child of a problem: another sentence or other options, with its lineage.

    The id is the root's with a digest of the sentence and the options, so it never depends on the
    answer, and the same child made twice has the same id. Licence, domain and embargo are the
    parent's, and so is the pronoun while the options stay; the twin is not.

    Args:
        parent: what was perturbed, a root or not.
        sentence: of the child.
        options: of the child.
        answer: of the child, 0-based; None when it is not known yet.
        source: who made it ("person", "chat", "wordnet").
        declared: the depth that its maker states, if any.
        extra: what else is to be kept; `UNVALIDATED` is added.

    Raises:
        DataError: the parent is a question.
        ProblemError: nothing has changed, or the child is not a problem.

    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"), 0)
    >>> child = perturbed(root, "The mug hit the _ .", root.options, 0, source="person")
    >>> child.id, child.lineage.parent, child.lineage.edits[0].new, dict(child.extra)
    ('r.76e67fa1c4', 'r', 'mug', {'evolve.unvalidated': True})
    """
    check_blanks([parent], "a perturbation", plain=True)
    if (sentence, options) == (parent.sentence, parent.options):
        raise ProblemError(
            f"the perturbation changes neither sentence nor options of {parent.id!r}"
        )
    origin = parent.origin or Origin()
    return Problem(
        id=f"{parent.root}.{_digest(sentence, options)}",
        sentence=sentence,
        options=options,
        answer=answer,
        pronoun=parent.pronoun if options == parent.options else None,
        origin=Origin(source, domain=origin.domain, licence=origin.licence),
        lineage=Lineage(
            parent.root, parent.id, edit_script(tokens(parent.sentence), tokens(sentence)), declared
        ),
        embargo=parent.embargo,
        extra=Extra({**extra, UNVALIDATED: True}),
    )


def _digest(sentence: str, options: tuple[str, ...]) -> str:
    seen = "\0".join((sentence, *options)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(seen).hexdigest()[:_DIGITS]


def edit_script(before: Sequence[str], after: Sequence[str]) -> tuple[Edit, ...]:
    """Return a shortest script of edits that turns one row of tokens into the other.

    The edits apply one after another, from left to right: `at` counts in the tokens as they are
    just before that edit. There are as many as the Levenshtein distance says.

    Args:
        before: tokens, none of them empty; `winosmith.text.tokens` cuts sentences.
        after: likewise.

    >>> for edit in edit_script("the cup fell .".split(), "the big jug fell".split()):
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
    """Return the tokens after the edits, which apply one after another.

    Raises:
        ProblemError: an edit does not fit: its place is beyond the end, or another token is there.

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
                f"edit {number} expects {edit.old!r} at token {edit.at}, where {there!r} is"
            )
        elif edit.op == "substitute":
            now[edit.at] = edit.new
        else:
            del now[edit.at]
    return tuple(now)


MEASURED = {"lineage": "depth.lineage", "edit": "depth.edit"}
"""The extra keys of depths that anyone who has the whole family measured. They count where the data
lack what it takes to measure them: a parent or a root that is not public."""

DISTANCE = "evograd.distance"
"""The extra key of a declared depth where the root is not in the file (`formats`, EvoGrad)."""


class Depths(NamedTuple):
    """How far a problem is from its root, three ways.

    The depths that EvoGrad prints follow no single rule: its table 2 prints 0, 2, 4, 4 where the
    token edit distances are 0, 2, 3, 3, and its table 3 prints 1, 2, 5, 6, 5 for 1, 2, 7, 10, 9.

    Attributes:
        declared: as the contributor or the file states it; None when nothing is stated.
        lineage: the distinct token positions that were touched on the path from the root, see
            `depths`; when an ancestor is not here, what was measured (`MEASURED`), else
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
    >>> one = perturbed(root, "The mug hit the _ .", ("vase", "tray"), None, source="person")
    >>> two = perturbed(one, "The cup hit the old _ .", ("vase", "tray"), None, source="person")
    >>> [tuple(found) for found in depths(Dataset([root, one, two]))]
    [(0, 0, 0), (None, 1, 1), (None, 2, 1)]
    """
    found = [Depths(_declared(problem), None, None) for problem in dataset]
    roots: dict[str, list[str] | None] = {}
    for stop in _walk(dataset):
        lineage = dataset[stop.row].lineage
        edit: int | None = None if _is_orphan(dataset, stop.row) else 0
        if lineage is not None:
            if lineage.root not in roots:
                root = _row_of(dataset, lineage.root)
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


@dataclass(frozen=True, slots=True)
class _Stop:
    """One problem on the walk.

    Attributes:
        row: of the problem.
        tokens: of its sentence.
        touched: since its root; None when the way from there is not known.
        edits: from its parent, as they are in the data or, if there are none, computed;
            empty when the parent is not here.
        fault: why the edits that are in the data don't turn the parent into it; None.
    """

    row: int
    tokens: tuple[str, ...]
    touched: _Touched | None
    edits: tuple[Edit, ...] = ()
    fault: str | None = None


def _walk(dataset: Dataset) -> Iterator[_Stop]:
    """Yield a stop for each problem, parents before children; cycles and what hangs on them not."""
    above = _parents(dataset)
    children: dict[int, list[int]] = {}
    waiting: list[tuple[int, _Stop | None]] = []
    for row, parent in enumerate(above):
        if parent is None:
            waiting.append((row, None))
        else:
            children.setdefault(parent, []).append(row)
    waiting.reverse()
    while waiting:
        row, parent_stop = waiting.pop()
        stop = (
            _stop_at_top(dataset, row)
            if parent_stop is None
            else _stop_below(dataset, row, parent_stop)
        )
        yield stop
        waiting.extend((child, stop) for child in reversed(children.get(row, ())))


def _stop_at_top(dataset: Dataset, row: int) -> _Stop:
    cut = tuple(tokens(dataset[row].sentence))
    is_root = dataset[row].lineage is None and not _is_orphan(dataset, row)
    return _Stop(row, cut, _untouched(len(cut)) if is_root else None)


def _stop_below(dataset: Dataset, row: int, parent: _Stop) -> _Stop:
    problem = dataset[row]
    cut = tuple(tokens(problem.sentence))
    edits = problem.lineage.edits if problem.lineage else ()
    if not edits:
        edits = edit_script(parent.tokens, cut)
    else:
        fault = _edits_fault(parent.tokens, edits, cut)
        if fault:
            return _Stop(row, cut, None, edits, fault)
    return _Stop(row, cut, parent.touched and parent.touched.after(edits), edits)


def _edits_fault(
    before: tuple[str, ...], edits: tuple[Edit, ...], after: tuple[str, ...]
) -> str | None:
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


def _row_of(dataset: Dataset, problem_id: str) -> int | None:
    """Return the row of the problem with that id, or None."""
    try:
        return dataset.row(problem_id)
    except DataError:
        return None


def _is_orphan(dataset: Dataset, row: int) -> bool:
    """Return whether a problem is no root although nothing is known of its root."""
    problem = dataset[row]
    return problem.lineage is None and DISTANCE in problem.extra


def _parents(dataset: Dataset) -> list[int | None]:
    """Return the row of each problem's parent; None for roots, and when the parent is not here."""
    return [
        _row_of(dataset, problem.lineage.parent) if problem.lineage else None for problem in dataset
    ]


def _loops(above: list[int | None]) -> list[tuple[int, ...]]:
    """Return the rows of each cycle: problems that are their own ancestors.

    Args:
        above: the row of each problem's parent, from `_parents`.
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


@dataclass(frozen=True, slots=True)
class _Touched:
    """The token positions of one sentence that were touched since its root: the lineage depth.

    EvoGrad (section 3.1) writes an insertion as the substitution of the empty string, and a
    deletion as a substitution by it. So positions never go away: a deleted token leaves an empty
    position where it was, and a token that is inserted there later fills it again. "A depth
    increment corresponds solely to the perturbation of a token distinct from those previously
    perturbed":

        the cup was full      →  the mug was full      cup is touched                  depth 1
        the mug was full      →  the jug was full      the same position               depth 1
        the jug was full      →  the was full          its position is empty now       depth 1
        the was full          →  the pot was full      the empty position is filled    depth 1
        the pot was full      →  the pot was so full   a new position                  depth 2
        the pot was so full   →  the pot was full      which is empty now              depth 2

    Where several positions are empty between two tokens, the first of them is filled. Depth never
    falls: a change that is undone was made.

    Attributes:
        tokens: 1 for each token whose position was touched, else 0; (n,).
        empty: how many empty positions, all touched, lie before each token and after the last;
            (n + 1,).
        count: how many positions were touched, the empty ones included: the lineage depth.
    """

    tokens: bytes
    empty: tuple[int, ...]
    count: int

    def after(self, edits: Iterable[Edit]) -> _Touched:
        """Return what is touched after edits that fit the tokens, one after another."""
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
        return _Touched(bytes(tokens), tuple(empty), count)


def _untouched(tokens: int) -> _Touched:
    """Return the positions of a root with that many tokens.

    >>> _untouched(3).after([Edit("delete", 1, "cup"), Edit("insert", 1, new="mug")]).count
    1
    """
    return _Touched(bytes(tokens), (0,) * (tokens + 1), 0)


_SHOWN = 5
"""How many ids of a cycle a message names."""


def check_lineages(dataset: Dataset, *, complete: bool = True) -> dict[int, str]:
    """Return what is wrong with lineages, by row; rows with nothing wrong are omitted.

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
    above = _parents(dataset)
    wrong = {row: _loop_fault(dataset, loop) for loop in _loops(above) for row in loop}
    for row, parent in enumerate(above):
        fault = None if parent is None else _root_fault(dataset, row, parent)
        if fault:
            wrong.setdefault(row, fault)
    stated = any(problem.lineage and problem.lineage.edits for problem in dataset)
    for stop in _walk(dataset) if stated else ():
        if stop.fault:
            parent_id = dataset.problems[above[stop.row] or 0].id
            wrong.setdefault(
                stop.row, f"the edits do not fit the parent {parent_id!r}: {stop.fault}"
            )
    if complete:
        for row, fault in _faults_of_missing(dataset).items():
            wrong.setdefault(row, fault)
    return dict(sorted(wrong.items()))


def _loop_fault(dataset: Dataset, loop: tuple[int, ...]) -> str:
    ids = [repr(dataset[row].id) for row in loop]
    if len(ids) == 1:
        return "the problem is its own parent; a root has no lineage"
    more = f" … ({len(ids):,} problems)" if len(ids) > _SHOWN else ""
    chain = " ← ".join([*ids[:_SHOWN], *([] if more else ids[:1])])
    return f"the lineage runs in a circle: {chain}{more}"


def _root_fault(dataset: Dataset, row: int, parent: int) -> str | None:
    lineage, above = dataset[row].lineage, dataset[parent]
    if lineage is None or lineage.root == above.root:
        return None
    return f"the root is {lineage.root!r}, but that of its parent {above.id!r} is {above.root!r}"


def _faults_of_missing(dataset: Dataset) -> dict[int, str]:
    found = {}
    for row, (problem, of) in enumerate(zip(dataset, depths(dataset), strict=True)):
        lineage = problem.lineage
        if lineage is None:
            continue
        root = _row_of(dataset, lineage.root)
        if _row_of(dataset, lineage.parent) is None:
            found[row] = f"the parent {lineage.parent!r} is not in the data set"
        elif root is None:
            found[row] = f"the root {lineage.root!r} is not in the data set"
        elif of.declared == 0 and of.edit:
            found[row] = (
                f"the declared depth is 0, but the root is {number_of(of.edit, 'edit')} away"
            )
        elif of.declared and of.edit == 0 and dataset[root].options == problem.options:
            found[row] = (
                f"the declared depth is {of.declared}, but sentence and options are the root's"
            )
    return found


_SIGNS = {"substitute": "{old} → {new}", "insert": "+{new}", "delete": "−{old}"}


def explain(dataset: Dataset, row: int) -> str:
    """Return how each depth of one problem comes about, a line each.

    Raises:
        DataError: there is no such row.

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
    path = _path_to_root(dataset, row)
    of = depths(Dataset(path))[0]
    if of == (0, 0, 0) and path[0].lineage is None:
        return "a root: its depths are 0"
    return "\n".join([_of_declared(of), _of_lineage(of, path), _of_edit(of, path[0], dataset)])


def _path_to_root(dataset: Dataset, row: int) -> list[Problem]:
    """Return the problem, its parent and so on, and the root if it is here."""
    found: dict[int, None] = {}
    now: int | None = row
    while now is not None and now not in found:
        found[now] = None
        lineage = dataset[now].lineage
        now = _row_of(dataset, lineage.parent) if lineage else None
    first = dataset[row].lineage
    root = _row_of(dataset, first.root) if first else None
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
        f"lineage {of.lineage}: the token positions touched in {number_of(len(steps), 'step')} "
        f"from the root; {number_of(made, 'edit')} {'was' if made == 1 else 'were'} made"
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
