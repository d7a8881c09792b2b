"""One server a folder: a lock that the kernel takes back however the server ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from winosmith.errors import InputError

LOCK = "server.lock"

PATIENCE = 10.0
"""Seconds; the workers of a killed server notice within about one, and let go."""


def claim(folder: Path, patience: float = PATIENCE) -> int:
    """Take the folder for this process and its workers, until the last of them has ended.

    Args:
        folder: the site's.
        patience: seconds to wait for a server that is about to end.

    Returns:
        The open lock file; it is never closed on purpose.

    Raises:
        InputError: another server has the folder; its process id is named.
    """
    number = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + patience
    while not _locked(number):
        holder = _holder(number)
        # A server that is there stays; one that was killed leaves workers that are about to go.
        if _lives(holder) or time.monotonic() > until:
            os.close(number)
            raise InputError(
                f"{folder} is served already, by process {holder or 'unknown'}; use that server, "
                f"or stop it first{f' (kill {holder})' if holder else ''}"
            )
        time.sleep(0.1)
    os.ftruncate(number, 0)
    os.pwrite(number, f"{os.getpid()}\n".encode(), 0)
    return number


def running(folder: Path) -> int | None:
    """Return the process id of the folder's server; 0 when it can't be told, None without one."""
    try:
        number = os.open(folder / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        return None if _locked(number) else _holder(number)
    finally:
        os.close(number)


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(number: int) -> int:
    text = os.pread(number, 20, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdecimal() else 0


def _lives(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
