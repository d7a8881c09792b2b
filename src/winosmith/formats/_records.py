"""The records of a file, one by one, each with its line: JSON, tables, XML.

Nothing outside the file is fetched. Where the syntax allows, a bad record does not hide the others.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, indent, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from winosmith.errors import FormatError, ProblemError
from winosmith.formats._base import Entry, Item, Source, entry
from winosmith.outputs import guarded, unguarded
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
        reason = _no_object(record, line)
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
        reason = _no_object(record, raw)
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


def _no_object(record: object, raw: str) -> str | None:
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


Row = Mapping[str, str]


def has_columns(source: Source, columns: Iterable[str]) -> bool:
    """Tell whether the first line names these columns, with any of the known separators."""
    wanted = set(columns)
    return any(wanted <= set(header) for header in source.headers.values())


def separator_of(source: Source) -> str:
    """Return the separator that cuts the first line into the most cells."""
    return max(source.headers, key=lambda separator: len(source.headers[separator]))


def table(
    source: Source, build: Callable[[Row, int], Item], needed: Iterable[str] = ()
) -> Iterator[Entry]:
    """Yield the entry of each row; `build` gets its cells and its 0-based position."""
    for position, (line, raw, row, reason) in enumerate(rows(source, needed)):
        if row is None:
            yield Entry(line, raw, reason=reason)
        else:
            yield entry(line, raw, lambda: build(row, position))  # noqa: B023 - called here


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
            header = _header_checked(cells, needed, source, first)
            continue
        wrong: str | None = None
        if len(cells) != len(header):
            wrong = f"the row has {len(cells)} cells; the header has {len(header)}"
        raw = source.slice(first, reader.line_num)
        found = dict(zip(header, map(unguarded, cells), strict=False))
        yield first, raw, None if wrong else found, wrong


def _header_checked(
    header: list[str], needed: Iterable[str], source: Source, line: int
) -> list[str]:
    names = [name.strip() for name in header]
    missing = [name for name in needed if name not in names]
    if missing:
        raise FormatError(f"the table has no column {missing[0]!r}", source.path, line)
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise FormatError(f"the column {twice!r} occurs twice", source.path, line)
    return names


def write_rows(
    file: IO[str],
    header: Sequence[str],
    cells: Iterable[Sequence[str | int]],
    separator: str = ",",
) -> None:
    r"""Write a table; a cell with a separator, a quotation mark or a line end is quoted.

    No text runs as a formula when a spreadsheet opens the table (`winosmith.outputs`).
    Comma-separated rows end in CR LF (RFC 4180), tab-separated ones in LF, as published.
    """
    end = "\r\n" if separator == "," else "\n"
    writer = csv.writer(file, delimiter=separator, lineterminator=end)
    writer.writerow(header)
    for row in cells:
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row])


_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def elements(source: Source, tag: str) -> Iterator[tuple[int, str, Element] | Entry]:
    """Yield line, text and element of each record, and an `Entry` where the XML breaks.

    A document type is passed over, not fetched; declared entities are refused. After a place
    that is not well-formed nothing more can be read, by the rules of XML.
    """
    builder = _Located(tag)
    parser = DefusedXMLParser(target=builder, forbid_dtd=False)
    builder.position = parser.parser
    # The text is decoded already: the encoding that it declares would be applied twice.
    text = _DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), source.text, count=1)
    reason, line = None, 1
    try:
        parser.feed(text)
        parser.close()
    except ParseError as error:
        line = error.position[0]
        reason = f"the XML is not well-formed, and nothing after it can be read: {error}"
    except DefusedXmlException as error:
        line = parser.parser.CurrentLineNumber
        reason = f"the XML declares entities, which are refused: {type(error).__name__}"
    for first, last, element in builder.found:
        yield first, source.slice(first, last), element
    if reason:
        yield Entry(line, source.slice(line, line), reason=reason)


class _Located(TreeBuilder):
    """Builds the tree, and notes the lines where each record starts and ends."""

    def __init__(self, record: str):
        super().__init__()
        self.record = record
        self.position: Any = None
        self.found: list[tuple[int, int, Element]] = []
        self._started = 0

    def start(self, tag: str, attrs: Mapping[str, str], /) -> Element:
        if tag == self.record:
            self._started = self.position.CurrentLineNumber
        return super().start(tag, dict(attrs))

    def end(self, tag: str, /) -> Element:
        element = super().end(tag)
        if tag == self.record:
            self.found.append((self._started, self.position.CurrentLineNumber, element))
        return element


def child_text(element: Element, path: str) -> str:
    """Return the text of one child, "" when the child is empty.

    Raises:
        ProblemError: there is no such child.
    """
    child = element.find(path)
    if child is None:
        raise ProblemError(f"the record has no <{path.split('/')[-1]}>")
    return "".join(child.itertext())


def legal(text: str) -> bool:
    r"""Tell whether XML 1.0 has a place for every character of a text.

    >>> legal("caf\u00e9"), legal("\x00")
    (True, False)
    """
    return not _ILLEGAL.search(text)


def write_tree(root: Element, file: IO[str], *prolog: str) -> None:
    """Write a tree, indented, after the XML declaration and further lines of the prolog."""
    indent(root)
    file.write("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *prolog, ""]))
    file.write(tostring(root, encoding="unicode") + "\n")
