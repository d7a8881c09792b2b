"""Statistics over all problems, cached on large sites or if they are slow to compute."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from django.core.cache import cache

PROBLEMS_PER_SECOND = 1000
"""Statistics are cached for one second per this many problems. Counting 1,000 problems takes 1 to
20 ms, so statistics take at most 2 % of a process's time."""

MAX_AGE = 600
"""Maximum age of statistics in seconds."""


Value = TypeVar("Value")


def get_cached_stats(name: str, compute: Callable[[], tuple[int, Value]]) -> Value:
    """Return cached statistics, or compute them.

    `compute` returns the number of problems and the statistics. Statistics are cached for one
    second per `PROBLEMS_PER_SECOND` problems, up to `MAX_AGE`. On a site with fewer than
    `PROBLEMS_PER_SECOND` problems, they are always current.
    """
    return get_cached_stats_by_key(name, [0], lambda _: {0: compute()})[0]


def get_cached_stats_by_key(
    name: str, keys: Sequence[int], compute: Callable[[list[int]], dict[int, tuple[int, Value]]]
) -> dict[int, Value]:
    names = {f"{name}.{key}": key for key in keys}
    found = {names[known]: value for known, value in cache.get_many(names).items()}
    if missing := [key for key in keys if key not in found]:
        for key, (problems, value) in compute(missing).items():
            found[key] = value
            if seconds := min(MAX_AGE, problems // PROBLEMS_PER_SECOND):
                cache.set(f"{name}.{key}", value, seconds)
    return found


QUICK_SECONDS = 0.03
"""Values that take at most this many seconds to compute are not cached."""

CACHE_FACTOR = 20
"""Factor by which the caching time exceeds the computing time, so that recomputing a value takes
at most 5 % of a core."""

RETRY_SECONDS = 10
"""Seconds before a failed computation is retried."""


class RefreshedValue(Generic[Value]):
    """A cached value that one thread recomputes while other threads read the old value."""

    def __init__(self, make: Callable[[], Value]):
        self._make = make
        self._lock = threading.Lock()
        self._made: list[Value] = []
        self._due = 0.0

    def get(self) -> Value:
        """Return the cached value; the first call waits until the value is computed.

        If a later computation fails, the error is logged, and the old value stays for
        `RETRY_SECONDS`.
        """
        held = self._made
        if self._lock.acquire(blocking=not held):
            try:
                held = self._made
                if not held or time.monotonic() >= self._due:
                    start = time.monotonic()
                    held = [self._make()]
                    took = time.monotonic() - start
                    wait = 0.0 if took <= QUICK_SECONDS else CACHE_FACTOR * took
                    self._due = time.monotonic() + wait
                    self._made = held
            except Exception:
                if not held:
                    raise
                logging.getLogger(__name__).exception("statistics could not be recomputed")
                self._due = time.monotonic() + RETRY_SECONDS
            finally:
                self._lock.release()
        return held[0]

    def clear(self) -> None:
        with self._lock:
            self._made = []
