"""Load from many people, with timed forms, and the server's memory and connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .acts import InvalidResponseError, Visitor, judge_once, write_twin
from .browser import Browser, UnansweredError
from .processor import ProcessorTime, measure_processor_time
from .scenario import Place, open_site, run_in_process
from .server import Server

WRITES = ("twin", "vote", "local", "claim", "topic")
"""Forms that write and are acknowledged; checks and pages only read."""


@dataclass
class Load:
    """The number of people, and their load over time; a third write, the others judge.

    Attributes:
        people: number of simultaneous people.
        writes: maximum writes per second by all people; 0 for no maximum.
        seconds: measured time, after `warm` seconds.
        problems: number of problems that wait for judges at the start.
    """

    people: int = 64
    writes: float = 60.0
    seconds: float = 60.0
    warm: float = 5.0
    workers: int = 4
    problems: int = 4000


@dataclass
class ServerSample:
    """The server's memory (MB, all processes) and its connections at one time."""

    at: float
    megabytes: float
    connections: int


@dataclass
class LoadResult:
    """The measurements: seconds by form name, server samples, and errors."""

    seconds: float = 0.0
    processor: ProcessorTime = field(default_factory=lambda: ProcessorTime(0, 0, 0, 0, 0))
    times: dict[str, list[float]] = field(default_factory=dict)
    samples: list[ServerSample] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def writes(self) -> list[float]:
        """Return the seconds of every acknowledged write."""
        return [value for name in WRITES for value in self.times.get(name, ())]


def prepare(folder: Path, database: str | None, load: Load) -> dict[str, list[Any]]:
    """Create the site's people and problems to judge; runs in a separate process."""
    open_site(folder, database)
    from . import inside

    inside.make_problems(load.problems)
    writers = load.people // 3
    return {
        "writer": inside.make_people("writer", writers),
        "judge": inside.make_people("judge", load.people - writers, is_judge=True),
    }


def measure(where: Place, load: Load, *, every: float = 5.0) -> LoadResult:
    """Put a site under load and measure it."""
    options = ("--workers", str(load.workers))
    server = Server(where.folder, where.postgres, options=options)
    people = run_in_process(prepare, where.folder, where.database, load)
    server.start()
    found, over, pace = LoadResult(), threading.Event(), RateLimit(load.writes)
    visitors, threads = [], []
    for role, act in (("writer", _write), ("judge", judge_once)):
        for person in people[role]:
            browser = Browser(server.url, timeout=60)
            browser.cookies = dict(person.cookies)
            visitor = PacedVisitor(person.key, browser, pace=pace)
            visitors.append(visitor)
            threads.append(threading.Thread(target=_live, args=(visitor, act, over, found.errors)))
    for thread in threads:
        thread.start()
    time.sleep(load.warm)
    for visitor in visitors:
        visitor.seconds = {}
    start, before = time.monotonic(), measure_processor_time(server)
    while (elapsed := time.monotonic() - start) < load.seconds:
        found.samples.append(sample_server(server, elapsed))
        time.sleep(max(0.0, min(every, load.seconds - (time.monotonic() - start))))
    found.seconds = time.monotonic() - start
    found.processor = measure_processor_time(server) - before
    times = [dict(visitor.seconds) for visitor in visitors]
    over.set()
    pace.rate = 0
    for thread in threads:
        thread.join()
    for visitor in visitors:
        visitor.browser.close()
    server.stop()
    for timed in times:
        for name, values in timed.items():
            found.times.setdefault(name, []).extend(values)
    found.errors += [error for visitor in visitors for error in visitor.errors]
    return found


class RateLimit:
    """Limits the total rate of all people."""

    def __init__(self, rate: float):
        self.rate, self.lock, self.next = rate, threading.Lock(), time.monotonic()

    def wait(self) -> None:
        """Wait for the next turn."""
        if not self.rate:
            return
        with self.lock:
            now = time.monotonic()
            self.next = max(self.next, now - 1) + 1 / self.rate
            mine = self.next
        time.sleep(max(0.0, mine - now))


class PacedVisitor(Visitor):
    """A visitor who waits for their turn before each write."""

    def __init__(self, key: int, browser: Browser, pace: RateLimit):
        super().__init__(key, browser)
        self.pace = pace

    def write(self, what: str, *arguments: Any, **typed: str) -> Any:
        """Send a form in its turn."""
        if what in WRITES:
            self.pace.wait()
        return super().write(what, *arguments, **typed)


def sample_server(server: Server, at: float) -> ServerSample:
    """Return the proportional memory, sockets and files of the server's processes."""
    megabytes, connections = 0.0, 0
    for pid in server.processes():
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            megabytes += int(rollup.partition("\nPss:")[2].split()[0]) / 1024
            connections += sum(_is_database(link) for link in Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            continue
    return ServerSample(at, megabytes, connections)


def fit_slope(samples: list[ServerSample], value: Callable[[ServerSample], float]) -> float:
    """Return the least-squares slope of a value, per hour."""
    n = len(samples)
    if n < 2:
        return 0.0
    at = sum(sample.at for sample in samples) / n
    mean = sum(map(value, samples)) / n
    spread = sum((sample.at - at) ** 2 for sample in samples)
    together = sum((sample.at - at) * (value(sample) - mean) for sample in samples)
    return 3600 * together / spread


def _is_database(link: Path) -> bool:
    try:
        target = str(link.readlink())
    except OSError:
        return False
    return target.endswith("site.sqlite3") or target.startswith("socket:")


def _write(visitor: Visitor) -> bool:
    return write_twin(visitor, checks=3)


def _live(
    visitor: Visitor, act: Callable[[Visitor], bool], over: threading.Event, errors: list[str]
) -> None:
    while not over.is_set():
        try:
            if not act(visitor):
                time.sleep(0.2)
        except (UnansweredError, InvalidResponseError) as error:
            errors.append(" ".join(str(error).split())[:300])
