"""Work that nobody waits for: what a request starts when it is due, and what time brings about.

A half that has waited long enough for the other one becomes public, and one worker a day deletes
what the site no longer keeps.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
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
