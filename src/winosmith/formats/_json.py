"""JSON Lines and JSON arrays, record by record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry, Item, Source, entry
from winosmith.records import DECODER, parsed

Record = Mapping[str, Any]


_SPACE = re.compile(r"\s*")


def json_lines(source: Source, build: Callable[[Record, int], Item]) -> Iterator[Entry]:
    """Yield the entry of each line; `build` gets the object and its 0-based position."""
    for position, (number, line) in enumerate(source.lines()):
        try:
            record = parsed(line)
        except ValueError as error:
            yield Entry(number, line, reason=f"the line is not JSON: {error}")
            continue
        reason = _what_is_wrong(record, line)
        if reason:
            yield Entry(number, line, reason=reason)
        else:
            yield entry(number, line, lambda: build(record, position))  # noqa: B023 - called here


def array_records(source: Source) -> Iterator[tuple[int, str, Record | None, str | None]]:
    """Yield line, text, object and reason for each element of a JSON array.

    After an element that is not JSON nothing more can be told apart: the rest is one bad element.
    """
    text = source.text
    if not source.start.startswith("["):
        yield 1, source.slice(1, 1), None, "this is not a JSON array"
        return
    at = _after_space(text, text.index("[") + 1)
    line, counted = 1, 0
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            record, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            what = "brackets nested too deep" if isinstance(error, RecursionError) else error
            why = f"this is not JSON, and nothing after it can be read: {what}"
            yield line, text[at:], None, why
            return
        raw = text[at:end]
        reason = _what_is_wrong(record, raw)
        yield line, raw, None if reason else record, reason
        at = _after_space(text, end)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] != "]":
            yield line, text[at:], None, "the array does not end; the file may be cut short"
            return


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _what_is_wrong(record: object, raw: str) -> str | None:
    return None if isinstance(record, dict) else f"this is not a JSON object: {raw[:40]!r}"


def text_field(record: Record, key: str) -> str:
    """Return a field that must be text; raises ProblemError when it is missing or no text."""
    if key not in record:
        raise ProblemError(f"the record has no {key!r}")
    value = record[key]
    if not isinstance(value, str):
        raise ProblemError(f"{key!r} must be text, not {value!r}")
    return value


def whole_number(text: str) -> int | str:
    """Return the number that a text is the plain form of, else the text.

    Ids that a file writes as numbers are texts here, and are numbers again when written.

    >>> whole_number("12"), whole_number("012"), whole_number("q1")
    (12, '012', 'q1')
    """
    return int(text) if re.fullmatch(r"0|-?[1-9][0-9]{0,15}", text) else text
