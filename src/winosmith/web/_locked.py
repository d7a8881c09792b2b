"""Locks that only one process has, by files in which it says what it does.

The kernel gives a lock back however its process ends; what was said stays in the file.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SIZE = 4096
"""Bytes of what is said; written as one, so that nobody reads half of it."""


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


def say(number: int, told: Mapping[str, Any]) -> None:
    """Write down in a lock file, by its number, what is done: up to SIZE bytes of JSON."""
    os.pwrite(number, json.dumps(told).encode().ljust(SIZE), 0)


def said(number: int) -> dict[str, Any]:
    """Return what was written into a lock file last; {} before anything was."""
    try:
        return dict(json.loads(os.pread(number, SIZE, 0)))
    except (ValueError, TypeError):
        return {}


def look(path: Path) -> tuple[bool, dict[str, Any]]:
    """Return whether a process has a lock, and what was said in its file, without taking it."""
    try:
        number = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False, {}
    try:
        told = said(number)
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True, told
        return False, told
    finally:
        os.close(number)
