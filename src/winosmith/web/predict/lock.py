"""What the process of a model holds and says, in the site's folder, and how it is woken.

The lock file tells what the process is at; the kernel gives the lock back however it ends. A commit
wakes the processes by sockets. A wake-up that is lost costs a second at most: whoever waits looks
by itself every second, too.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from winosmith import locks
from winosmith.locks import FileLock

PLACE = "models"
"""In the site's folder: what the processes of models keep there."""

LONGEST = 100
"""Bytes of a path that every system takes for the address of a socket."""


def wake_up(folder: Path) -> None:
    """Wake every process of a model that waits in the site of a folder; never fail for it."""
    with contextlib.suppress(OSError), _socket() as sender:
        sender.setblocking(False)
        for path in (folder / PLACE).glob("*.socket"):
            with contextlib.suppress(OSError), _reachable(path) as address:
                sender.sendto(b"!", address)


class WakeUp:
    """Where the process of one model waits; of processes of one name the last is woken."""

    def __init__(self, folder: Path, name: str) -> None:
        place = folder / PLACE
        place.mkdir(mode=0o700, exist_ok=True)
        path = place / f"{name}.socket"
        path.unlink(missing_ok=True)
        self.socket = _socket()
        self.socket.setblocking(False)
        with contextlib.suppress(OSError), _reachable(path) as address:
            self.socket.bind(address)

    def wait(self, seconds: float) -> bool:
        """Wait to be woken, at most some seconds; return whether it was."""
        woken = bool(select.select([self.socket], [], [], seconds)[0])
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(1):
                pass
        return woken

    def close(self) -> None:
        """Wait no more."""
        self.socket.close()


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """Give the address of a path; one that is too long is reached by way of its open folder."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    number = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{path.name}"
    finally:
        os.close(number)


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


class ModelLock(FileLock):
    """The lock of a model, which this process has."""

    def say(self, doing: Doing) -> None:
        """Write down what is done."""
        self.write({**asdict(doing), "rows": doing.rows[:MOST_ROWS]})

    def said(self) -> Doing:
        """Return what was written last."""
        return _doing(self.read())


def take(folder: Path, name: str) -> ModelLock | None:
    """Take the lock of a model; None while somebody has it."""
    return ModelLock.take(_path(folder, name))


def is_held(folder: Path, name: str) -> bool:
    """Tell whether the process of a model lives."""
    return locks.look(_path(folder, name))[0]


def look(folder: Path, name: str) -> Doing:
    """Return what the process of a model does, without its lock."""
    return _doing(locks.look(_path(folder, name))[1])


def _path(folder: Path, name: str) -> Path:
    return folder / PLACE / f"{name}.lock"


def _doing(note: Any) -> Doing:
    try:
        return Doing(**note)
    except TypeError:
        return Doing()  # nothing was written yet, or by another version


def fault_file(folder: Path, name: str) -> Path:
    """Return the file that says why a model can't be loaded, for the site's admin alone."""
    return folder / "models" / f"{name}.fault"
