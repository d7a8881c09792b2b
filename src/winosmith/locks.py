"""Lock files: one process has a lock, and the kernel releases it when that process ends.

The file contains a note of the process that has the lock, or had it last.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Self

NOTE_BYTES = 4096
"""Length of a note, which is written at once, so that it is never read in part."""

_TRIES, _LOOK = 20, 0.005
"""Number of attempts to take a lock, and the seconds between them: `look` shares a lock for some
microseconds."""


class FileLock:
    """A lock of this process, and of processes that inherit its open file.

    Attributes:
        number: file descriptor.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Take the lock of a file that only its owner can read; None if another process has it."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(_TRIES):
            if try_lock(number):
                return cls(number)
            time.sleep(_LOOK)  # another process may only look at it
        os.close(number)
        return None

    def write(self, note: Any) -> None:
        """Write the note, a JSON value of up to `NOTE_BYTES`."""
        os.pwrite(self.number, json.dumps(note).encode().ljust(NOTE_BYTES), 0)

    def close(self) -> None:
        """Release the lock, unless another process has inherited it."""
        os.close(self.number)


def try_lock(number: int) -> bool:
    """Lock an open file for this process; return False if another process has the lock.

    On Windows, which has no such locks, every process gets the lock.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(number: int) -> None:
    """Lock an open file after the processes that wait for it already."""
    import fcntl

    fcntl.flock(number, fcntl.LOCK_EX)


def look(path: Path) -> tuple[bool, Any]:
    """Return whether a process has the lock of a file, and the note in it; None for none."""
    import fcntl

    try:
        number = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False, None
    try:
        note = _note(number)
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True, note
        return False, note
    finally:
        os.close(number)


def _note(number: int) -> Any:
    try:
        return json.loads(os.pread(number, NOTE_BYTES, 0))
    except ValueError:
        return None
