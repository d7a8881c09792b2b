"""Locks that only one process has: the kernel gives them back however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def locked(path: Path) -> int | None:
    """Open a lock file and lock it; return its number, or None while somebody has the lock."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number
