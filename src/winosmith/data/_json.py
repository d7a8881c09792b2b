"""JSON Lines and JSON files.

A JSON file is an array of records or an object. The object may be a single record, or may contain a
list of records, a list for each column, or a record for each id. A key that occurs twice in an
object is refused, because only one of its values could be used. NaN and Infinity, which JSON does
not have, are refused, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from winosmith.data._source import Place, Row, Source
from winosmith.records import DECODER, dump_json, parse_json

Record = Mapping[str, Any]

_SPACE = re.compile(r"\s*")

_SPLIT_KEYS = {"columns", "index", "data"}
"""The keys of `DataFrame.to_json(orient="split")`."""


class Member(NamedTuple):
    """An element of a JSON array, or a key or value of a JSON object, at `text[start:end]`.

    `fault` is the reason why it, and possibly all following text, can't be read; otherwise "".
    """

    start: int
    end: int
    value: Any
    fault: str = ""


def read_json_lines(source: Source) -> Iterator[Row[Record]]:
    path = str(source.path)
    for number, at, line in source.iterate_lines():
        place = Place(path, number, "line", at, at + len(line))
        try:
            record = parse_json(line)
        except ValueError as error:
            yield Row(place, line, None, f"the line is not JSON: {error}")
        else:
            yield make_row(place, line, record)


def make_row(place: Place, raw: str, value: Any, kind: str = "a JSON object") -> Row[Record]:
    if isinstance(value, dict):
        return Row(place, raw, value)
    return Row(place, raw, None, f"this is not {kind}: {raw[:40]!r}")


def read_array(source: Source, start: int | None = None) -> Iterator[Row[Record]]:
    """Yield each element of a JSON array.

    The array is the whole file, or begins at offset `start`. If the file has one line, elements are
    numbered instead of lines. If an element has no end, the rest of the file is a single bad
    element. Text after the end of an array that should be the whole file is also a bad element.
    """
    text, path = source.text, str(source.path)
    in_lines = "\n" in text.strip()
    begin = text.index("[", start)
    number, counted = (1, 0) if in_lines else (0, begin)
    for at, end, record, fault in split_elements(text, begin, is_whole=start is None):
        number += text.count("\n", counted, at) if in_lines else 1
        counted = at
        place, raw = Place(path, number, "line" if in_lines else "row", at, end), text[at:end]
        yield Row(place, raw, None, fault) if fault else make_row(place, raw, record)


_LENIENT_DECODER = json.JSONDecoder()
"""A decoder that finds the end of an invalid value, such as NaN."""


def split_elements(text: str, start: int, *, is_whole: bool = False) -> Iterator[Member]:
    """Yield the elements of the array at an offset, or the keys and values of the object there.

    Keys and values alternate. If `is_whole`, text after the array or object is a fault.
    """
    close, separators = ("]", ",,") if text[start] == "[" else ("}", ":,")
    at, count = _skip_space(text, start + 1), 0
    while text[at : at + 1] != close or (count % 2 and close == "}"):
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            error_text = "brackets nested too deep" if isinstance(error, RecursionError) else error
            try:
                _, end = _LENIENT_DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                fault = f"this is not JSON, and nothing after it can be read: {error_text}"
                yield Member(at, len(text), None, fault)
                return
            yield Member(at, end, None, f"this is not JSON: {error_text}")
        else:
            yield Member(at, end, value)
        at = _skip_space(text, end)
        if text[at : at + 1] == separators[count % 2]:
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] != close or separators[count % 2] == ":":
            fault = "the array is not closed; the file may be truncated"
            yield Member(at, len(text), None, fault)
            return
        count += 1
    if is_whole and text[at + 1 :].strip():
        fault = "text follows the end of the array; write one array, or one object per line"
        yield Member(_skip_space(text, at + 1), len(text), None, fault)


def _skip_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def has_lines(source: Source) -> bool:
    """Return whether the first line is a complete JSON object that is followed by other lines."""
    (_, _, first), *more = islice(source.iterate_lines(), 2)
    try:
        return bool(more) and isinstance(DECODER.decode(first.strip()), dict)
    except (ValueError, RecursionError):
        return False


def get_members(source: Source) -> dict[str, Member]:
    """Return the values by key if the file is a single JSON object, or else an empty dict."""
    text = source.text
    if not source.start.startswith("{") or has_lines(source):
        return {}
    begin = text.index("{")
    found = [*split_elements(text, begin)]
    values = {
        name.value: value
        for name, value in zip(found[::2], found[1::2], strict=False)
        if isinstance(name.value, str)
    }
    if any(one.fault for one in found) or 2 * len(values) < len(found):
        return {}
    end = found[-1].end if found else begin + 1
    return {} if text[end:].strip() != "}" else values


def read_json_object(source: Source, values: Mapping[str, Member]) -> Iterator[Row[Record]]:
    start, end = source.text.index("{"), source.text.rindex("}") + 1
    record = {name: member.value for name, member in values.items()}
    yield Row(source.locate(start, end), source.text[start:end], record)


def read_records_by_id(source: Source, values: Mapping[str, Member]) -> Iterator[Row[Record]]:
    """Yield each value of an object of objects as a record, with its key as `id`."""
    for name, (start, end, value, _) in values.items():
        row = {"id": name, **value}
        yield Row(source.locate(start, end), dump_json(row), row)


def columns_to_rows(values: Record) -> list[Record] | None:
    """Convert columns (lists, or objects by row number, like those of pandas) to rows.

    The result is None if the values are not columns of the same length, or are lists of objects.

    >>> columns_to_rows({"question": ["Why?", "When?"], "answer": ["A", "B"]})
    [{'question': 'Why?', 'answer': 'A'}, {'question': 'When?', 'answer': 'B'}]
    >>> columns_to_rows({"question": {"0": "Why?"}, "answer": {"0": "A"}})
    [{'question': 'Why?', 'answer': 'A'}]
    >>> columns_to_rows({"columns": ["question", "answer"], "index": [0], "data": [["Why?", "A"]]})
    [{'question': 'Why?', 'answer': 'A'}]
    """
    names, data = values.get("columns"), values.get("data")
    if isinstance(names, list) and isinstance(data, list) and set(values) <= _SPLIT_KEYS:
        if all(isinstance(row, list) and len(row) == len(names) for row in data):
            rows = [dict(zip(map(str, names), row, strict=True)) for row in data]
            return _label_rows(rows, values.get("index"))
        return None
    columns = [*values.values()]
    if len(columns) < 2:
        return None
    if all(isinstance(one, dict) for one in columns):
        rows = list(columns[0])
        if not rows or any(list(one) != rows for one in columns):
            return None
        return _label_rows([{name: one[row] for name, one in values.items()} for row in rows], rows)
    if not all(isinstance(one, list) for one in columns) or len(set(map(len, columns))) > 1:
        return None
    if len(columns[0]) < 2 or all(map(are_records, columns)):
        return None
    return [dict(zip(values, row, strict=True)) for row in zip(*columns, strict=True)]


def _label_rows(rows: Sequence[Record], labels: Any) -> list[Record]:
    """Add the labels of sorted or selected rows, which are not 0, 1, …, in a column named ""."""
    labels = labels if isinstance(labels, list) else []
    if len(labels) != len(rows) or [*map(str, labels)] == [*map(str, range(len(rows)))]:
        return [*rows]
    return [{"": label, **row} for label, row in zip(labels, rows, strict=True)]


def are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
