"""What a file format is: how to recognise it, read it and write it.

A reader yields one `Entry` a record, in the order of the file, and never stops at a bad one: the
entry then holds the reason in place of the record. Whether that ends the reading or is set aside
is decided in one place (`winosmith.formats.read`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from winosmith.errors import FormatError, ProblemError
from winosmith.problem import Claim, Problem

__all__ = [
    "Entry",
    "Format",
    "Item",
    "Source",
    "entry",
    "json_lines",
    "option_number",
    "text_field",
]

Item = Problem | Claim


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a file: what it holds, or why it can't be read.

    Attributes:
        line: the 1-based line where the record starts.
        raw: the record's own text, for setting it aside.
        item: the problem or claim; None when it can't be read.
        reason: why it can't be read; None when it can.
    """

    line: int
    raw: str
    item: Item | None = None
    reason: str | None = None


class Source:
    """The text of one file, decoded.

    Attributes:
        path: the file.
        text: its whole text, without a byte-order mark, line ends as they are.

    Raises:
        FormatError: the file is empty, can't be opened, or is not UTF-8 (with the line).
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise FormatError(error.strerror or str(error), self.path) from error
        if not raw.strip():
            raise FormatError("the file is empty", self.path)
        try:
            self.text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise FormatError(
                "the text is not UTF-8; convert it first, for example with: "
                "iconv -f latin1 -t utf-8",
                self.path,
                line,
            ) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its 1-based number."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line.rstrip("\r")

    def first_line(self) -> str:
        """Return the first line that is not blank."""
        return next(line for _, line in self.lines())

    def first_record(self) -> dict[str, Any]:
        """Return the first line as a JSON object, or an empty one when it is none."""
        try:
            record = json.loads(self.first_line())
        except ValueError:
            return {}
        return record if isinstance(record, dict) else {}


@dataclass(frozen=True)
class Format:
    """A published file format.

    Attributes:
        name: what `--from` and `--to` take ("winogrande").
        title: one line for the help.
        recognises: tells from its content whether a file is in this format.
        read: yields the entries of a file, in order.
        write: writes problems or claims to a text file; None when it is only read.
        suffix: the usual ending of a file in this format.
    """

    name: str
    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterable[Entry]]
    write: Callable[[Sequence[Item], IO[str]], None] | None = None
    suffix: str = ".txt"


def entry(line: int, raw: str, build: Callable[[], Item]) -> Entry:
    """Return the entry of one record: what `build` makes of it, or the reason why it can't."""
    try:
        return Entry(line, raw, build())
    except ProblemError as error:
        return Entry(line, raw, reason=str(error))
    except KeyError as error:
        return Entry(line, raw, reason=f"the record has no {error.args[0]!r}")


def json_lines(source: Source, build: Callable[[Mapping[str, Any], int], Item]) -> Iterator[Entry]:
    """Yield the entry of each line of a JSON Lines file; `build` gets the object and its line."""
    for number, line in source.lines():
        try:
            record = json.loads(line)
        except ValueError as error:
            yield Entry(number, line, reason=f"the line is not JSON: {error}")
            continue
        if not isinstance(record, dict):
            yield Entry(number, line, reason=f"the line is not a JSON object: {line[:40]!r}")
            continue
        yield entry(number, line, lambda record=record, number=number: build(record, number))  # type: ignore[misc]


def text_field(record: Mapping[str, Any], key: str) -> str:
    """Return a field that must be text; raises ProblemError when it is missing or no text."""
    if key not in record:
        raise ProblemError(f"the record has no {key!r}")
    value = record[key]
    if not isinstance(value, str):
        raise ProblemError(f"{key!r} must be text, not {value!r}")
    return value


def option_number(value: Any, options: int) -> int | None:
    """Return the 0-based answer of a 1-based number written as text or integer, or None if empty.

    Raises:
        ProblemError: it is neither empty nor one of the options' numbers.

    >>> option_number("2", 2), option_number("", 2), option_number(None, 2)
    (1, None, None)
    """
    if value is None or value == "":
        return None
    if str(value) in map(str, range(1, options + 1)) and not isinstance(value, bool):
        return int(value) - 1
    raise ProblemError(
        f"the answer is {value!r}; with {options} options it must be a number from 1 to {options}"
    )
