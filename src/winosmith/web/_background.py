"""Work that a request starts when it is due, and that nobody waits for."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection

from winosmith.web._locked import locked


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
            number = locked(settings.SITE.folder / f"{self.name}.lock")
            if number is not None:
                try:
                    self.work()
                finally:
                    os.close(number)
        except Exception:
            logging.getLogger(__name__).exception("in the background, %s failed", self.name)
        finally:
            connection.close()
