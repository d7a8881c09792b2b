"""Text files and their encodings.

A text may be in UTF-8, in UTF-16 or UTF-32 with a byte-order mark, or in the encoding that an XML
file declares. A file in Windows-1252 is recognised and refused; the error shows the command that
converts it. With `--encoding cp1252` (in Python, `encoding="cp1252"`), it is read as it is. You can
name any other encoding in the same way, also for files of answers. If you name an encoding, files
with non-ASCII characters in valid UTF-8 are still read as UTF-8, so files in both encodings can be
mixed. Only line feeds end a line, so a sentence may contain U+2028 and similar characters.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from winosmith.data._bytes import COMPRESSED, ZIP, read_content
from winosmith.errors import FormatError

T = TypeVar("T")


class Place(NamedTuple):
    """The location of a record: a file with a line or row number, and offsets in its text.

    Attributes:
        path: the file's path, or "<DataFrame>" for a table in memory.
        number: the 1-based number of the record's first line in a text, or of its row in a table.
        unit: the unit of `number`.
        start: the 0-based offset of the record in the decoded text; None in a table.
        end: the offset of the record's end (exclusive).

    >>> str(Place("quiz.jsonl", 12)), str(Place("<DataFrame>", 3, "row"))
    ('quiz.jsonl:12', '<DataFrame>, row 3')
    """

    path: str
    number: int
    unit: Literal["line", "row"] = "line"
    start: int | None = None
    end: int | None = None

    @property
    def position(self) -> str:
        return f"{self.unit} {self.number}"

    def make_error(self, reason: str) -> FormatError:
        return FormatError(reason, self.path, self.number, self.unit)

    def __str__(self) -> str:
        between = ":" if self.unit == "line" else ", row "
        return f"{self.path}{between}{self.number}"


class Row(NamedTuple, Generic[T]):
    """A record of a file or table.

    Attributes:
        raw: the record's text, which is written to the file of bad records.
        values: the values by name, an XML element, or the lines of a block; None if unreadable.
        reason: why the record can't be read; None if it can be read.
    """

    place: Place
    raw: str
    values: T | None
    reason: str | None = None


_XML_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""")

_BOM_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Map byte-order marks to encodings; UTF-32 comes first because its mark begins with UTF-16's."""

_BLOCK = re.compile(r"(?:^[^\S\n]*\S.*\n?)+", re.MULTILINE)
"""Pattern of consecutive lines that are not empty."""

_ZERO_PATTERNS = {"0111": "utf-32le", "1110": "utf-32be", "0101": "utf-16le", "1010": "utf-16be"}
"""Map a file's first four bytes (1 for a zero byte) to an encoding without a byte-order mark."""

_ESCAPES = {b"\x1b$B": "iso-2022-jp", b"\x1b$@": "iso-2022-jp", b"\x1b$)C": "iso-2022-kr"}
"""Map escape sequences to encodings that need only ASCII bytes (RFC 1468 and RFC 1557)."""

CONTROLS = re.compile(r"[\x80-\x9f]")
"""Latin-1's control characters, whose bytes are quotes and dashes in cp1252."""

_SAMPLE_SIZE, _MIN_BYTES_PER_FOREIGN = 1 << 20, 4
"""Number of bytes to examine, and minimum number of bytes per non-ASCII byte in a cp1252 text."""


class Source:
    """The decoded text of one file.

    Args:
        path: the file.
        raw: the file's bytes; None to read (and unpack) the file. For records inside another file,
            pass the records' bytes and that file's path, which error messages will show.
        encoding: encoding of text that is not UTF-8; None to detect the encoding.

    Attributes:
        path: the file.
        text: the file's text with original newlines but without a byte-order mark.

    Raises:
        FormatError: the file is empty, or can't be opened or decoded.
    """

    def __init__(self, path: str | Path, raw: bytes | None = None, encoding: str | None = None):
        self.path = Path(path)
        self.text = _decode(read_content(path) if raw is None else raw, self.path, encoding)
        if not self.text.strip():
            raise FormatError("the file is empty", self.path)

    def iterate_lines(self) -> Iterator[tuple[int, int, str]]:
        """Yield the 1-based number, the offset and the text of each line that is not blank.

        Only line feeds end a line. Unicode's other line separators may occur inside a sentence.
        """
        text, at, number = self.text, 0, 1
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end].rstrip("\r")
            if line and not line.isspace():
                yield number, at, line
            at, number = end + 1, number + 1

    def iterate_blocks(self) -> Iterator[Row[list[str]]]:
        r"""Yield the lines of each block. Blank lines separate blocks.

        >>> [row.values for row in Source("a.txt", b"a\nb\n\n\nc").iterate_blocks()]
        [['a', 'b'], ['c']]
        """
        for block in _BLOCK.finditer(self.text):
            raw = block[0].rstrip()
            place = self.locate(block.start(), block.start() + len(raw))
            yield Row(place, raw, [line.rstrip("\r") for line in raw.split("\n")])

    def locate(self, start: int, end: int) -> Place:
        """Return the location of the text between two offsets."""
        return Place(str(self.path), bisect_right(self.starts, start), "line", start, end)

    @cached_property
    def starts(self) -> list[int]:
        """The 0-based offset of each line in the text."""
        return [0, *(newline.end() for newline in re.finditer("\n", self.text))]

    @cached_property
    def start(self) -> str:
        """The first 4,000 characters, without leading white space."""
        return self.text.lstrip()[:4000]


