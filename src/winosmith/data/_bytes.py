"""Compressed files, archives and folders.

gzip, bzip2, xz, zip and Zstandard (`pip install 'winosmith[zstd]'`) are recognised by content and
unpacked, up to 64 MiB or 300 times the packed size. The files in a list of paths (in Python), a
folder, a glob or a zip archive form one data set and must have the same format. In a folder or
archive, only files with a data format's extension are read; README.txt and the like are skipped.
`-` stands for standard input.
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
from functools import lru_cache, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, NamedTuple

from winosmith.errors import FormatError, InputError, require

_ALWAYS_ALLOWED_SIZE, _RATIO, _READ_SIZE = 1 << 26, 300, 1 << 20
"""Maximum unpacked size, in bytes and as a multiple of the packed size (the larger limit applies),
and the number of bytes per read. Records shrink about 50-fold, decompression bombs 1,000-fold."""

_PACKED_CHUNK_SIZE = 1 << 12
"""Number of compressed bytes to unpack in one step; they unpack to at most 128 MiB."""

_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ZSTANDARD, ZIP = b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
COMPRESSED = (*_OPENERS, _ZSTANDARD, ZIP)

_ZIP_ZSTANDARD = 93
"""Zip's code for the Zstandard compression method (APPNOTE 6.3.8, section 4.4.5)."""

