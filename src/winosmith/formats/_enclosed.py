"""Read one JSON object as rows: a list of records, columns, records by id, or the object itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from winosmith.data import (
    Record,
    Rows,
    are_records,
    columns_to_rows,
    get_members,
    read_array,
    read_records_by_id,
    read_table,
)
from winosmith.formats._columns import try_plan
from winosmith.formats._names import CHOICES, normalise
from winosmith.formats._nested import has_nested_questions

Reading = tuple[Rows, list[str]]
"""A possible interpretation of a container as rows, with notes on their location."""


def iterate_row_candidates(rows: Rows) -> Iterator[Reading]:
    """Yield each possible interpretation of a container as rows. Only objects have several."""
    if rows.kind != "object":
        yield rows, []
        return
    values = rows.first
    if columns := columns_to_rows(values):
        yield _read_columns(rows, columns)
    yield rows, []
    for name, value in values.items():
        if are_records(value):
            yield _read_list(rows, name)
    if _has_records_by_id(values):
        yield _read_records_by_id(rows)


def find_questions(rows: Rows) -> Reading | None:
    """Return the questions in an object, or None if it doesn't have exactly one list of them."""
    values = rows.first
    if columns := _find_question_columns(values):
        return _read_columns(rows, columns)
    lists = find_record_lists(values)
    questions = [name for name in lists if try_plan([values[name][0]])]
    plan = try_plan([values])
    if plan and not (len(questions) == 1 and plan.answer is None):
        return rows, []
    if has_nested_questions(values):
        return rows, ["the file has one record"]
    if len(names := lists if len(lists) == 1 else questions) == 1:
        return _read_list(rows, names[0])
    return _read_records_by_id(rows) if _has_records_by_id(values) else None


def _read_columns(rows: Rows, columns: Sequence[Record]) -> Reading:
    read = partial(read_table, columns, rows.path)
    return Rows(rows.path, "table", read), ["the file stores its rows as columns"]


def _read_list(rows: Rows, name: str) -> Reading:
    (source,) = rows.sources
    read = partial(read_array, source, get_members(source)[name].start)
    return Rows(rows.path, "array", read, source), [f"the rows are in {name!r}"]


def _read_records_by_id(rows: Rows) -> Reading:
    (source,) = rows.sources
    read = partial(read_records_by_id, source, get_members(source))
    return Rows(rows.path, "array", read, source), ["the file's rows are keyed by id"]


def _has_records_by_id(values: Record) -> bool:
    return len(values) > 1 and all(isinstance(value, dict) for value in values.values())


def find_record_lists(values: Mapping[str, Any]) -> list[str]:
    """Return the names of the lists of records, except lists of a question's choices or turns."""
    return [
        name
        for name, value in values.items()
        if are_records(value)
        and set(value[0]) - {"text", "label"}
        and set(value[0]) != {"output", "tags"}  # HELM's references
        and not {"role", "content"} <= set(value[0])
        and normalise(name) not in CHOICES
    ]


def _find_question_columns(values: Record) -> list[Record] | None:
    found = columns_to_rows(values)
    if not found or try_plan([found[0]]):
        return found
    columns = [*values.values()]
    if all(isinstance(one, dict) for one in columns):
        numbered = all(name.isdecimal() for name in columns[0])
        return found if numbered and not try_plan([columns[0]]) else None
    # Lists may have the same length by chance, or belong to one text.
    return None if any(map(are_records, columns)) or has_nested_questions(values) else found
