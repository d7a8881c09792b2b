"""What a file format is: how to recognise it, read it and write it; what all formats share.

A reader yields one `Entry` a record, in the order of the file, and never stops at a bad one: the
entry then holds the reason in place of the record. Whether that ends the reading or is set aside
is decided in one place (`winosmith.formats.read`). A few formats have a `Writer` too: it writes
what the reader will read back, or raises; `winosmith.formats.losses` lists what the format has no
place for.

JSON, tables and XML are read record by record, each with its line. Nothing outside the file is
fetched, and where the syntax allows, a bad record does not hide the others.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice
from pathlib import Path
from types import UnionType
from typing import IO, Any, TypeAlias, TypeVar
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from winosmith.errors import FormatError, ProblemError
from winosmith.formats._packed import content
from winosmith.outputs import unguarded
from winosmith.problem import BLANK, Claim, Problem, Scalar, extra_key
from winosmith.records import DECODER, parsed
from winosmith.text import writing

Item = Problem | Claim


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a file: what it holds, or why it can't be read.

    Attributes:
        line: the 1-based line where the record starts.
        raw: the record's own text, for setting it aside.
        item: the problem or claim; None when it can't be read.
        reason: why it can't be read; None when it can.
        note: how a record was read that contradicts itself or leaves something open; None if it
            does neither.
    """

    line: int
    raw: str
    item: Item | None = None
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Writer:
    """How a format is written.

    Attributes:
        write: writes problems or claims to a text file.
        suffix: the usual extension of its files.
        keeps: the fields that come back as they were from whatever it accepts, once their white
            space is tidy.
        holds: Problem, Claim, or both: what it accepts.
    """

    write: Callable[[Sequence[Item], IO[str]], None]
    suffix: str
    keeps: frozenset[str]
    holds: type[Item] | UnionType = Problem


@dataclass(frozen=True)
class Format:
    """A published file format.

    Attributes:
        name: what `--from` and `--to` take ("winogrande").
        title: one line for the help.
        recognises: tells from its content whether a file is in this format.
        read: yields the entries of a file, in order.
        writer: how it is written; None if it is only read.
        needs: the columns of its table, or the keys of its records, by which it is told; empty
            where other signs tell it.
        silent_on_twins: tells whether a file has no place that says which problems are twins, so
            that they are looked for by their texts; None where the reader settles it by itself.
    """

    name: str
    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterable[Entry]]
    writer: Writer | None = None
    needs: frozenset[str] = frozenset()
    silent_on_twins: Callable[[Source], bool] | None = None


def entry(line: int, raw: str, build: Callable[[], Item]) -> Entry:
    """Return the entry of one record: what `build` makes of it, or the reason why it can't."""
    try:
        return Entry(line, raw, build())
    except ProblemError as error:
        return Entry(line, raw, reason=str(error))
    except KeyError as error:
        return Entry(line, raw, reason=f"the record has no {error.args[0]!r}")


T = TypeVar("T")

Told: TypeAlias = tuple[int, str, T | None, str | None]
"""A record of a file: its line and text, and what it holds, or why that can't be read."""


def built(told: Iterable[Told[T]], build: Callable[[T, int], Item]) -> Iterator[Entry]:
    """Yield the entry of each record; `build` gets what it holds and its 0-based position."""
    for position, (line, raw, held, reason) in enumerate(told):
        if held is None:
            yield Entry(line, raw, reason=reason)
        else:
            yield entry(line, raw, partial(build, held, position))


def together(
    told: Iterable[Told[T]], key: Callable[[T], object], between: str
) -> Iterator[Told[list[T]]]:
    """Yield records with one key that follow each other as one; a bad one is by itself."""
    for _, group in groupby(told, lambda found: object() if found[2] is None else key(found[2])):
        found = list(group)
        line, _, _, reason = found[0]
        held = [held for _, _, held, _ in found if held is not None]
        yield line, between.join(raw for _, raw, _, _ in found), held or None, reason


def option_number(value: object, options: int, first: int = 1) -> int | None:
    """Return the 0-based answer of an option's number, or None if it is withheld.

    A column of whole numbers with gaps may be written as 1.0 and 2.0, and a gap as NaN.

    Args:
        value: text or number.
        options: how many options there are.
        first: the number of the first option. If it is 0, -1 withholds the answer.

    Raises:
        ProblemError: it is neither empty nor one of the options' numbers.

    >>> option_number("2", 2), option_number(2.0, 2), option_number("", 2), option_number(1, 2, 0)
    (1, 1, None, 1)
    """
    if value is None or value == "" or value != value:  # NaN
        return None
    number = str(value).removesuffix(".0")
    if number in map(str, range(first, options + first)) and not isinstance(value, bool):
        return int(number) - first
    if first == 0 and number == "-1":
        return None
    raise ProblemError(
        f"the answer is {value!r}; with {options} options it must be a number from {first} to "
        f"{options + first - 1}"
    )


