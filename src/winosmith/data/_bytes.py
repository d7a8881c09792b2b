"""Compressed files, archives and folders.

gzip, bzip2, xz, zip and Zstandard (`pip install 'winosmith[zstd]'`) are unpacked, whatever the
name: up to 64 MiB, or 300 times the size. A list of paths (in Python), a folder, a glob, or the
files of a zip archive are one data set, of one format. In a folder or an archive, only the files
with extensions of data are read, without README.txt and the like. `-` is standard input.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, NamedTuple

from winosmith.errors import FormatError, InputError, require

_FREE, _TIMES, _AT_ONCE = 1 << 26, 300, 1 << 20
"""The bytes that any file may unpack to, and the multiple of its size that a larger one may.
Records shrink to a fiftieth; a file that shrinks to a thousandth is made to fill the memory."""

_PIECE = 1 << 12
"""Compressed bytes that are unpacked at once; they give 128 MiB at most."""

_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ZSTANDARD, ZIP = b"\x28\xb5\x2f\xfd", b"PK\x03\x04"

_ZSTANDARD_OF_ZIP = 93
"""The number of Zstandard among zip's compression methods (APPNOTE 6.3.8, section 4.4.5)."""

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")

DATA = frozenset(
    ".json .jsonl .ndjson .csv .tsv .txt .xlsx .xml .yaml .yml "
    ".parquet .arrow .feather .zip".split()
)
"""The extensions of data files in folders and archives."""

_ABOUT = frozenset(("readme", "license", "licence", "notice", "changelog", "citation"))
"""The names of texts about the data, which are skipped in folders and archives."""

STANDARD_INPUT = "-"

HUB, LM_EVAL = "hf:", "lm-eval:"
"""The starts of addresses: of a data set of the Hub, and of a task of lm-evaluation-harness."""


def is_address(path: str | Path) -> bool:
    """Return whether a path is an address, which a library reads.

    >>> is_address("hf:org/name[test]"), is_address("lm-eval:arc_easy"), is_address("quiz.csv")
    (True, True, False)
    """
    return str(path).startswith((HUB, LM_EVAL)) and not Path(path).exists()


class File(NamedTuple):
    """A file, or one inside a zip archive.

    Attributes:
        path: its path; "quiz.zip/part.jsonl" inside an archive.
        raw: its unpacked bytes.
    """

    path: str
    raw: bytes


def files(path: str | Path) -> list[File]:
    """Return a file or a zip archive's files in order of name, unpacked; "-" is standard input.

    Raises:
        FormatError: the file can't be opened or unpacked, or unpacks to far more than records do.
    """
    try:
        is_input = str(path) == STANDARD_INPUT
        raw = _read_all(sys.stdin.buffer) if is_input else Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    return _unpack(File(str(path), raw), most_bytes(len(raw)))


@lru_cache(maxsize=1)
def _read_all(stream: IO[bytes]) -> bytes:
    """Return the bytes of standard input, which can be read only once."""
    return stream.read()


def most_bytes(packed: int) -> int:
    """Return the maximum number of unpacked bytes for a file of this size."""
    return max(_FREE, _TIMES * packed)


def read_content(path: str | Path) -> bytes:
    """Return the bytes of one file, unpacked if it is compressed.

    Raises:
        FormatError: see `files`; or the file is an archive of several files.
    """
    found = files(path)
    if len(found) > 1:
        raise FormatError(
            f"the archive has {len(found)} files ({found[0].path}, …), and one is needed", path
        )
    return found[0].raw


def stem(path: str | Path) -> str:
    """Return the name of a file without the extensions of its format and compression.

    >>> stem("data/train.jsonl.gz"), stem("train.jsonl"), stem("hf:org/v1.0[test]")
    ('train', 'train', 'v1.0[test]')
    """
    if is_address(path):
        named = PurePath(str(path).partition(":")[2])
        return named.stem if named.suffix in (".yaml", ".yml") else named.name
    path = Path(path)
    return Path(path.stem).stem if path.suffix.lower() in _SUFFIXES else path.stem


def expand_path(path: str | Path) -> list[str]:
    """Return the files of a path, in order of name: a file, or those of a folder or glob.

    Hidden files, and files in hidden folders, are omitted.

    Raises:
        FormatError: there are no files.
    """
    given = Path(path)
    if given.is_dir():
        found = [one for one in given.rglob("*") if one.is_file()]
        shown = [one for one in found if not _is_hidden(one.relative_to(given).parts)]
    elif glob.has_magic(str(path)) and not given.exists():
        found = [Path(one) for one in glob.glob(str(path), recursive=True)]  # noqa: PTH207 - absolute
        shown = [one for one in found if one.is_file()]
    else:
        return [str(path)]
    if not shown:
        raise FormatError("there are no files", path)
    return [str(one) for one in sorted(shown)]


