"""The rows that one JSON object holds: in a list of its own, by columns, or by their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winosmith.formats._base import Record, Source, Told, after_space, array_records
from winosmith.formats._columns import CHOICES, plainly
from winosmith.records import DECODER, canonical

Member = tuple[int, Any]
"""Where a value begins in the text, and the value."""


def enclosed(source: Source) -> tuple[Iterator[Told[Record]], str] | None:
    """Return the rows of a file that is one object, and where they were; None where it has none.

    A row of columns has its number in place of a line.
    """
    held = members(source)
    values = {name: value for name, (_, value) in held.items()}
    if (columns := _by_columns(values)) is not None:
        numbered = ((n, canonical(row), row, None) for n, row in enumerate(columns, 1))
        return numbered, "the file holds its rows by columns"
    if len(lists := records_in(values)) == 1:
        return array_records(source, held[lists[0]][0]), f"the rows are those of {lists[0]!r}"
    if len(values) > 1 and all(isinstance(value, dict) for value in values.values()):
        return _by_ids(source.text, held), "the file holds its rows by their ids"
    return None


def members(source: Source) -> dict[str, Member]:
    """Return what a file that is one JSON object holds; nothing where it is something else."""
    text = source.text
    held: dict[str, Member] = {}
    if not source.start.startswith("{") or _has_lines(source):
        return held
    try:
        at = after_space(text, text.index("{") + 1)
        while text[at : at + 1] != "}":
            name, end = DECODER.raw_decode(text, at)
            colon = after_space(text, end)
            if not isinstance(name, str) or text[colon : colon + 1] != ":" or name in held:
                return {}
            at = after_space(text, colon + 1)
            value, end = DECODER.raw_decode(text, at)
            held[name] = at, value
            at = after_space(text, end)
            if text[at : at + 1] == ",":
                at = after_space(text, at + 1)
            elif text[at : at + 1] != "}":
                return {}
    except (ValueError, RecursionError):
        return {}
    return {} if text[at + 1 :].strip() else held


def records_in(values: Mapping[str, Any]) -> list[str]:
    """Return the names of the lists of records, but for a question's own choices."""
    return [
        name
        for name, value in values.items()
        if isinstance(value, list)
        and value
        and all(isinstance(one, dict) for one in value)
        and set(value[0]) - {"text", "label"}
        and plainly(name) not in CHOICES.split()
    ]


def _has_lines(source: Source) -> bool:
    """Tell whether the first line is a record of its own, with more lines after it."""
    lines = source.lines()
    _, first = next(lines)
    if next(lines, None) is None:
        return False
    try:
        return isinstance(DECODER.decode(first.strip()), dict)
    except (ValueError, RecursionError):
        return False


def _by_columns(values: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of columns: lists, or objects by the rows' numbers, as pandas writes them.

    >>> _by_columns({"question": ["Why?", "When?"], "answer": ["A", "B"]})
    [{'question': 'Why?', 'answer': 'A'}, {'question': 'When?', 'answer': 'B'}]
    >>> _by_columns({"question": {"0": "Why?"}, "answer": {"0": "A"}})
    [{'question': 'Why?', 'answer': 'A'}]
    >>> _by_columns({"columns": ["question", "answer"], "index": [0], "data": [["Why?", "A"]]})
    [{'question': 'Why?', 'answer': 'A'}]
    """
    names, data = values.get("columns"), values.get("data")
    if isinstance(names, list) and isinstance(data, list) and set(values) <= _SPLIT:
        if all(isinstance(row, list) and len(row) == len(names) for row in data):
            return [dict(zip(map(str, names), row, strict=True)) for row in data]
        return None
    columns = [*values.values()]
    if len(columns) < 2:
        return None
    if all(isinstance(one, dict) for one in columns):
        rows = list(columns[0])
        if not rows or any(list(one) != rows for one in columns) or not _numbers(rows):
            return None
        return [{name: one[row] for name, one in values.items()} for row in rows]
    if not all(isinstance(one, list) for one in columns) or len(set(map(len, columns))) > 1:
        return None
    if len(columns[0]) < 2 or len(records_in(values)) == len(columns):
        return None
    return [dict(zip(values, row, strict=True)) for row in zip(*columns, strict=True)]


_SPLIT = {"columns", "index", "data"}
"""What `DataFrame.to_json(orient="split")` writes."""


def _numbers(names: Sequence[str]) -> bool:
    return all(name.isdecimal() for name in names)


def _by_ids(text: str, held: Mapping[str, Member]) -> Iterator[Told[Record]]:
    line, counted = 1, 0
    for name, (at, value) in held.items():
        line, counted = line + text.count("\n", counted, at), at
        row = {"id": name, **value}
        yield line, canonical(row), row, None
