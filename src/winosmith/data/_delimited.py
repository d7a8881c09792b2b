"""Delimited text: CSV, TSV, or text separated by semicolons.

A first line `sep=;` declares the separator. Quotation marks enclose cells. The marks are read as
text if all lines have the same number of cells when the marks are ignored. An apostrophe that
prevents a spreadsheet from running a cell as a formula is removed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from winosmith.data._source import Place, Row, Source
from winosmith.errors import FormatError
from winosmith.outputs import unguard_cell

_SEPARATORS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r'\ufeff?"?sep=(.)"?\r?\n', re.IGNORECASE)
"""Pattern of a first line that declares the separator, as in CSV files for Excel."""

_NEWLINE = re.compile(r"\r\n?|\n")
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class Delimited:
    r"""Delimited text with a header and rows.

    >>> table = Delimited(Source("a.csv", b"sep=;\nx;y\n1;\"a;b\"\n"))
    >>> table.header, [row.values for row in table.rows()]
    (('x', 'y'), [{'x': '1', 'y': 'a;b'}])
    """

    source: Source

    @cached_property
    def _header_start(self) -> int:
        """The offset of the header in the text, after the declaration of the separator, if any."""
        declared = _SEPARATOR_LINE.match(self.source.text)
        return declared.end() if declared else 0

    @cached_property
    def separator(self) -> str:
        if declared := _SEPARATOR_LINE.match(self.source.text):
            return declared[1]
        lines = self.source.text.split("\n")
        first = next((line for line in lines if line.strip(" \t\r,;")), "")
        return max(_SEPARATORS, key=lambda mark: len(_split_cells(first, mark)))

    @cached_property
    def header(self) -> tuple[str, ...]:
        rows = (cells for cells, _, _ in self._read_cells(self.is_quoted))
        return tuple(_clean_header(next((row for row in rows if isinstance(row, list)), [])))

    @cached_property
    def is_quoted(self) -> bool:
        r"""Whether quotation marks enclose cells and are not part of the text.

        The marks are text if every line has the same number of cells when they are ignored, and
        some cell has a mark only at its start. A single mark in the file is an error.

        >>> Delimited(Source("a.tsv", b'x\ty\n"Why?" I asked.\tb\n')).is_quoted
        False
        >>> Delimited(Source("a.csv", b'x,y\n"a,b",c\n')).is_quoted
        True
        """
        text, separator = self.source.text, self.separator
        if '"' not in text:
            return True
        lines = [one.rstrip("\r") for one in text[self._header_start :].split("\n") if one.strip()]
        if len({line.count(separator) for line in lines}) > 1:
            return True
        cells = (cell.strip() for line in lines for cell in line.split(separator))
        is_text = any(cell.startswith('"') and not _QUOTED_CELL.fullmatch(cell) for cell in cells)
        return not is_text or text.count('"') == 1

    def rows(self, header: Sequence[str] = ()) -> Iterator[Row[Mapping[str, str]]]:
        """Yield each row as a mapping from column names to cells.

        An apostrophe that prevents a cell from running as a formula is removed. If the file has no
        header, `header` contains the column names, and quotation marks enclose cells.
        """
        path, names = str(self.source.path), list(header)
        for cells, first, last in self._read_cells(bool(header) or self.is_quoted):
            if isinstance(cells, csv.Error):
                unread = f" (lines {first + 1:,} to {last:,} were not read)"
                reason = f"this is not a row of a table: {cells}; is a quotation mark left open?"
                reason += unread if last > first + 1 else ""
                yield Row(*self._locate_lines(first, last), None, reason)
            elif names:
                yield map_cells(cells, names, *self._locate_lines(first, last))
            else:
                names = parse_header(cells, path, first + 1)

    def _read_cells(self, is_quoted: bool) -> Iterator[tuple[list[str] | csv.Error, int, int]]:
        """Yield the cells of each row that is not empty, or the error if it can't be read.

        Also yields the numbers of lines before the row and up to the row's end.
        """
        reader = csv.reader(
            io.StringIO(self.source.text[self._header_start :], newline=""),
            delimiter=self.separator,
            quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
            strict=True,
        )
        above = self.source.text.count("\n", 0, self._header_start)
        while True:
            first = reader.line_num + above
            try:
                cells = next(reader, None)
            except csv.Error as error:
                yield error, first, reader.line_num + above
                continue
            if cells is None:
                return
            if any(map(str.strip, cells)):
                yield cells, first, reader.line_num + above

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(newline.end() for newline in _NEWLINE.finditer(self.source.text))]

    def _locate_lines(self, first: int, last: int) -> tuple[Place, str]:
        """Return the location and the text of the lines after `first` up to `last`."""
        text, starts = self.source.text, self._line_starts
        start = starts[min(first, len(starts) - 1)]
        end = starts[last] if last < len(starts) else len(text)
        raw = text[start:end].rstrip("\r\n")
        return Place(str(self.source.path), first + 1, "line", start, start + len(raw)), raw


def _split_cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def _clean_header(cells: Sequence[str]) -> list[str]:
    """Return the stripped names in a header, without unnamed columns at its end."""
    width = next((n for n in range(len(cells), 0, -1) if cells[n - 1].strip()), 0)
    # Spreadsheets write empty columns; a single one at the end may be an unnamed data column.
    cells = cells[:width] if len(cells) - width > 1 else cells
    return [unguard_cell(cell).strip() for cell in cells]


def parse_header(
    cells: Sequence[str], path: str, number: int, unit: Literal["line", "row"] = "line"
) -> list[str]:
    names = _clean_header(cells)
    repeated = next((name for name, n in Counter(names).items() if n > 1), None)
    if repeated is not None:
        raise FormatError(f"the column {repeated!r} occurs twice", path, number, unit)
    return names


def map_cells(
    cells: list[str], names: Sequence[str], place: Place, raw: str
) -> Row[Mapping[str, str]]:
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) != len(names):
        return Row(place, raw, None, f"the row has {len(cells)} cells; the header has {len(names)}")
    texts = map(unguard_cell, cells) if "'" in raw else cells
    return Row(place, raw, dict(zip(names, texts, strict=True)))
