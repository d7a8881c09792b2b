"""The text of one file, decoded, and the first looks at it by which formats are told apart."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError

__all__ = ["Source"]

_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""")

_LOOK = 20
"""How many lines are searched for a first good record, so that one bad line hides no format."""


class Source:
    """The text of one file, decoded.

    Attributes:
        path: the file.
        text: its whole text, without a byte-order mark, line ends as they are.

    Raises:
        FormatError: the file is empty, can't be opened, or is not UTF-8 (with the line). An XML
            file that is not UTF-8 is read in the encoding that it declares.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise FormatError(error.strerror or str(error), self.path) from error
        if not raw.strip():
            raise FormatError("the file is empty", self.path)
        self.text = _decoded(raw, self.path)
        if not self.text.strip():
            raise FormatError("the file is empty", self.path)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its 1-based number.

        Only line feeds end a line: the other separators of Unicode may stand inside a sentence.
        """
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line.rstrip("\r")

    def slice(self, first: int, last: int) -> str:
        """Return the lines from `first` to `last`, 1-based and both included."""
        return "\n".join(self._lines[first - 1 : last])

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def start(self) -> str:
        """The first 4,000 characters, without the white space before them."""
        return self.text.lstrip()[:4000]

    @cached_property
    def first_record(self) -> Mapping[str, Any]:
        """The first of the first lines that is a JSON object; empty when there is none."""
        if not self.start.startswith("{"):
            return {}
        for _, line in islice(self.lines(), _LOOK):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                return record
        return {}

    @cached_property
    def first_element(self) -> Mapping[str, Any]:
        """The first element of a JSON array, when it is an object; else empty."""
        if not self.start.startswith("["):
            return {}
        after = re.compile(r"\s*").match(self.text, self.text.index("[") + 1)
        try:
            element, _ = json.JSONDecoder().raw_decode(self.text, after.end() if after else 0)
        except (ValueError, RecursionError):
            return {}
        return element if isinstance(element, dict) else {}

    @cached_property
    def headers(self) -> Mapping[str, tuple[str, ...]]:
        """The cells of the first line for each separator of a table: comma, semicolon, tab."""
        first = next(line for _, line in self.lines())
        return {separator: _cells(first, separator) for separator in (",", ";", "\t")}


def _cells(line: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(io.StringIO(line, newline=""), delimiter=separator)))
    except (csv.Error, StopIteration):
        return ()


def _decoded(raw: bytes, path: Path) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FormatError(
            "the text is UTF-16; convert it first, for example with: iconv -f utf-16 -t utf-8",
            path,
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        declared = _DECLARED.match(raw)
        if declared and declared[1].lower() not in (b"utf-8", b"utf8"):
            return _as_declared(raw, declared[1].decode("ascii"), path)
        raise FormatError(
            "the text is not UTF-8; convert it first, for example with: iconv -f latin1 -t utf-8",
            path,
            raw.count(b"\n", 0, error.start) + 1,
        ) from None


def _as_declared(raw: bytes, encoding: str, path: Path) -> str:
    try:
        return raw.decode(encoding)
    except (LookupError, ValueError) as error:  # some codecs raise what is no decoding error
        raise FormatError(
            f"the text is neither UTF-8 nor {encoding}, as it declares", path
        ) from error
