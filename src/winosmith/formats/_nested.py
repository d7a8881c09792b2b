"""Expand nested questions: several questions about one text, or a question inside a column.

RACE, QuALITY and MultiRC have one text per row with a list of questions about it, or parallel
lists. A sample of lm-evaluation-harness has its question in `doc`. If a row is not a question but
one of its columns contains questions, each of these questions becomes a row with the other columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from winosmith import data
from winosmith.data import Record
from winosmith.formats._columns import Columns, try_plan
from winosmith.formats._names import (
    CHOICES,
    ID,
    PASSAGE,
    QUESTION,
    find_name,
    is_answer_name,
    normalise,
)

SourceRow = data.Row[Record]

_MAX_ROWS, _MAX_DEPTH, _MAX_COLUMNS = 20, 3, 8
"""Maximum numbers of rows to examine, nesting levels, and columns that may contain questions; an
object with more columns is not treated as a set of questions."""

_STEMS = ("stem", "text", "question", "body", "content")


@dataclass(frozen=True, slots=True)
class _Nesting:
    """The column of nested questions, and a mapping from singular names to parallel lists."""

    column: str
    parallel: Mapping[str, str]
    is_list: bool = True


def flatten(row: Record) -> Record:
    """Split ARC's `{"question": {"stem": …, "choices": …}}` into columns.

    >>> flatten({"id": 1, "question": {"stem": "Why?", "choices": ["a", "b"]}})
    {'id': 1, 'question': 'Why?', 'choices': ['a', 'b']}
    """
    inside = row.get("question")
    if not isinstance(inside, Mapping) or not (stem := find_name(_STEMS, inside)):
        return row
    others = {name: value for name, value in inside.items() if name != stem}
    return {**row, **others, "question": inside[stem]}


def expand_nested(
    found: Sequence[SourceRow], columns: Columns
) -> tuple[list[SourceRow], list[str]]:
    """Return one row for each nested question, and a note about each expanded level.

    Rows that are questions are unchanged.
    """
    rows, notes = list(found), []
    for _ in range(_MAX_DEPTH):
        good = (row.values for row in rows if row.values)
        if (nesting := _find_questions([*islice(good, _MAX_ROWS)], columns, _MAX_DEPTH)) is None:
            break
        rows = [one for row in rows for one in _split_row(row, nesting)]
        lists = ", ".join(map(repr, nesting.parallel.values()))
        others = f", with {lists}" if lists else ""
        notes.append(
            f"the questions are in {nesting.column!r}{others}; each has its row's other columns"
        )
    return rows, notes


def has_nested_questions(row: Record) -> bool:
    """Return whether a row has a list of questions, with a shared text or parallel lists.

    >>> why = {"question": "Why?", "options": ["a", "b"]}
    >>> (has_nested_questions({"questions": [why], "answers": ["A"]}),
    ...  has_nested_questions({"name": "x", "questions": [why]}))
    (True, False)
    """
    nesting = _find_questions([row], Columns(), _MAX_DEPTH)
    shared = find_name(PASSAGE, [name for name, value in row.items() if isinstance(value, str)])
    return nesting is not None and nesting.is_list and bool(nesting.parallel or shared)


def _split_row(row: SourceRow, nesting: _Nesting) -> Iterator[SourceRow]:
    """Yield the rows nested in a row, or a bad row if parallel lists differ in length."""
    questions: Any = None if row.values is None else row.values.get(nesting.column)
    if row.values is None or not isinstance(questions, list if nesting.is_list else Mapping):
        yield row
        return
    for name in nesting.parallel.values():
        other = row.values.get(name)
        if not isinstance(other, list) or len(other) != len(questions):
            missing = f"{name!r} doesn't have a value for each of the {len(questions)} questions"
            yield row._replace(values=None, reason=f"{missing} in {nesting.column!r}")
            return
    for one in _iterate_nested_rows(row.values, nesting):
        yield data.Row(row.place, data.format_cell(one) if nesting.is_list else row.raw, one)


def _find_questions(rows: Sequence[Record], columns: Columns, max_depth: int) -> _Nesting | None:
    """Return the location of nested questions, or None if there are none or rows are questions."""
    if not rows or not max_depth or try_plan(rows, columns):
        return None
    candidates = [*islice(_iterate_possible_columns(rows), _MAX_COLUMNS + 1)]
    if len(candidates) > _MAX_COLUMNS:
        return None
    nestings = list[_Nesting]()
    for one in candidates:
        inside = _sample_nested_rows(rows, one)
        if not (inside and try_plan(inside, columns)):
            names = (one.column, *one.parallel.values())
            parts = [{name: row[name] for name in names} for row in rows]
            if not _find_questions(_sample_nested_rows(parts, one), columns, max_depth - 1):
                continue
        nestings.append(one)
    return nestings[0] if len(nestings) == 1 else None


def _iterate_possible_columns(rows: Sequence[Record]) -> Iterator[_Nesting]:
    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in rows[0]}
    lengths: dict[str, tuple[int, ...]] = {}
    by_lengths: defaultdict[tuple[int, ...], dict[str, str]] = defaultdict(dict)
    for name, values in columns.items():
        if all(isinstance(one, list) and one for one in values):
            lengths[name] = tuple(map(len, values))
            singular = name.removesuffix("s")
            if is_answer_name(singular) or normalise(singular) in (*CHOICES, *QUESTION):
                by_lengths[lengths[name]][singular] = name
    for name, values in columns.items():
        if all(isinstance(one, Mapping) and one for one in values):
            yield _Nesting(name, {}, is_list=False)
        elif name in lengths:
            are_records = all(isinstance(one, Mapping) for value in values for one in value)
            singular = name.removesuffix("s")
            if are_records or (normalise(singular) in QUESTION and singular != name):
                alike = by_lengths[lengths[name]]
                parallel = {key: other for key, other in alike.items() if other != name}
                if are_records or parallel:
                    yield _Nesting(name, parallel)


def _sample_nested_rows(rows: Sequence[Record], nesting: _Nesting) -> list[Record]:
    return [*islice((one for row in rows for one in _iterate_nested_rows(row, nesting)), _MAX_ROWS)]


def _iterate_nested_rows(row: Record, nesting: _Nesting) -> Iterator[Record]:
    """Yield the rows nested in a row, with the other columns and a number to make ids unique."""
    questions = row[nesting.column] if nesting.is_list else [row[nesting.column]]
    lists = {*nesting.parallel.values(), nesting.column}
    others = {name: value for name, value in row.items() if name not in lists}
    shared_id = find_name(ID, others) if nesting.is_list else None
    for number, one in enumerate(questions):
        nested = {name: row[plural][number] for name, plural in nesting.parallel.items()}
        nested |= one if isinstance(one, Mapping) else {nesting.column.removesuffix("s"): one}
        nested = dict(flatten({str(name): value for name, value in nested.items()}))
        shared = others
        if shared_id and not find_name(ID, nested):
            shared = {**others, shared_id: f"{others[shared_id]}/{number + 1}"}
        if not nested.keys().isdisjoint(shared):
            shared = {f"outer_{n}" if n in nested else n: value for n, value in shared.items()}
        yield {**shared, **nested}
