"""Files that are packed as one stream, told by how they begin: gzip, bzip2, xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO

from winosmith.errors import FormatError

_OPENERS = {b"\x1f\x8b": gzip.GzipFile, b"BZh": bz2.BZ2File, b"\xfd7zXZ\x00": lzma.LZMAFile}

_ENDINGS = (".gz", ".bz2", ".xz")

_FREE, _TIMES, _AT_ONCE = 1 << 26, 300, 1 << 20
"""Bytes that any file may unpack to, and how many times its own size a larger one may: records
pack to a fiftieth, and what packs to a thousandth is made to fill the memory."""


def content(path: str | Path) -> bytes:
    """Return what a file holds, unpacked where it is packed.

    Raises:
        FormatError: it can't be opened or unpacked, or unpacks to far more than records do.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(6)
        packed = next((opened for sign, opened in _OPENERS.items() if start.startswith(sign)), None)
        if packed is None:
            return path.read_bytes()
        with packed(path) as unpacked:
            return _bounded(unpacked, path)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(f"it is packed, and can't be unpacked: {error}", path) from error
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error


def _bounded(file: IO[bytes], path: Path) -> bytes:
    most = max(_FREE, _TIMES * path.stat().st_size)
    found = bytearray()
    while chunk := file.read(_AT_ONCE):
        found += chunk
        if len(found) > most:
            raise FormatError(
                f"it unpacks to more than {_TIMES} times its size; if that is meant, unpack it "
                "first",
                path,
            )
    return bytes(found)


def stem(path: str | Path) -> str:
    """Return the name of a file without its ending, and without that of how it is packed.

    >>> stem("data/train.jsonl.gz"), stem("train.jsonl")
    ('train', 'train')
    """
    path = Path(path)
    return Path(path.stem).stem if path.suffix.lower() in _ENDINGS else path.stem
