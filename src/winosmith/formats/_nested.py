"""Questions that stand inside a row: several on one text, or one in a column of its own.

RACE, QuALITY and MultiRC have a text a row and a list of questions on it, or lists side by side; a
sample of lm-evaluation-harness has its question in `doc`. Where a row is no question itself, but
one of its columns holds such, each becomes a row, and what stands beside the column goes along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from winosmith import data
from winosmith.errors import FormatError
from winosmith.formats._base import jsonable
from winosmith.formats._columns import (
    ASIDE,
    CHOICES,
    ID,
    QUESTION,
    Columns,
    Row,
    first,
    names_of,
    of_answers,
    plainly,
    plan,
)
from winosmith.records import canonical

Told = data.Row[Row]

_LOOK, _DEEP, _MOST = 20, 3, 8
"""So many rows are looked at, so many columns deep; with more columns that might hold questions an
object is none of a set."""

_STEMS = ("stem", "text", "question", "body", "content")


@dataclass(frozen=True, slots=True)
class _Way:
    """The column that holds questions; `beside` are lists of as many, which are parted with it."""

    column: str
    beside: tuple[str, ...] = ()
    several: bool = True

    @property
    def told(self) -> str:
        """What is done, in words."""
        lists = ", ".join(map(repr, self.beside))
        along = f", with {lists} beside" if lists else ""
        return f"the questions are those in {self.column!r}{along}; the rest of a row goes along"


def flat(row: Row) -> Row:
    """Return a row with ARC's `{"question": {"stem": …, "choices": …}}` in columns of its own.

    >>> flat({"id": 1, "question": {"stem": "Why?", "choices": ["a", "b"]}})
    {'id': 1, 'question': 'Why?', 'choices': ['a', 'b']}
    """
    inside = row.get("question")
    if not isinstance(inside, Mapping):
        return row
    stem = first(_STEMS, [*inside])
    apart = {name: value for name, value in inside.items() if name != stem}
    return {**row, **apart, "question": inside.get(stem)}


def unfolded(found: Sequence[Told], given: Columns) -> tuple[list[Told], list[str]]:
    """Return a row for each question inside the rows; as they are where they are questions.

    Args:
        found: the rows, those that can't be read too.
        given: the columns that the user names.

    Returns:
        The rows, and what was done, a sentence each.
    """
    rows, notes = list(found), []
    for _ in range(_DEEP):
        good = (row.values for row in rows if row.values)
        some = [*islice(good, _LOOK)]
        if (way := _way(some, given, _DEEP)) is None:
            break
        rows = [one for told in rows for one in _parted(told, way)]
        notes.append(way.told)
    return rows, notes


def unfolds(row: Row) -> bool:
    """Tell whether a row holds several questions, and something of each beside them, or of all.

    >>> why = {"question": "Why?", "options": ["a", "b"]}
    >>> unfolds({"questions": [why], "answers": ["A"]}), unfolds({"name": "x", "questions": [why]})
    (True, False)
    """
    way = _way([row], Columns(), _DEEP)
    of_all = first(ASIDE.split(), [name for name, value in row.items() if isinstance(value, str)])
    return way is not None and way.several and bool(way.beside or of_all)


def _parted(told: Told, way: _Way) -> Iterator[Told]:
    """Yield the rows inside one; one that is not as the others, with the reason."""
    place, raw, row, _ = told
    held: Any = None if row is None else row.get(way.column)
    if row is None or not isinstance(held, list if way.several else Mapping):
        yield told
        return
    uneven = [name for name in way.beside if not _as_many(row.get(name), [*held])]
    if uneven:
        why = f"{uneven[0]!r} has not one for each of the {len(held)} in {way.column!r}"
        yield data.Row(place, raw, None, why)
        return
    for one in _inside(row, way):
        yield data.Row(place, canonical(jsonable(one)) if way.several else raw, one)


def _way(rows: Sequence[Row], given: Columns, deep: int) -> _Way | None:
    """Return where the questions of rows are; None where they are questions, or hold none."""
    if not rows or not deep or _plans(rows, given):
        return None
    may = [*islice(filter(None, (_holding(name, rows) for name in rows[0])), _MOST + 1)]
    if len(may) > _MOST:
        return None
    ways = [way for way in may if _leads(rows, way, given, deep - 1)]
    return ways[0] if len(ways) == 1 else None


def _leads(rows: Sequence[Row], way: _Way, given: Columns, deep: int) -> bool:
    """Tell whether a way ends at questions: beside what is around, or deeper in it alone."""
    if _plans(_all_inside(rows, way), given):
        return True
    own = [{name: row[name] for name in (way.column, *way.beside)} for row in rows]
    return _way(_all_inside(own, way), given, deep) is not None


def _holding(name: str, rows: Sequence[Row]) -> _Way | None:
    """Return the way by one column, if it may hold questions: objects, or texts in a list."""
    values = [row.get(name) for row in rows]
    if all(isinstance(one, Mapping) and one for one in values):
        return _Way(name, several=False)
    if not all(isinstance(one, list) and one for one in values):
        return None
    beside = tuple(
        other
        for other in rows[0]
        if other != name
        and _known(_single(other))
        and all(_as_many(row.get(other), row[name]) for row in rows)
    )
    records = all(isinstance(one, Mapping) for value in values for one in value or ())
    asked = plainly(_single(name)) in QUESTION.split() and _single(name) != name
    return _Way(name, beside) if records or (asked and beside) else None


def _as_many(value: Any, others: Sequence[Any]) -> bool:
    return isinstance(value, list) and len(value) == len(others)


def _single(name: str) -> str:
    """Return the name of one of what a column has several of.

    >>> _single("questions"), _single("Answers"), _single("ctx")
    ('question', 'Answer', 'ctx')
    """
    return name.removesuffix("s")


def _known(name: str) -> bool:
    return of_answers(name) or plainly(name) in f"{CHOICES} {QUESTION}".split()


def _all_inside(rows: Sequence[Row], way: _Way) -> list[Row]:
    return [one for row in rows for one in _inside(row, way)][:_LOOK]


def _inside(row: Row, way: _Way) -> Iterator[Row]:
    """Yield the rows inside one; an id that they share gets a number, and no column is lost."""
    held = row[way.column] if way.several else [row[way.column]]
    around = {name: value for name, value in row.items() if name not in (way.column, *way.beside)}
    for number, one in enumerate(held):
        own = {_single(name): row[name][number] for name in way.beside}
        own |= one if isinstance(one, Mapping) else {_single(way.column): one}
        own = dict(flat({str(name): value for name, value in own.items()}))
        shared = dict(around)
        known = first(ID.split(), [*shared])
        if way.several and known and not first(ID.split(), [*own]):
            shared[known] = f"{shared[known]}/{number + 1}"
        yield {f"outer_{n}" if n in own else n: value for n, value in shared.items()} | own


def _plans(rows: Sequence[Row], given: Columns) -> bool:
    try:
        plan(names_of(rows), given, rows)
    except FormatError:
        return False
    return bool(rows)