def scalars(record: Iterable[tuple[str, object]], format_key: str) -> dict[str, Scalar]:
    """Return what only this format knows as items of `Extra`, with keys `format_key.field`.

    Raises:
        ProblemError: a value is no scalar.
    """
    kept: dict[str, Scalar] = {}
    for key, value in record:
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ProblemError(f"{key!r} must be a text, a number or true or false, not {value!r}")
        kept[extra_key(format_key, key)] = value
    return kept


def cannot_write(item: Item, why: str) -> FormatError:
    """Return the error for an item that does not fit into a format."""
    return FormatError(f"{named(item)!r} can't be written: {why}")


def named(item: Item) -> str:
    """Return the id of a problem, or of a claim's problem."""
    return item.problem_id if isinstance(item, Claim) else item.id


def problems_of(items: Iterable[Item]) -> Iterator[Problem]:
    """Yield the items as problems.

    Raises:
        FormatError: one is a claim.
    """
    for item in items:
        if isinstance(item, Claim):
            raise cannot_write(item, "the format holds no true-or-false claims")
        yield item


def tidy(text: str) -> str:
    r"""Return the text with each run of white space as one space, and none at its ends.

    >>> tidy(" the  brown\n suitcase ")
    'the brown suitcase'
    """
    return " ".join(text.split())


def blanked(before: str, pronoun: str, after: str) -> tuple[str, str | None]:
    """Return the tidy sentence with the blank for the pronoun, and the pronoun.

    A pronoun that is itself the blank stands for an unknown one: None.

    A text without spaces between its words gets none around the blank.

    >>> blanked("The cup hit the jug and ", " it ", " broke.")
    ('The cup hit the jug and _ broke.', 'it')
    """
    if BLANK in before + after:
        raise ProblemError("the text around the pronoun holds a blank ('_')")
    if writing(before + after) == "unspaced":
        before, pronoun, after = before.rstrip(), pronoun.strip(), after.lstrip()
    sentence = tidy(before + pronoun.replace(pronoun.strip(), BLANK) + after)
    return sentence, None if tidy(pronoun) == BLANK else tidy(pronoun)


def answer_among(options: Iterable[str], answer: str) -> int:
    """Return the index of the option that equals the answer, once both are tidy.

    Raises:
        ProblemError: none does.
    """
    tidied = [tidy(option) for option in options]
    if tidy(answer) not in tidied:
        raise ProblemError(f"the answer {answer!r} is none of the options {tidied}")
    return tidied.index(tidy(answer))


