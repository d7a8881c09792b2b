"""The lock of rounds: a file that the one process of a round holds, and says in it what it does.

The kernel gives the lock back however the process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

from winosmith.web._locked import locked
from winosmith.web._site import ROUNDS

SIZE = 4096
"""Bytes; written as one, so that nobody reads half of it."""

LOCK, WANTED = "lock", "wanted"


@dataclass(frozen=True)
class Doing:
    """What the process of a round does.

    Attributes:
        process: its id; 0 before there was one.
        round: the number of the round.
        step: the title of the step; of all steps it is the `number`-th, from 1 on, of `of`.
        done, total: how much of the step is done; None where that is not known.
        note: more about it, such as the phase.
        since: when the step began, seconds since 1970.
    """

    process: int = 0
    round: int = 0
    step: str = ""
    number: int = 0
    of: int = 0
    done: int = 0
    total: int | None = None
    note: str = ""
    since: float = 0.0


class Hold:
    """The lock, by its open file; closing it gives the lock back."""

    def __init__(self, number: int) -> None:
        self.number = number

    def say(self, doing: Doing) -> None:
        """Write down what is done."""
        text = json.dumps({**asdict(doing), "step": doing.step[:200], "note": doing.note[:200]})
        os.pwrite(self.number, text.encode().ljust(SIZE), 0)

    def close(self) -> None:
        """Give the lock back, unless a process was started that inherited it."""
        os.close(self.number)


def take(folder: Path) -> Hold | None:
    """Take the lock of a site; None while a round has it."""
    number = locked(folder / ROUNDS / LOCK)
    if number is None:
        return None
    hold = Hold(number)
    hold.say(Doing())  # what a process that was killed left there is true no more
    return hold


def look(folder: Path) -> Doing | None:
    """Return what the process of a round does; None while there is none."""
    try:
        number = os.open(folder / ROUNDS / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(number)
    finally:
        os.close(number)
    return None


def end(folder: Path, round_: int) -> bool:
    """End the process of a round, if one lives; tell whether one did."""
    doing = look(folder)
    if doing is None or doing.round != round_ or not doing.process:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(doing.process, signal.SIGKILL)
    return True


def wake(folder: Path) -> None:
    """Let the server look for a round that waits."""
    place = folder / ROUNDS
    place.mkdir(mode=0o700, exist_ok=True)
    (place / WANTED).touch(mode=0o600)


def wanted(folder: Path) -> Path | None:
    """Return the mark that somebody left by `wake`; None without one."""
    mark = folder / ROUNDS / WANTED
    return mark if mark.exists() else None


def _read(number: int) -> Doing:
    try:
        return Doing(**json.loads(os.pread(number, SIZE, 0)))
    except (ValueError, TypeError):
        return Doing()  # nothing was written yet