_UNPACKING_ERRORS = (
    *(EOFError, OSError, ValueError, NotImplementedError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")

DATA_EXTENSIONS = frozenset(
    ".json .jsonl .ndjson .csv .tsv .txt .xlsx .xml .yaml .yml "
    ".parquet .arrow .feather .zip".split()
)

_DOCUMENTATION = frozenset(("readme", "license", "licence", "notice", "changelog", "citation"))
"""Names of documentation files, which are skipped in folders and archives."""

STANDARD_INPUT = "-"

HUB, LM_EVAL = "hf:", "lm-eval:"
"""Address prefixes for Hugging Face Hub data sets and lm-evaluation-harness tasks."""


def is_address(path: str | Path) -> bool:
    """Return whether a path is the address of a Hub data set or lm-evaluation-harness task.

    >>> is_address("hf:org/name[test]"), is_address("lm-eval:arc_easy"), is_address("quiz.csv")
    (True, True, False)
    """
    return str(path).startswith((HUB, LM_EVAL)) and not Path(path).exists()


class File(NamedTuple):
    """A file, possibly inside a zip archive.

    Attributes:
        path: the path, such as "quiz.zip/part.jsonl" inside an archive.
        raw: the unpacked bytes.
    """

    path: str
    raw: bytes


def unpack(path: str | Path) -> list[File]:
    """Unpack a file or standard input ("-"), and sort the files in a zip archive by name."""
    try:
        is_input = str(path) == STANDARD_INPUT
        raw = _read_standard_input(sys.stdin.buffer) if is_input else Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    return _unpack_file(File(str(path), raw), get_size_limit(len(raw)))


@lru_cache(maxsize=1)
def _read_standard_input(stream: IO[bytes]) -> bytes:
    """Cache the bytes of standard input, which can be read only once."""
    return stream.read()


def get_size_limit(packed_size: int) -> int:
    return max(_ALWAYS_ALLOWED_SIZE, _RATIO * packed_size)


def read_content(path: str | Path) -> bytes:
    """Read a file, and unpack it if it is compressed; refuse an archive with several files."""
    files = unpack(path)
    if len(files) > 1:
        raise FormatError(
            f"the archive has {len(files)} files ({files[0].path}, …); it must have only one", path
        )
    return files[0].raw


def stem(path: str | Path) -> str:
    """Return a file's name without the extensions of its format and compression.

    >>> stem("data/train.jsonl.gz"), stem("train.jsonl"), stem("hf:org/v1.0[test]")
    ('train', 'train', 'v1.0[test]')
    """
    if is_address(path):
        name = PurePath(str(path).partition(":")[2])
        return name.stem if name.suffix in (".yaml", ".yml") else name.name
    path = Path(path)
    return Path(path.stem).stem if path.suffix.lower() in _SUFFIXES else path.stem


def find_files(path: str | Path) -> list[str]:
    """Return the files at a path, sorted: the file itself, or the files of a folder or glob.

    In a folder, only visible data files are returned. An address is returned unchanged.

    Raises:
        FormatError: no files were found.
    """
    root = Path(path)
    if root.is_dir():
        paths = [one for one in root.rglob("*") if not _is_hidden(one.relative_to(root).parts)]
    elif glob.has_magic(str(path)) and not root.exists() and not is_address(path):
        paths = [Path(one) for one in glob.glob(str(path), recursive=True)]  # noqa: PTH207 - absolute
    else:
        return [str(path)]
    if not (paths := [one for one in paths if one.is_file()]):
        raise FormatError("there are no files", path)
    if root.is_dir() and not (paths := [one for one in paths if is_data_file(str(one))]):
        supported = ", ".join(sorted(DATA_EXTENSIONS))
        raise FormatError(
            f"the folder has no data files; supported extensions are {supported}", path
        )
    return [str(one) for one in sorted(paths)]


def is_data_file(path: str) -> bool:
    """Return whether a file in a folder or archive is a data file according to its name.

    >>> is_data_file("a/part.jsonl.gz"), is_data_file("a/README.txt"), is_data_file("a/plot.png")
    (True, False, False)
    """
    name = PurePath(path.lower())
    is_documentation = name.suffix == ".txt" and name.stem in _DOCUMENTATION
    return not DATA_EXTENSIONS.isdisjoint(name.suffixes[-2:]) and not is_documentation


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _unpack_file(file: File, limit: int) -> list[File]:
    try:
        if file.raw.startswith(ZIP):
            return _unpack_archive(file, limit)
        if file.raw.startswith(_ZSTANDARD):
            return [File(file.path, _join_chunks(_unpack_zstandard(file), limit, file.path))]
        for magic, open_packed in _OPENERS.items():
            if file.raw.startswith(magic):
                with open_packed(io.BytesIO(file.raw)) as stream:
                    chunks = iter(partial(stream.read, _READ_SIZE), b"")
                    return [File(file.path, _join_chunks(chunks, limit, file.path))]
    except InputError:
        raise
    except (
        *_UNPACKING_ERRORS,
        getattr(sys.modules.get("zstandard"), "ZstdError", EOFError),
    ) as error:
        raise FormatError(f"the file can't be unpacked: {error}", file.path) from error
    return [file]


def _unpack_archive(file: File, limit: int) -> list[File]:
    found = []
    with zipfile.ZipFile(io.BytesIO(file.raw)) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" in names:
            if sum(member.file_size for member in archive.infolist()) > limit:
                raise make_size_error(file.path)
            return [file]
        if not {"[Content_Types].xml", "META-INF/manifest.xml"}.isdisjoint(names):
            raise FormatError("the file is a document; save its table as XLSX or CSV", file.path)
        members = sorted(archive.infolist(), key=lambda one: one.filename)
        files = [one for one in members if not one.is_dir()]
        visible = [one for one in files if not _is_hidden(PurePosixPath(one.filename).parts)]
        for member in [one for one in visible if is_data_file(one.filename)] or visible:
            path = f"{file.path}/{member.filename}"
            if member.flag_bits & 1:
                raise FormatError("the file is encrypted; unpack it first", path)
            if member.compress_type == _ZIP_ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
                require("zipfile_zstd", "inspect")  # built into Python 3.14
            with archive.open(member) as stream:
                chunks = iter(partial(stream.read, _PACKED_CHUNK_SIZE), b"")
                raw = _join_chunks(chunks, limit, file.path)
            inside = _unpack_file(File(path, raw), limit)
            limit -= sum(len(one.raw) for one in inside)
            found += inside
    if not found:
        raise FormatError("the archive has no files", file.path)
    return [File(file.path, found[0].raw)] if len(found) == 1 else found


def _unpack_zstandard(file: File) -> Iterable[bytes]:
    zstandard = require("zstandard", "zstd")
    unpacker, packed = zstandard.ZstdDecompressor().decompressobj(), io.BytesIO(file.raw)
    while chunk := packed.read(_PACKED_CHUNK_SIZE):
        while chunk:
            yield unpacker.decompress(chunk)
            chunk = unpacker.unused_data if unpacker.eof else b""
            if chunk:  # another frame
                unpacker = zstandard.ZstdDecompressor().decompressobj()
    if not unpacker.eof:
        raise FormatError("the file can't be unpacked: it is truncated", file.path)


def _join_chunks(chunks: Iterable[bytes], limit: int, path: str) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > limit:
            raise make_size_error(path)
    return bytes(content)


def make_size_error(path: str) -> FormatError:
    return FormatError(
        f"the file unpacks to more than {_RATIO} times its size; if you trust it, unpack it first",
        path,
    )
