"""Holds: a lock file a model, taken for the life of its process, which says in it what it does.

The kernel gives the lock back however the process ends. What stands in the file then tells who
starts the next one what the last one was at.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from winosmith.web._locked import locked
from winosmith.web.predict.bell import PLACE

__all__ = ["Doing", "Hold", "is_held", "look", "take"]

SIZE = 4096
"""Bytes; written as one, so that nobody reads half of it."""

MOST_ROWS = 300
"""Predictions that a file has room for."""


@dataclass(frozen=True)
class Doing:
    """What the process of a model does.

    Attributes:
        process: its id; 0 before there was one.
        failures: how often it ended in a row without having predicted anything.
        since: when it was started, on the machine's monotonic clock.
        until: when it is late with what it does; None while it waits.
        rows: the predictions that it works on.
    """

    process: int = 0
    failures: int = 0
    since: float = 0.0
    until: float | None = None
    rows: list[int] = field(default_factory=list)


class Hold:
    """A lock that this process has, by its open file; closing it gives the lock back."""

    def __init__(self, number: int) -> None:
        self.number = number

    def say(self, doing: Doing) -> None:
        """Write down what is done."""
        text = json.dumps({**asdict(doing), "rows": doing.rows[:MOST_ROWS]})
        os.pwrite(self.number, text.encode().ljust(SIZE), 0)

    def said(self) -> Doing:
        """Return what was written last."""
        return _read(self.number)

    def close(self) -> None:
        """Give the lock back, unless a process was started that inherited it."""
        os.close(self.number)


def take(folder: Path, name: str) -> Hold | None:
    """Take the lock of a model; None while somebody has it."""
    number = locked(_path(folder, name))
    return None if number is None else Hold(number)


def is_held(folder: Path, name: str) -> bool:
    """Tell whether the process of a model lives."""
    try:
        number = os.open(_path(folder, name), os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(number)
    return False


def look(folder: Path, name: str) -> Doing:
    """Return what the process of a model does, without its lock."""
    try:
        number = os.open(_path(folder, name), os.O_RDONLY)
    except FileNotFoundError:
        return Doing()
    try:
        return _read(number)
    finally:
        os.close(number)


def _path(folder: Path, name: str) -> Path:
    return folder / PLACE / f"{name}.lock"


def _read(number: int) -> Doing:
    try:
        return Doing(**json.loads(os.pread(number, SIZE, 0)))
    except (ValueError, TypeError):
        return Doing()  # nothing was written yet
