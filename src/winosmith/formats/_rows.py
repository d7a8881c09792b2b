"""The rows of a file that may be questions, each with its columns, wherever the file has them.

A file is JSON Lines, one JSON value or a table. What one column holds together gets a column each;
what stands inside a row becomes rows (`_nested`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from string import ascii_uppercase
from typing import Any

from winosmith.errors import FormatError
from winosmith.formats import _base, _columns
from winosmith.formats._base import Source
from winosmith.formats._choices import inside, lists, parted, spoken
from winosmith.formats._columns import Columns, Row, plan
from winosmith.formats._enclosed import enclosed
from winosmith.formats._nested import flat, unfolded
from winosmith.formats._tables import Told

_LOOK = 20

EVERY = 250
"""Records between two words of how far reading is."""

PARSED, DRAFTED = 0.3, 0.7
"""Shares of the work of reading questions: where rows are parsed, and have their columns."""


def told_of(
    rows: Iterable[Told], lines: int, on_progress: Callable[[float], object]
) -> Iterator[Told]:
    """Yield rows, and tell how far their lines are; they become questions when all are there."""
    for n, told in enumerate(rows):
        if n % EVERY == 0:
            on_progress(min(1.0, told[0] / lines) * PARSED)
        yield told


def source_rows(source: Source) -> tuple[Iterator[Told], list[str]]:
    """Return the rows of a file of text, and where they were if that is not plain.

    It is JSON Lines, a JSON array, an object that holds one, or a table.
    """
    if source.start.startswith("["):
        return _base.array_records(source), []
    if source.start.startswith("{"):
        found = enclosed(source)
        return (found.rows, [found.where]) if found else (_base.line_records(source), [])
    named = _unnamed(source)
    told = f"the first line names no columns; they are read as {', '.join(map(repr, named))}"
    rows = _base.rows(source, quoted=bool(named) or _base.quoted(source), header=named)
    return rows, [told] if named else []


def _unnamed(source: Source) -> list[str]:
    """Return names for the columns of a table without a header; nothing where it may have one.

    MMLU's files have a question, its choices, and the letter of the right one, which tells itself:
    of so many choices each is the key somewhere, and no cell there is anything else.
    """
    mark = _base.separator_of(source)
    cells = source.headers[mark]
    signs = ascii_uppercase[: max(0, len(cells) - 2)]
    if not 4 <= len(cells) <= len(ascii_uppercase) + 2 or cells[-1].strip() not in signs:
        return []
    try:
        rows = [row for row in csv.reader(io.StringIO(source.text), delimiter=mark) if any(row)]
    except csv.Error:
        return []
    keys = {row[-1].strip() for row in rows}
    if {len(row) for row in rows} != {len(cells)} or not signs[-1] in keys <= set(signs):
        return []
    known = plans([cell.strip() for cell in cells], dict(zip(cells, rows[-1], strict=True)))
    return [] if known else ["question", *signs, "answer"]


def plans(names: Sequence[str], row: Row) -> bool:
    """Tell whether columns of these names, with these cells, are those of questions."""
    try:
        plan(names, Columns(), [row])
    except FormatError:
        return False
    return True


def shaped(told: Iterable[Told], given: Columns) -> tuple[list[Told], list[str]]:
    """Return rows with a column for whatever they hold together, and what was done, in sentences.

    Args:
        told: the rows.
        given: the columns that the user names.
    """
    found = [
        (line, raw, None if row is None else flat(row), reason) for line, raw, row, reason in told
    ]
    found, notes = unfolded(found, given)
    rows, apart, lacks = _apart([row for _, _, row, _ in found if row is not None], given)
    if apart:
        anew = iter(rows)
        split = [(*told, told[2] and next(anew)) for told in found]
        found = [(line, raw, one, why or lacks) for line, raw, row, why, one in split]
    return found, notes + apart


def _apart(
    rows: Sequence[Row], given: Columns
) -> tuple[Sequence[Row | None], list[str], str | None]:
    """Give what one column holds together a column each, in rows where most have it so; say so.

    That is a question and its choices, or the question that two chats answer. The last value is
    what the rows lack that are None.
    """
    names = _columns.names_of(islice(rows, 1000))
    asked, two = _columns.together(names, given)
    if not asked and not two:
        return rows, [], None
    if asked:
        lacks = f"no choices are found in its {asked!r}, after signs such as 'A.' and 'B.'"
        told = f"the choices are those at the end of each {asked!r}"
        said = [_said_last(row.get(asked)) for row in rows]
        cut = [inside(text) if isinstance(text, str) else None for text in said]
        new: list[Row | None] = [
            one
            and {asked: one[0], "choices": dict(zip(one[1].labels, one[1].options, strict=True))}
            for one in cut
        ]
    else:
        lacks = f"its {two[0]!r} and {two[1]!r} have no beginning in common"
        told = f"what {two[0]!r} and {two[1]!r} share at their beginning is the question"
        both = [parted(*map(row.get, two)) for row in rows]
        new = [one and dict(zip(("question", *two), one, strict=True)) for one in both]
    if 2 * sum(map(bool, new)) <= len(rows):
        return rows, [], None
    return [one and {**row, **one} for row, one in zip(rows, new, strict=True)], [told], lacks


def _said_last(value: Any) -> Any:
    """Return the last turn of a chat; what is none as it is."""
    turns = spoken(value)
    return turns[-1] if turns else value


def recognises(source: Source) -> bool:
    """Tell whether a file of text has columns of questions."""
    names, record = _first_row(source)
    try:
        found = plan([*dict.fromkeys([*names, *record])], Columns(), [record])
    except FormatError:
        return False
    # Any mapping of words may hold "question" and "options"; choices are several.
    alone = record.get(found.choices[0]) if len(found.choices) == 1 else None
    return not isinstance(alone, str) or lists(alone)


def _first_row(source: Source) -> tuple[list[str], Row]:
    """Return the names of the columns, and the first row that can be read, if one can."""
    told, where = source_rows(source)
    try:
        first = [*islice((one for one in islice(told, _LOOK) if one[2]), 1)]
        row = next((row for _, _, row, _ in shaped(first, Columns())[0] if row), {})
    except FormatError:
        row = {}
    if source.start.startswith(("{", "[")) or where:
        return [*row], row
    return [cell.strip() for cell in max(source.headers.values(), key=len)], row


def lacking(source: Source) -> tuple[str, bool]:
    """Return why a file of text is not read as questions, and whether it has a column of them.

    "" where it has no columns.
    """
    names, row = _first_row(source)
    table = not source.start.startswith(("{", "[", "<"))
    if len(names) < 2 or source.start.startswith("<"):
        return "", False
    try:
        plan(names, Columns(), [row])
    except FormatError as error:
        header = " (does the first line name the columns?)" if table else ""
        named = _columns.names_of([names])
        asks = _columns.first([*_columns.QUESTION.split(), "questions"], named) or named.families
        where = "".join(f"{one}; " for one in source_rows(source)[1])
        return f"{where}{error.reason}{header}", bool(asks)
    return (
        "the choices of its first row are no list of several: write a JSON list, or a column "
        "for each",
        True,
    )
