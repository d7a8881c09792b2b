"""Lock files. The kernel releases a lock when the process that holds it ends.

A lock file contains a note from the current or last holder of the lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, Self

NOTE_BYTES = 4096
"""Length of a note in bytes. A note is written in one call, so it is never read partially."""

_TRIES, _RETRY_SECONDS = 20, 0.005
"""Number of attempts to lock a file, and seconds between them. An attempt may fail because
`read_lock` holds a shared lock for microseconds."""


class FileLock:
    """A lock held by this process, and by any process that inherits the open file."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def acquire(cls, path: Path) -> Self | None:
        """Lock a file (created with mode 600), or return None if another process holds the lock."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(_TRIES):
            if try_lock(fd):
                return cls(fd)
            time.sleep(_RETRY_SECONDS)  # another process may be in `read_lock`
        os.close(fd)
        return None

    def write_note(self, note: Any) -> None:
        """Write a note into the file: a JSON value of at most `NOTE_BYTES`."""
        os.pwrite(self.fd, json.dumps(note).encode().ljust(NOTE_BYTES), 0)

    def close(self) -> None:
        """Release the lock, unless another process has inherited it."""
        os.close(self.fd)


def try_lock(fd: int) -> bool:
    """Lock an open file descriptor for this process, or return False if it is already locked.

    On Windows, which has no such locks, it always returns True.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(fd: int) -> None:
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_EX)


def read_lock(path: Path) -> tuple[bool, Any]:
    """Return whether a file is locked by a process, and the note in the file, if any."""
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False, None
    note = None
    try:
        with contextlib.suppress(ValueError):
            note = json.loads(os.pread(fd, NOTE_BYTES, 0))
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True, note
        return False, note
    finally:
        os.close(fd)
