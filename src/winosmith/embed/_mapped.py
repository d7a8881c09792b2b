"""Arrays that stay in their file: mapped as they lie, and gathered without holding them.

A .npy file, and an array that a .npz file holds uncompressed (as `numpy.savez` writes it), can be
mapped; a compressed one must be read.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import OutputError

__all__ = ["gathered", "is_large", "mapped_member", "parts"]

LARGE = 1 << 26
"""Bytes from which on mapped rows stay in their file."""

PART = 2048
"""Rows that are read at a time."""

LOCAL_HEADER = 30
"""Bytes of a zip file's header before a member, without the name and the extra field, whose
lengths are its last four (APPNOTE.TXT 6.3.10, section 4.3.7)."""


def is_large(X: npt.NDArray[Any]) -> bool:
    """Tell whether rows lie in a file that had better not be read into memory."""
    return isinstance(X, np.memmap) and X.nbytes > LARGE


def parts(count: int) -> Iterator[slice]:
    """Yield the slices of so many rows, some thousands at a time."""
    for first in range(0, count, PART):
        yield slice(first, min(first + PART, count))


def mapped_member(path: Path, name: str) -> npt.NDArray[Any] | None:
    """Map an array of a .npz file, read once for its checksum; None when it is compressed.

    Raises:
        ValueError: it holds pickled objects.
        zipfile.BadZipFile: it is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type != zipfile.ZIP_STORED:
            return None
        with archive.open(member) as content:
            version = np.lib.format.read_magic(content)
            if version not in HEADERS:
                return None
            shape, by_columns, kind = HEADERS[version](content)
            inside = content.tell()
            while content.read(1 << 20):
                pass
    if kind.hasobject:
        raise ValueError("pickled objects are never loaded")
    with path.open("rb") as file:
        file.seek(member.header_offset)
        lengths = np.frombuffer(file.read(LOCAL_HEADER)[-4:], "<u2")
    start = member.header_offset + LOCAL_HEADER + int(lengths.sum()) + inside
    return np.memmap(path, kind, "r", start, shape, "F" if by_columns else "C")


HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""How the header of each version of the .npy format is read."""


def gathered(X: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
    """Return rows of a large array as float32, mapped from a file that has no name any more.

    The file is in the system's folder for temporary files, and goes with the last use of it.

    Raises:
        OutputError: there is no room for it.
    """
    shape = len(rows), X.shape[1]
    need, folder = 4 * shape[0] * shape[1], tempfile.gettempdir()
    logging.getLogger(__name__).info(
        "the vectors take %s MiB in %s, in the order of the problems", need >> 20, folder
    )
    try:
        if need > shutil.disk_usage(folder).free:
            raise OutputError(f"{folder}: the vectors need {need >> 20:,} MiB; set TMPDIR")
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(need)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, need)
            taken = np.memmap(file, np.float32, "r+", shape=shape)
    except OSError as error:
        raise OutputError(
            f"{folder}: {error.strerror or error}; set TMPDIR to a folder with {need >> 20:,} MiB "
            "free"
        ) from error
    for part in parts(len(rows)):
        taken[part] = X[rows[part]]
    return taken
