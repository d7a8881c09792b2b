"""Questions nested in rows: several about one text, or one in a column of its own.

RACE, QuALITY and MultiRC have one text per row with a list of questions about it, or parallel
lists; a sample of lm-evaluation-harness has its question in `doc`. If a row is not a question but
one of its columns contains questions, each question becomes a row with the other columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from winosmith import data
from winosmith.formats._columns import Columns, Row, try_plan
from winosmith.formats._names import (
    ASIDE,
    CHOICES,
    ID,
    QUESTION,
    first_existing,
    is_answer_name,
    names_of,
    normalise,
)

Told = data.Row[Row]

_LOOK, _DEEP, _MOST = 20, 3, 8
"""Maximum numbers of rows to examine, of nested columns, and of columns that may have questions;
an object with more columns is not a set of questions."""

_STEMS = ("stem", "text", "question", "body", "content")


@dataclass(frozen=True, slots=True)
class _Way:
    """The column of the questions; `beside` are parallel lists by their singular names."""

    column: str
    beside: Mapping[str, str]
    several: bool = True


def flat(row: Row) -> Row:
    """Return a row with ARC's `{"question": {"stem": …, "choices": …}}` split into columns.

    >>> flat({"id": 1, "question": {"stem": "Why?", "choices": ["a", "b"]}})
    {'id': 1, 'question': 'Why?', 'choices': ['a', 'b']}
    """
    inside = row.get("question")
    if not isinstance(inside, Mapping):
        return row
    stem = first_existing(_STEMS, inside)
    apart = {name: value for name, value in inside.items() if name != stem}
    return {**row, **apart, "question": inside.get(stem)}


def unfold(found: Sequence[Told], given: Columns) -> tuple[list[Told], list[str]]:
    """Return one row per question inside the rows; rows that are questions stay as they are.

    Args:
        found: the rows, including bad ones.
        given: the columns that the user named.

    Returns:
        The rows, and one sentence per step.
    """
    rows, notes = list(found), []
    for _ in range(_DEEP):
        good = (row.values for row in rows if row.values)
        if (way := _find_questions([*islice(good, _LOOK)], given, _DEEP)) is None:
            break
        rows = [one for told in rows for one in _split_row(told, way)]
        lists = ", ".join(map(repr, way.beside.values()))
        along = f", with {lists}" if lists else ""
        notes.append(f"the questions are in {way.column!r}{along}; each keeps the rest of its row")
    return rows, notes


def has_nested_questions(row: Row) -> bool:
    """Return whether a row contains several questions and parts of them in other columns.

    >>> why = {"question": "Why?", "options": ["a", "b"]}
    >>> (has_nested_questions({"questions": [why], "answers": ["A"]}),
    ...  has_nested_questions({"name": "x", "questions": [why]}))
    (True, False)
    """
    way = _find_questions([row], Columns(), _DEEP)
    of_all = first_existing(ASIDE, [name for name, value in row.items() if isinstance(value, str)])
    return way is not None and way.several and bool(way.beside or of_all)


def _split_row(told: Told, way: _Way) -> Iterator[Told]:
    """Yield the rows inside one; if a row lacks the structure, yield a bad row with the reason."""
    held: Any = None if told.values is None else told.values.get(way.column)
    if told.values is None or not isinstance(held, list if way.several else Mapping):
        yield told
        return
    for name in way.beside.values():
        other = told.values.get(name)
        if not isinstance(other, list) or len(other) != len(held):
            why = f"{name!r} doesn't have one for each of the {len(held)} in {way.column!r}"
            yield told._replace(values=None, reason=why)
            return
    for one in _rows_inside(told.values, way):
        yield data.Row(told.place, data.cell(one) if way.several else told.raw, one)


def _find_questions(rows: Sequence[Row], given: Columns, deep: int) -> _Way | None:
    """Return where the questions inside rows are; None if rows are questions or contain none."""
    if not rows or not deep or try_plan(names_of(rows), given, rows):
        return None
    may = [*islice(_possible_columns(rows), _MOST + 1)]
    if len(may) > _MOST:
        return None
    ways = [way for way in may if _has_questions(rows, way, given, deep - 1)]
    return ways[0] if len(ways) == 1 else None


def _has_questions(rows: Sequence[Row], way: _Way, given: Columns, deep: int) -> bool:
    """Return whether rows at a place are questions, with the columns around it, or contain some."""
    inside = _some_inside(rows, way)
    if inside and try_plan(names_of(inside), given, inside):
        return True
    own = [{name: row[name] for name in (way.column, *way.beside.values())} for row in rows]
    return _find_questions(_some_inside(own, way), given, deep) is not None


def _possible_columns(rows: Sequence[Row]) -> Iterator[_Way]:
    """Yield each column that may contain questions: objects, or texts in a list."""
    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in rows[0]}
    sizes: dict[str, tuple[int, ...]] = {}
    known: defaultdict[tuple[int, ...], dict[str, str]] = defaultdict(dict)
    for name, values in columns.items():
        if all(isinstance(one, list) and one for one in values):
            size = sizes[name] = tuple(map(len, values))
            if is_answer_name(one := _singular(name)) or normalise(one) in (*CHOICES, *QUESTION):
                known[size][one] = name
    for name, values in columns.items():
        if all(isinstance(one, Mapping) and one for one in values):
            yield _Way(name, {}, several=False)
        elif name in sizes:
            records = all(isinstance(one, Mapping) for value in values for one in value)
            if records or (normalise(_singular(name)) in QUESTION and _singular(name) != name):
                beside = {one: own for one, own in known[sizes[name]].items() if own != name}
                if records or beside:
                    yield _Way(name, beside)


def _singular(name: str) -> str:
    """Return the singular of a column name.

    >>> _singular("questions"), _singular("Answers"), _singular("ctx")
    ('question', 'Answer', 'ctx')
    """
    return name.removesuffix("s")


def _some_inside(rows: Sequence[Row], way: _Way) -> list[Row]:
    return [*islice((one for row in rows for one in _rows_inside(row, way)), _LOOK)]


def _rows_inside(row: Row, way: _Way) -> Iterator[Row]:
    """Yield the rows inside one with all columns; a shared id gets a number."""
    held = row[way.column] if way.several else [row[way.column]]
    lists = {*way.beside.values(), way.column}
    around = {name: value for name, value in row.items() if name not in lists}
    shared_id = first_existing(ID, around) if way.several else None
    for number, one in enumerate(held):
        own = {name: row[several][number] for name, several in way.beside.items()}
        own |= one if isinstance(one, Mapping) else {_singular(way.column): one}
        own = dict(flat({str(name): value for name, value in own.items()}))
        shared = around
        if shared_id and not first_existing(ID, own):
            shared = {**around, shared_id: f"{around[shared_id]}/{number + 1}"}
        if not own.keys().isdisjoint(shared):
            shared = {f"outer_{n}" if n in own else n: value for n, value in shared.items()}
        yield {**shared, **own}
