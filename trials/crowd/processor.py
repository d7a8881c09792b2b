"""Processor time of the server, its database, the crowd, and all other processes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from .server import Server

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessorTime:
    """Processor seconds up to a time, or between two times.

    Attributes:
        server: all processes of `winosmith serve`.
        database: all processes of PostgreSQL; 0 for SQLite, which runs within the server.
        crowd: this process.
        all: all processes on this machine.
        wall: seconds on the clock.
    """

    server: float
    database: float
    crowd: float
    all: float
    wall: float

    def __sub__(self, before: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(
            self.server - before.server,
            self.database - before.database,
            self.crowd - before.crowd,
            self.all - before.all,
            self.wall - before.wall,
        )


def measure_processor_time(server: Server) -> ProcessorTime:
    """Return the processor time so far; ended children are included in their parents' time."""
    assert server.process is not None
    used = {"server": 0.0, "database": 0.0}
    database = server.postgres.process.pid if server.postgres and server.postgres.process else -1
    for about in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = about.read_text()
        except OSError:
            continue
        pid, rest = int(text.partition(" ")[0]), text.rpartition(") ")[2].split()
        parent, session = int(rest[1]), int(rest[3])
        seconds = sum(map(int, rest[11:15])) / TICKS
        if session == server.process.pid:
            used["server"] += seconds
        elif database in (pid, parent):
            used["database"] += seconds
    times = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    idle = int(times[3]) + int(times[4])
    everybody = (sum(map(int, times[:8])) - idle) / TICKS
    crowd = time.process_time()
    return ProcessorTime(used["server"], used["database"], crowd, everybody, time.monotonic())
