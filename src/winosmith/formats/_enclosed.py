"""The rows that one JSON object holds: in a list of its own, by columns, or by their ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from winosmith.errors import FormatError
from winosmith.formats._base import Record, Source, Told, after_space, array_records
from winosmith.formats._columns import CHOICES, Columns, plainly, plan
from winosmith.formats._nested import unfolds
from winosmith.records import DECODER, canonical

Member = tuple[int, Any]
"""Where a value begins in the text, and the value."""


class Enclosed(NamedTuple):
    """The rows of one object.

    Attributes:
        rows: as told; one of columns has its number in place of a line.
        where: they were, in words.
        lines: what makes lines of them in jq, where one word does.
    """

    rows: Iterator[Told[Record]]
    where: str
    lines: str = ""


def enclosed(source: Source) -> Enclosed | None:
    """Return the rows of a file that is one object; None where it has none, or is a row itself."""
    held = members(source)
    values = {name: value for name, (_, value) in held.items()}
    if (columns := _by_columns(values)) is not None:
        numbered = ((n, canonical(row), row, None) for n, row in enumerate(columns, 1))
        return Enclosed(numbered, "the file holds its rows by columns")
    lists = records_in(values)
    asked = [name for name in lists if is_row(values[name][0])]
    if is_row(values) and not (len(asked) == 1 and is_row(values, answered=False)):
        return None
    if unfolds(values):
        return Enclosed(iter([(1, source.text, values, None)]), "the file holds one record")
    if len(name := lists if len(lists) == 1 else asked) == 1:
        rows = array_records(source, held[name[0]][0])
        return Enclosed(rows, f"the rows are those of {name[0]!r}", of_list(name[0]))
    if len(values) > 1 and all(isinstance(value, dict) for value in values.values()):
        rows, lines = _by_ids(source.text, held), "'to_entries[] | {id: .key} + .value'"
        return Enclosed(rows, "the file holds its rows by their ids", lines)
    return None


def of_list(name: str) -> str:
    """Return what makes lines of the records of one list in jq."""
    return f"'.[{json.dumps(name)}][]'"


def is_row(values: Mapping[str, Any], *, answered: bool | None = None) -> bool:
    """Tell whether an object is a question, whose own its lists are: its sources, say.

    Args:
        values: of the object.
        answered: whether it also must have an answer, or none; None for either.
    """
    try:
        found = plan([*values], Columns(), [values])
    except FormatError:
        return False
    return answered is None or answered == (found.answer is not None)


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
    """Return the names of the lists of records, but for a question's own choices and turns."""
    return [
        name
        for name, value in values.items()
        if _records(value)
        and set(value[0]) - {"text", "label"}
        and set(value[0]) != {"output", "tags"}  # HELM's references
        and not {"role", "content"} <= set(value[0])
        and plainly(name) not in CHOICES.split()
    ]


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


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
    >>> _by_columns({"q1": {"question": "Why?", "options": ["a", "b"]},
    ...              "q2": {"question": "When?", "options": ["c", "d"]}}) is None
    True
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
        if not rows or any(list(one) != rows for one in columns):
            return None
        found = [{name: one[row] for name, one in values.items()} for row in rows]
        return found if is_row(found[0]) or (_numbers(rows) and not is_row(columns[0])) else None
    if not all(isinstance(one, list) for one in columns) or len(set(map(len, columns))) > 1:
        return None
    if len(columns[0]) < 2 or all(map(_records, columns)):
        return None
    found = [dict(zip(values, row, strict=True)) for row in zip(*columns, strict=True)]
    alike = any(map(_records, columns)) or unfolds(values)  # as many by accident, or one text's
    return found if is_row(found[0]) or not alike else None


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
