"""Find the offsets of a record's values in a file's text, to edit them in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winosmith.data._delimited import Delimited
from winosmith.data._json import split_elements
from winosmith.errors import DataError
from winosmith.outputs import unguard_cell
from winosmith.records import DECODER

_JSON_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


@dataclass(frozen=True)
class Value:
    """A record's value with its offsets in the file's text.

    Attributes:
        start: 0-based offset of the value in the file's text.
        end: offset of the value's end (exclusive).
        members: the elements of an array by index, or the values of an object by key; empty for
            other values.
    """

    start: int
    end: int
    value: Any
    members: Mapping[int | str, Value]

    def iterate_leaves(self, name: int | str = "") -> Iterator[tuple[int | str, Value]]:
        """Yield each string, number or other scalar, with the nearest enclosing key."""
        if not self.members:
            yield name, self
        for key, value in self.members.items():
            yield from value.iterate_leaves(key if isinstance(key, str) else name)

    def iterate_values(self) -> Iterator[Value]:
        yield self
        for value in self.members.values():
            yield from value.iterate_values()

    def locate_characters(self, text: str) -> list[tuple[int, int]]:
        """Return the file's [start, end) offsets for each character of a string value.

        Raises:
            DataError: the characters in the file don't match the value.
        """
        start, end = self.start, self.end
        if text[start:end] != self.value and text[start : start + 1] in ("'", '"'):
            start, end = start + 1, end - 1
        raw = text[start:end]
        if raw == self.value:
            return [(at, at + 1) for at in range(start, end)]
        for quote in ("''", '""'):
            if raw.replace(quote, quote[0]) == self.value:
                signs = re.compile(f"{quote}|.", re.DOTALL)
                return [match.span() for match in signs.finditer(text, start, end)]
        try:
            is_json = DECODER.decode(f'"{raw}"') == self.value
        except ValueError:
            is_json = False
        spans = [match.span() for match in _JSON_CHARACTER.finditer(text, start, end)]
        if not is_json or len(spans) != len(self.value):
            raise DataError("the text in the file doesn't match the value that was read from it")
        return spans


def parse_json_value(text: str, start: int) -> Value:
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise DataError("the record is not JSON") from None
    return _locate_members(text, start, end, value)


def _locate_members(text: str, start: int, end: int, value: Any) -> Value:
    members: dict[int | str, Value] = {}
    if isinstance(value, dict | list):
        parts = [*split_elements(text, start)]
        is_object = isinstance(value, dict)
        names = [part.value for part in parts[::2]] if is_object else range(len(parts))
        for name, part in zip(names, parts[1::2] if is_object else parts, strict=True):
            members[name] = _locate_members(text, part.start, part.end, part.value)
    return Value(start, end, value, members)


def parse_row(text: str, start: int, end: int, table: Delimited) -> Value:
    """Parse a row of delimited text as an object with a key for each column.

    Raises:
        DataError: the row and the header have different numbers of cells.
    """
    unquoted = f"[^{re.escape(table.separator)}]*"
    cell = re.compile(rf'"(?:[^"]|"")*"|{unquoted}' if table.is_quoted else unquoted)
    spans, at = [], start
    while True:
        match = cell.match(text, at, end)
        at = match.end() if match else end
        spans.append((match.start() if match else at, at))
        if at >= end:
            break
        if text[at] != table.separator:
            raise DataError("the row can't be split into cells")
        at += 1
    if len(spans) != len(table.header):
        raise DataError(f"the row has {len(spans)} cells; the header has {len(table.header)}")
    members: dict[int | str, Value] = {}
    for name, (begin, stop) in zip(table.header, spans, strict=True):
        raw = text[begin:stop]
        if table.is_quoted and raw.startswith('"'):
            raw = raw[1:-1].replace('""', '"')
        members[name] = Value(begin, stop, unguard_cell(raw), {})
    return Value(start, end, {name: one.value for name, one in members.items()}, members)
