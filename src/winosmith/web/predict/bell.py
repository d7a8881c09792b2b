"""Bells: sockets in the site's folder by which a commit wakes the processes of models.

A lost ring costs a second at most: whoever waits at a bell looks by itself every second, too.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PLACE", "Bell", "ring"]

PLACE = "models"
"""In the site's folder: what the processes of models keep there."""

LONGEST = 100
"""Bytes of a path that every system takes for the address of a socket."""


def ring(folder: Path) -> None:
    """Wake every process of a model that waits in the site of a folder; never fail for it."""
    with contextlib.suppress(OSError), _socket() as sender:
        sender.setblocking(False)
        for bell in (folder / PLACE).glob("*.bell"):
            with contextlib.suppress(OSError), _reachable(bell) as address:
                sender.sendto(b"!", address)


class Bell:
    """Where the process of one model waits; of processes of one name the last is rung."""

    def __init__(self, folder: Path, name: str) -> None:
        place = folder / PLACE
        place.mkdir(mode=0o700, exist_ok=True)
        path = place / f"{name}.bell"
        path.unlink(missing_ok=True)
        self.socket = _socket()
        self.socket.setblocking(False)
        with contextlib.suppress(OSError), _reachable(path) as address:
            self.socket.bind(address)

    def wait(self, seconds: float) -> bool:
        """Wait until somebody rings, at most some seconds; return whether somebody did."""
        rung = bool(select.select([self.socket], [], [], seconds)[0])
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(1):
                pass
        return rung

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
