"""Lock files: one process has a lock, and the kernel takes it back however that process ends.

In the file stands a note by the process that has the lock, or had it last: what they do.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Self

NOTE_BYTES = 4096
"""Of a note; written as one, so that nobody reads half of it."""

_TRIES, _LOOK = 20, 0.005
"""How often a lock is tried before somebody has it, and the seconds between: whoever looks whether
it is taken shares it for some microseconds."""


class FileLock:
    """A lock that this process has, and each that inherits its open file.

    Attributes:
        number: of the open file.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Take the lock of a file, for its owner's eyes alone; None while somebody has it."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(_TRIES):
            if try_lock(number):
                return cls(number)
            time.sleep(_LOOK)  # somebody may only look, which takes no longer
        os.close(number)
        return None

    def write(self, note: Any) -> None:
        """Write the note again: what JSON can hold, in up to `NOTE_BYTES`."""
        os.pwrite(self.number, json.dumps(note).encode().ljust(NOTE_BYTES), 0)

    def close(self) -> None:
        """Give the lock back, unless another process has inherited it."""
        os.close(self.number)


def try_lock(number: int) -> bool:
    """Lock an open file for this process alone; tell whether it is, or nobody could tell.

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
    """Lock an open file; the one that has waited longest comes first."""
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