def data_files(path: str | Path) -> list[str]:
    """Return the files of a path; of a folder, only those with the extensions of data.

    An address is returned as it is.

    Raises:
        FormatError: there are no such files.
    """
    if is_address(path):
        return [str(path)]
    given = expand_path(path)
    if not Path(path).is_dir():
        return given
    found = [one for one in given if has_data(one)]
    if not found:
        raise FormatError(
            f"the folder has no data: no file ends in {', '.join(sorted(DATA))}", path
        )
    return found


def has_data(path: str) -> bool:
    """Return whether the name of a file in a folder or archive is that of a data file.

    >>> has_data("a/part.jsonl.gz"), has_data("a/README.txt"), has_data("a/plot.png")
    (True, False, False)
    """
    name = PurePath(path.lower())
    is_about = name.suffix == ".txt" and name.stem in _ABOUT
    return not DATA.isdisjoint(name.suffixes[-2:]) and not is_about


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _unpack(file: File, most: int) -> list[File]:
    """Unpack a file to one or several files with at most `most` bytes in total."""
    try:
        if file.raw.startswith(ZIP):
            return _unpack_archive(file, most)
        if file.raw.startswith(_ZSTANDARD):
            return [File(file.path, _join_pieces(_unpack_zstandard(file), most, file.path))]
        for sign, opened in _OPENERS.items():
            if file.raw.startswith(sign):
                with opened(io.BytesIO(file.raw)) as stream:
                    return [File(file.path, _join_pieces(_pieces(stream), most, file.path))]
    except InputError:
        raise
    except _unpacking_errors() as error:
        raise FormatError(f"it is packed, and can't be unpacked: {error}", file.path) from error
    return [file]


def _unpacking_errors() -> tuple[type[Exception], ...]:
    """Return the libraries' exceptions for a damaged file or an unknown compression."""
    zstandard = sys.modules.get("zstandard")
    return (
        *(EOFError, OSError, ValueError, NotImplementedError),
        *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
        *([zstandard.ZstdError] if zstandard else []),
    )


def _unpack_archive(file: File, most: int) -> list[File]:
    found = []
    with zipfile.ZipFile(io.BytesIO(file.raw)) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" in names:
            if sum(member.file_size for member in archive.infolist()) > most:
                raise size_error(file.path)
            return [file]
        if not {"[Content_Types].xml", "META-INF/manifest.xml"}.isdisjoint(names):
            raise FormatError("it is a document; save its table as XLSX or as CSV", file.path)
        members = sorted(archive.infolist(), key=lambda one: one.filename)
        shown = [
            one
            for one in members
            if not one.is_dir() and not _is_hidden(PurePosixPath(one.filename).parts)
        ]
        for member in [one for one in shown if has_data(one.filename)] or shown:
            path = f"{file.path}/{member.filename}"
            if member.flag_bits & 1:
                raise FormatError("it is encrypted; unpack it first", path)
            if member.compress_type == _ZSTANDARD_OF_ZIP and not hasattr(zipfile, "ZIP_ZSTANDARD"):
                require("zipfile_zstd", "inspect")  # which Python has from 3.14 on
            with archive.open(member) as stream:
                raw = _join_pieces(_pieces(stream, _PIECE), most, file.path)
            inside = _unpack(File(path, raw), most)
            most -= sum(len(one.raw) for one in inside)
            found += inside
    if not found:
        raise FormatError("the archive has no files", file.path)
    return [File(file.path, found[0].raw)] if len(found) == 1 else found


def _pieces(stream: IO[bytes], size: int = _AT_ONCE) -> Iterable[bytes]:
    while piece := stream.read(size):
        yield piece


def _unpack_zstandard(file: File) -> Iterable[bytes]:
    zstandard = require("zstandard", "zstd")
    unpacker, rest = zstandard.ZstdDecompressor().decompressobj(), io.BytesIO(file.raw)
    while piece := rest.read(_PIECE):
        while piece:
            yield unpacker.decompress(piece)
            piece = unpacker.unused_data if unpacker.eof else b""
            if piece:  # another frame
                unpacker = zstandard.ZstdDecompressor().decompressobj()
    if not unpacker.eof:
        raise FormatError("it is packed, and can't be unpacked: it is cut short", file.path)


def _join_pieces(pieces: Iterable[bytes], most: int, path: str) -> bytes:
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) > most:
            raise size_error(path)
    return bytes(found)


def size_error(path: str) -> FormatError:
    """Return the error for a file that unpacks to far more bytes than records would."""
    return FormatError(
        f"it unpacks to more than {_TIMES} times its size; if that is meant, unpack it first", path
    )
