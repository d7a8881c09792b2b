"""Files that appear when they are complete."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from winosmith.errors import OutputError

__all__ = ["sha256", "told", "write_aside"]

ROOM = 1 << 20
"""Bytes; with less left, a write that broke off broke off for want of room."""


@contextlib.contextmanager
def write_aside(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a file that takes its name only when the block ends without an error.

    Folders that are missing are made. Text is UTF-8 with `\n` line ends. The file is synced to the
    disk before it is renamed. What is no file (/dev/null, a pipe) is written to as it is, and never
    replaced.

    Raises:
        OutputError: the folder can't be made or written to, or the disk is full.
    """
    path = Path(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open(mode, **text) as file:  # type: ignore[call-overload]
            yield file
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise told(error, path) from error
    try:
        with os.fdopen(handle, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(0o666 & ~_umask())
        Path(aside).replace(path)
    except OSError as error:
        Path(aside).unlink(missing_ok=True)
        if error.filename not in (None, aside):  # another file that was read or written meanwhile
            raise
        raise told(error, path) from error
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def told(error: OSError, path: Path) -> OutputError:
    """Return the error of a file that can't be written, with what to do about it."""
    hints = {
        errno.ENOSPC: "the disk is full; free some space and run the same command again",
        errno.EACCES: "it may not be written to; choose another place or change its rights",
        errno.EROFS: "the disk is read-only; choose another place",
        errno.EEXIST: "a file has the name of its folder; choose another place",
        errno.ENOTDIR: "a file has the name of one of its folders; choose another place",
    }
    number = error.errno
    if number is None and shutil.disk_usage(path.parent).free < ROOM:
        number = errno.ENOSPC  # numpy reports a short write without its number
    hint = hints.get(number or 0, error.strerror or str(error))
    return OutputError(f"{path}: {hint}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