_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""")

_LOOK = 20
"""How many lines are searched for a first good record, so that one bad line hides no format."""


class Source:
    """The text of one file, decoded, and the first looks at it by which formats are told apart.

    Args:
        path: the file.
        raw: what it holds; read from it when None, and unpacked where it is packed. Records that
            stand inside another file are given so, and errors name that file.

    Attributes:
        path: the file.
        text: its whole text, without a byte-order mark, line ends as they are.

    Raises:
        FormatError: the file is empty, can't be opened, or is not UTF-8 (with the line). An XML
            file that is not UTF-8 is read in the encoding that it declares.
    """

    def __init__(self, path: str | Path, raw: bytes | None = None):
        self.path = Path(path)
        raw = content(self.path) if raw is None else raw
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
                record = parsed(line)
            except ValueError:
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
            element, _ = DECODER.raw_decode(self.text, after.end() if after else 0)
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


_UNPACK = "it is packed; unpack it first, for example with: "

_NO_TEXT = {
    b"\x1f\x8b": f"{_UNPACK}gunzip --keep",
    b"BZh": f"{_UNPACK}bunzip2 --keep",
    b"\xfd7zXZ\x00": f"{_UNPACK}unxz --keep",
    b"\x28\xb5\x2f\xfd": "it is packed by Zstandard, which is not read as gzip, bzip2 and xz are; "
    "unpack it first, for example with: unzstd",
    b"PK\x03\x04": "it is an archive or a workbook; unpack it, or save its sheet as CSV in UTF-8",
    b"%PDF": "it is a PDF; rows with columns are needed",
    b"ARROW1": "it is an Arrow file; save it as Parquet or JSON Lines",
    b"\xff\xff\xff\xff": "it is an Arrow file; save it as Parquet or JSON Lines",
    b"version https://git-lfs": "it is a pointer of Git LFS in the place of the file: git lfs pull",
}
"""How files begin that hold no text of ours, and what to do."""

_NO_DATA = ("<!doctype html", "<html")


def _refuse_others(raw: bytes, path: Path) -> None:
    """Refuse a file that is no text, or no data, with what to do."""
    for start, what in _NO_TEXT.items():
        if raw.startswith(start):
            raise FormatError(what, path)
    if raw[:1000].decode("latin-1").lstrip().casefold().startswith(_NO_DATA):
        raise FormatError("it is a web page, not data; download the file itself", path)


def _decoded(raw: bytes, path: Path) -> str:
    _refuse_others(raw, path)
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if wide or raw[:4].count(0) == 2:
        raise FormatError(
            "the text is UTF-16; convert it first, for example with: iconv -f utf-16"
            f"{'' if wide else 'le' if raw[1] == 0 else 'be'} -t utf-8",
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


Record = Mapping[str, Any]

_SPACE = re.compile(r"\s*")


def json_lines(source: Source, build: Callable[[Record, int], Item]) -> Iterator[Entry]:
    """Yield the entry of each line; `build` gets the object and its 0-based position."""
    return built(line_records(source), build)


def line_records(source: Source) -> Iterator[Told[Record]]:
    """Yield line, text, object and reason for each line."""
    for number, line in source.lines():
        try:
            record = parsed(line)
        except ValueError as error:
            yield number, line, None, f"the line is not JSON: {error}"
            continue
        reason = _no_object(record, line)
        yield number, line, None if reason else record, reason


def array_records(source: Source, start: int | None = None) -> Iterator[Told[Record]]:
    """Yield line, text, object and reason for each element of a JSON array.

    The array is the file's own, or begins at `start` inside it. After an element that is not JSON
    nothing more can be told apart: the rest is one bad element.
    """
    text = source.text
    if start is None and not source.start.startswith("["):
        yield 1, source.slice(1, 1), None, "this is not a JSON array"
        return
    at = after_space(text, text.index("[", start) + 1)
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
        at = after_space(text, end)
        if text[at : at + 1] == ",":
            at = after_space(text, at + 1)
        elif text[at : at + 1] != "]":
            yield line, text[at:], None, "the array does not end; the file may be cut short"
            return


def after_space(text: str, at: int) -> int:
    """Return where the white space ends that begins there."""
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
    return built(rows(source, needed), build)


def rows(
    source: Source,
    needed: Iterable[str] = (),
    *,
    quoted: bool = True,
    header: Sequence[str] = (),
) -> Iterator[Told[Row]]:
    """Yield line, text, cells by column and reason for each row under the header.

    An apostrophe that keeps a cell from running as a formula is taken off.

    Args:
        source: the file.
        needed: the columns that it must have.
        quoted: False takes quotation marks as they are, for files that were written so.
        header: the names of the columns, where the first line is a row already.

    Raises:
        FormatError: a column occurs twice, or a needed one is missing.
    """
    separator = separator_of(source)
    reader = csv.reader(
        io.StringIO(source.text, newline=""),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header = list(header)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = reader.line_num
            lines_lost = f" (lines {first:,} to {last:,} are lost)" if last > first else ""
            reason = (
                f"this is not a row of a table: {error}; is a quotation mark left open?{lines_lost}"
            )
            yield first, source.slice(first, last), None, reason
            continue
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            full = next(n for n in range(len(cells), 0, -1) if cells[n - 1].strip())
            # A spreadsheet writes columns that were emptied; one alone may have been left unnamed.
            header = cells[:full] if len(cells) - full > 1 else cells
            header = _header_checked(header, needed, source, first)
            continue
        while len(cells) > len(header) and not cells[-1].strip():
            cells.pop()
        wrong: str | None = None
        if len(cells) != len(header):
            wrong = f"the row has {len(cells)} cells; the header has {len(header)}"
        raw = source.slice(first, reader.line_num)
        texts = map(unguarded, cells) if "'" in raw else cells
        found = dict(zip(header, texts, strict=False))
        yield first, raw, None if wrong else found, wrong


def quoted(source: Source) -> bool:
    r"""Tell whether a table's quotation marks hold cells together, or are no more than text.

    They are text where every line has as many cells as the first without them, and one begins a
    cell that it does not end.

    >>> quoted(Source("a.tsv", b'x\ty\n"Why?" I asked.\tb\n'))
    False
    >>> quoted(Source("a.tsv", b'x\ty\n"Why?"\tb\n')), quoted(Source("a.csv", b'x,y\n"a,b",c\n'))
    (True, True)
    """
    mark = separator_of(source)
    lines = [line for _, line in source.lines() if line.strip()]
    if '"' not in source.text or len({line.count(mark) for line in lines}) > 1:
        return True
    cells = (cell.strip() for line in lines for cell in line.split(mark))
    return all(_WHOLE.fullmatch(cell) for cell in cells if cell.startswith('"'))


_WHOLE = re.compile(r'"(?:[^"]|"")*"')


def _header_checked(
    header: list[str], needed: Iterable[str], source: Source, line: int
) -> list[str]:
    names = [unguarded(name).strip() for name in header]
    missing = [name for name in needed if name not in names]
    if missing:
        raise FormatError(f"the table has no column {missing[0]!r}", source.path, line)
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise FormatError(f"the column {twice!r} occurs twice", source.path, line)
    return names


_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


def elements(source: Source, tag: str) -> Iterator[Told[Element]]:
    """Yield line, text, element and reason for each record; a reason alone where the XML breaks.

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
        yield first, source.slice(first, last), element, None
    if reason:
        yield line, source.slice(line, line), None, reason


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