_NOT_TEXT = {
    **dict.fromkeys(COMPRESSED, "the file is compressed; unpack it first"),
    ZIP: "the file is a workbook or an archive; save a workbook as CSV UTF-8, or unpack the file",
    **dict.fromkeys(
        (b"ARROW1", b"FEA1", b"PAR1", b"\xff\xff\xff\xff"),
        "the file is an Arrow or Parquet table, not text; save it as CSV UTF-8",
    ),
    **dict.fromkeys(
        (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
        "the file is an image; data in rows and columns is required",
    ),
    b"%PDF": "the file is a PDF; data in rows and columns is required",
    b"version https://git-lfs": "the file is only a Git LFS pointer; run: git lfs pull",
}
"""Map the first bytes of files without readable text to error messages."""

_HTML_STARTS = ("<!doctype html", "<html")


def _decode(raw: bytes, path: Path, encoding: str | None) -> str:
    for start, reason in _NOT_TEXT.items():
        if raw.startswith(start):
            raise FormatError(reason, path)
    if raw[:1000].decode("latin-1").lstrip().casefold().startswith(_HTML_STARTS):
        raise FormatError("the file is a web page, not data; download the data file itself", path)
    for mark, codec in _BOM_ENCODINGS.items():
        if raw.startswith(mark):
            return _decode_as(raw, codec, path, "its byte-order mark indicates it")
    if encoding is not None:
        with suppress(UnicodeDecodeError):
            if not raw.isascii() and b"\0" not in raw:
                return raw.decode("utf-8-sig")
        return _decode_as(raw, encoding, path, "that encoding was specified")
    zeros = "".join("01"[byte == 0] for byte in raw[:4])
    if unmarked := _ZERO_PATTERNS.get(zeros):
        raise _make_codec_error(f"in {unmarked.upper()}", unmarked, path)
    for escape, codec in _ESCAPES.items():
        if escape in raw and raw.isascii():
            raise _make_codec_error(f"in {codec.upper()}", codec, path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        declared = _XML_ENCODING.match(raw)
        if declared and declared[1].lower() not in (b"utf-8", b"utf8"):
            return _decode_as(raw, declared[1].decode("ascii"), path, "the file declares it")
        at = error.start
        line = raw.count(b"\n", 0, at) + 1
    if _is_western(raw):
        windows = CONTROLS.search(raw.decode("latin-1"))
        name = "Windows-1252 (cp1252)" if windows else "Latin-1 or Windows-1252 (cp1252)"
        before, after = raw[max(0, at - _BYTES_SHOWN) : at], raw[at : at + _BYTES_SHOWN]
        parts = _NEWLINES.split(before)[-1], _NEWLINES.split(after)[0]
        seen = b"".join(parts).decode("cp1252").strip()
        fault = f"probably in {name}, which reads {seen!r} here"
        fault += " (or in another encoding, such as cp1250)"
        raise _make_codec_error(fault, "cp1252", path, line)
    raise FormatError.advise(
        "the text is not UTF-8, and its encoding is unknown",
        "encoding",
        "; name it with `encoding=`, such as 'cp1251', 'gb18030' or 'shift_jis', or save the "
        "file in UTF-8",
        path,
        line,
    )


_NEWLINES = re.compile(rb"[\r\n]+")

_BYTES_SHOWN = 20
"""Number of bytes to show before and after the first byte that is not UTF-8."""


def _make_codec_error(fault: str, codec: str, path: Path, line: int | None = None) -> FormatError:
    return FormatError.advise(
        f"the file is not UTF-8, but {fault}",
        "encoding",
        f"; name its encoding with `encoding={codec!r}`, or convert it, for example with: "
        f"iconv -f {codec} -t utf-8",
        path,
        line,
    )


def _is_western(raw: bytes) -> bool:
    r"""Return whether the bytes may be text in Windows-1252 that is mostly ASCII.

    >>> _is_western(b"\x93Why?\x94 it asks"), _is_western("Почему?".encode("cp1251"))
    (True, False)
    """
    try:
        raw.decode("cp1252")
    except UnicodeDecodeError:
        return False
    sample = raw[:_SAMPLE_SIZE]
    return _MIN_BYTES_PER_FOREIGN * sum(byte >= 0x80 for byte in sample) <= len(sample)


def _decode_as(raw: bytes, encoding: str, path: Path, reason: str) -> str:
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise FormatError(
            f"unknown encoding {encoding!r}; use a name such as 'cp1252'", path
        ) from None
    except ValueError as error:
        raise FormatError(f"the text is not valid {encoding}, although {reason}", path) from error
