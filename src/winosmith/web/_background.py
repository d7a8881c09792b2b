"""What no request waits for: work that is due, what time brings about, figures kept for a while.

A half that has waited long enough for the other one becomes public, and one worker a day deletes
what the site no longer keeps. Figures over all problems are kept where there are many of them, or
counting is slow.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db import connection

from winosmith.locks import FileLock


class Background:
    """Work in a thread of this process; of all processes of the site, one at a time does it.

    Args:
        name: of the work; its lock in the site's folder is the file `NAME.lock`.
        every: seconds between two times that this process starts it.
        work: does it; what fails is logged, and tried again when it is due.
    """

    def __init__(self, name: str, every: float, work: Callable[[], object]) -> None:
        self.name, self.every, self.work = name, every, work
        self.due = 0.0
        self.thread: threading.Thread | None = None
        self.turn = threading.Lock()

    def start_when_due(self) -> None:
        """Start a thread unless one is at work, or was a moment ago.

        Within a transaction none is started: it would not see what that has written.
        """
        if connection.in_atomic_block:
            return
        with self.turn:
            working = self.thread is not None and self.thread.is_alive()
            if working or time.monotonic() < self.due:
                return
            self.due = time.monotonic() + self.every
            self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self.thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the thread, for so long at most."""
        if self.thread is not None:
            self.thread.join(seconds)

    def _run(self) -> None:
        """Do the work unless another process is at it; the thread's connection is closed then."""
        try:
            lock = FileLock.take(settings.SITE.folder / f"{self.name}.lock")
            if lock is not None:
                try:
                    self.work()
                finally:
                    lock.close()
        except Exception:
            logging.getLogger(__name__).exception("in the background, %s failed", self.name)
        finally:
            connection.close()


hourly: list[Callable[[], object]] = []
"""What time brings about by itself, looked for by every worker; the areas add theirs."""

daily: list[Callable[[], object]] = []
"""The same once a day, by one worker."""

DAY = 24 * 3600.0
HOUR = 3600.0

MARK = "tidied"
"""In the site's folder: its time says when it was done last, its lock who is at it."""


def look_every_hour(folder: Path) -> None:
    """Do what is due every hour, in a thread of this worker that ends with it."""
    threading.Thread(target=_watch, args=(folder,), name="tidy", daemon=True).start()


def _watch(folder: Path) -> None:
    time.sleep(random.uniform(30, 90))  # noqa: S311 - not all workers at once
    while True:
        try:
            for task in hourly:
                task()
            tidy_when_due(folder)
        except Exception:
            logging.getLogger("winosmith.web").exception("what is due could not be done")
        finally:
            connection.close()
        time.sleep(HOUR)


def tidy_when_due(folder: Path) -> bool:
    """Delete what is too old unless somebody did within a day; return whether it was done now."""
    lock = FileLock.take(folder / MARK)
    if lock is None:
        return False
    try:
        about = os.fstat(lock.number)
        if about.st_size and time.time() - about.st_mtime < DAY:
            return False
        for task in daily:
            task()
        lock.write("done")
        os.utime(lock.number)
        return True
    finally:
        lock.close()


A_SECOND = 1000
"""Problems for each of which figures are kept a second longer: counting so many takes 1 to 20 ms,
so that at most a fiftieth of a worker's time goes into it."""

LONGEST = 600
"""Seconds that no figures are older than."""


class Counted(Protocol):
    """Figures that tell over how many problems they were taken."""

    @property
    def problems(self) -> int:
        """How many."""
        ...


Figures = TypeVar("Figures", bound=Counted)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Kept(Generic[Value]):
    """Something without a number of its own, and over how many problems it was found."""

    problems: int
    value: Value


def cached(name: str, count: Callable[[], Figures]) -> Figures:
    """Return what `count` gives, at most a second old for every `A_SECOND` problems, and `LONGEST`.

    On a site with fewer, figures are those of this moment.

    Args:
        name: of the figures, the same for every call.
        count: takes them anew.
    """
    return cached_each(name, [0], lambda _: {0: count()})[0]


def cached_each(
    name: str, keys: Sequence[int], count: Callable[[list[int]], dict[int, Figures]]
) -> dict[int, Figures]:
    """Return the figures of each of several, kept as by `cached` for their own number of problems.

    Args:
        name: of the figures, the same for every call.
        keys: of those whose figures are wanted.
        count: takes those of some of them anew, all at once.
    """
    names = {f"{name}.{key}": key for key in keys}
    found: dict[int, Figures] = {
        names[known]: figures for known, figures in cache.get_many(names).items()
    }
    if missing := [key for key in keys if key not in found]:
        for key, figures in count(missing).items():
            found[key] = figures
            if seconds := min(LONGEST, figures.problems // A_SECOND):
                cache.set(f"{name}.{key}", figures, seconds)
    return found


QUICK = 0.03
"""Seconds: what takes no longer is made for each look."""

SHARE = 20
"""What takes longer is good for so many times as long as it took: 5 % of one core at most."""


class Refreshed(Generic[Value]):
    """A value that is made anew when it is old: at once if that is quick, else in a thread.

    Args:
        make: makes it, from the database.
    """

    def __init__(self, make: Callable[[], Value]):
        self._make = make
        self._turn = threading.Lock()
        self._made: list[Value] = []
        self._due = 0.0
        self._thread: threading.Thread | None = None

    def latest(self) -> Value:
        """Return the value; the first one is waited for, however long it takes."""
        with self._turn:
            if not self._made or self._due == 0:
                return self._work()
            if time.monotonic() >= self._due and not (self._thread and self._thread.is_alive()):
                self._thread = threading.Thread(target=self._aside, name="figures", daemon=True)
                self._thread.start()
            return self._made[0]

    def forget(self) -> None:
        """Let the next look make it anew."""
        with self._turn:
            self._made, self._due = [], 0.0

    def _work(self) -> Value:
        start = time.monotonic()
        made = self._make()
        took = time.monotonic() - start
        self._made[:] = [made]
        self._due = 0.0 if took <= QUICK else time.monotonic() + SHARE * took
        return made

    def _aside(self) -> None:
        """Make it in a thread; what fails is logged, and the old one stays."""
        try:
            self._work()
        except Exception:
            logging.getLogger(__name__).exception("figures could not be made anew")
        finally:
            connection.close()
