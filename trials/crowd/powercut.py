"""Simulated power cuts: unsynced writes are undone after a kill -9.

A small C library (`powercut.c`), preloaded into the server's processes, logs the data that each
write replaces, until the file is synced. A disk that loses power keeps any part of the unsynced
data, so a cut keeps a random part of them, or nothing.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

SOURCE = Path(__file__).with_name("powercut.c")
LENGTH, HEADER = Struct("<Q"), Struct("<4Q")
SECTOR = 512
"""Bytes that a disk writes atomically; a torn write ends at a multiple of it."""


@dataclass(frozen=True)
class UnsyncedWrite:
    """An unsynced write: its offset, the replaced data, its length, and the previous size."""

    at: int
    old: bytes
    length: int
    size: int


@dataclass(frozen=True)
class Losses:
    """The losses in a power cut: damaged files, unsynced writes, and lost writes."""

    files: int
    unsynced: int
    writes: int


class PowerCut:
    """Watches all files below a folder."""

    def __init__(self, folder: Path, log: Path):
        self.folder, self.log = folder.resolve(), log
        self.library = log / "powercut.so"
        command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(self.library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)

    def environment(self) -> dict[str, str]:
        """Return the environment in which a process's writes are watched."""
        return {
            "LD_PRELOAD": str(self.library),
            "POWERCUT_FOLDER": str(self.folder),
            "POWERCUT_LOG": str(self.log / "files"),
        }

    def cut(self, rng: random.Random, *, keep: float) -> Losses:
        """Undo unsynced writes; all processes that write here must have ended.

        Args:
            rng: draws which writes reach the disk.
            keep: fraction of the writes that reach the disk.
        """
        files = unsynced = lost = 0
        for path in sorted(self.folder.rglob("*")):
            log = self.log / "files" / str(path.stat().st_ino)
            if not path.is_file() or not log.exists() or not (writes := _read_log(log)):
                continue
            dropped = _restore(path, writes, rng, keep)
            files, unsynced, lost = files + bool(dropped), unsynced + len(writes), lost + dropped
        for log in (self.log / "files").iterdir():
            log.unlink()
        return Losses(files, unsynced, lost)


@contextmanager
def watch_folder(folder: Path) -> Iterator[PowerCut]:
    """Compile the library and watch a folder; the logs are in memory if possible."""
    memory = Path("/dev/shm")  # noqa: S108
    log = Path(tempfile.mkdtemp(prefix="powercut-", dir=memory if memory.is_dir() else None))
    try:
        log.chmod(0o755)  # PostgreSQL runs as another user
        (log / "files").mkdir()
        (log / "files").chmod(0o777)
        yield PowerCut(folder, log)
    finally:
        shutil.rmtree(log, ignore_errors=True)


def can_simulate() -> bool:
    """Whether a power cut can be simulated here: Linux, with a C compiler."""
    return Path("/proc/self/fd").exists() and shutil.which("gcc") is not None


def _read_log(log: Path) -> list[UnsyncedWrite]:
    data = log.read_bytes()
    end = LENGTH.unpack_from(data)[0] if len(data) >= LENGTH.size else 0
    writes, place = [], LENGTH.size
    while place < end:
        at, old, length, size = HEADER.unpack_from(data, place)
        place += HEADER.size
        writes.append(UnsyncedWrite(at, data[place : place + old], length, size))
        place += old
    return writes


def _restore(path: Path, writes: list[UnsyncedWrite], rng: random.Random, keep: float) -> int:
    """Restore the disk's data, then repeat the writes that reached it; count the others."""
    with path.open("r+b") as file:
        new: list[bytes] = []
        for write in reversed(writes):
            file.seek(write.at)
            new.append(file.read(write.length))
            file.seek(write.at)
            file.write(write.old)
            file.truncate(write.size)
        lost = 0
        for write, data in zip(writes, reversed(new), strict=True):
            if rng.random() >= keep:
                lost += 1
            elif not write.length:
                file.truncate(write.at)
            else:
                file.seek(write.at)
                file.write(_tear(data, rng))
        return lost


def _tear(data: bytes, rng: random.Random) -> bytes:
    """Return a write as left by a disk that loses power: one in four is incomplete."""
    if rng.random() < 0.75:
        return data
    return data[: rng.randrange(0, len(data) + 1, SECTOR)]
