"""Tables of comma-, semicolon- or tab-separated cells, row by row."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO

from winosmith.cells import guarded, unguarded
from winosmith.errors import FormatError
from winosmith.formats._base import Entry, Item, Source, entry

Row = Mapping[str, str]


def has_columns(source: Source, columns: Iterable[str]) -> bool:
    """Tell whether the first line names these columns, with any of the known separators."""
    wanted = set(columns)
    return any(wanted <= set(header) for header in source.headers.values())


def separator_of(source: Source) -> str:
    """Return the separator that cuts the first line into the most cells."""
    return max(source.headers, key=lambda separator: len(source.headers[separator]))


def rows(
    source: Source, needed: Iterable[str] = (), *, quoted: bool = True
) -> Iterator[tuple[int, str, Row | None, str | None]]:
    """Yield line, text, cells by column and reason for each row under the header.

    A cell that `write_rows` kept from running as a formula is as it was before.

    Args:
        source: the file.
        needed: the columns that it must have.
        quoted: False takes quotation marks as they are, for files that were written so.

    Raises:
        FormatError: a column occurs twice, or a needed one is missing.
    """
    separator = separator_of(source)
    lines = io.StringIO(source.text, newline="")
    reader = csv.reader(
        lines,
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header: list[str] = []
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = reader.line_num
            reason = f"this is not a row of a table: {error}; is a quotation mark left open?"
            yield first, source.slice(first, last), None, reason
            continue
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = _checked(cells, needed, source, first)
            continue
        wrong: str | None = None
        if len(cells) != len(header):
            wrong = f"the row has {len(cells)} cells; the header has {len(header)}"
        raw = source.slice(first, reader.line_num)
        found = dict(zip(header, map(unguarded, cells), strict=False))
        yield first, raw, None if wrong else found, wrong


def _checked(header: list[str], needed: Iterable[str], source: Source, line: int) -> list[str]:
    names = [name.strip() for name in header]
    missing = [name for name in needed if name not in names]
    if missing:
        raise FormatError(f"the table has no column {missing[0]!r}", source.path, line)
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise FormatError(f"the column {twice!r} occurs twice", source.path, line)
    return names


def table(
    source: Source, build: Callable[[Row, int], Item], needed: Iterable[str] = ()
) -> Iterator[Entry]:
    """Yield the entry of each row; `build` gets its cells and its 0-based position."""
    for position, (line, raw, row, reason) in enumerate(rows(source, needed)):
        if row is None:
            yield Entry(line, raw, reason=reason)
        else:
            yield entry(line, raw, lambda: build(row, position))  # noqa: B023 - called here


def write_rows(
    file: IO[str],
    header: Sequence[str],
    cells: Iterable[Sequence[str | int]],
    separator: str = ",",
) -> None:
    r"""Write a table; a cell with a separator, a quotation mark or a line end is quoted.

    No text runs as a formula when a spreadsheet opens the table (`winosmith.cells`).
    Comma-separated rows end in CR LF (RFC 4180), tab-separated ones in LF, as published.
    """
    end = "\r\n" if separator == "," else "\n"
    writer = csv.writer(file, delimiter=separator, lineterminator=end)
    writer.writerow(header)
    for row in cells:
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row])
