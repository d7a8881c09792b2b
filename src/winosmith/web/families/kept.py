"""What takes long to count is counted now and then, outside of requests; the rest at each look."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import connection

Value = TypeVar("Value")

QUICK = 0.03
"""Seconds: what takes no longer is made for each look."""

SHARE = 20
"""What takes longer is good for so many times as long as it took: 5 % of one core at most."""


class Kept(Generic[Value]):
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
                self._thread = threading.Thread(target=self._aside, name="families", daemon=True)
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
            logging.getLogger(__name__).exception("a list of families could not be made")
        finally:
            connection.close()
