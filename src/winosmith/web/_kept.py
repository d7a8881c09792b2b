"""Statistics over all problems, cached on large sites or if they are slow to compute."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from django.core.cache import cache

PROBLEMS_PER_SECOND = 1000
"""Number of problems per second of caching. Counting so many takes 1 to 20 ms, so that statistics
take at most a fiftieth of a process's time."""

MAX_AGE = 600
"""Maximum age of statistics in seconds."""


class Counted(Protocol):
    """Statistics with the number of their problems."""

    @property
    def problems(self) -> int:
        """Return the number of problems."""
        ...


Figures = TypeVar("Figures", bound=Counted)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[Value]):
    """A value with the number of problems from which it was computed."""

    problems: int
    value: Value


def cached(name: str, count: Callable[[], Figures]) -> Figures:
    """Return cached statistics, computed again after some seconds.

    They are cached for one second per `PROBLEMS_PER_SECOND` problems, up to `MAX_AGE`. On a site
    with fewer problems they are always current.

    Args:
        name: The name of the statistics, the same for every call.
        count: A function that computes them.
    """
    return cached_each(name, [0], lambda _: {0: count()})[0]


def cached_each(
    name: str, keys: Sequence[int], count: Callable[[list[int]], dict[int, Figures]]
) -> dict[int, Figures]:
    """Return cached statistics by key, each cached according to its own number of problems.

    Args:
        name: The name of the statistics, the same for every call.
        keys: The keys.
        count: A function that computes the statistics of several keys at once.
    """
    names = {f"{name}.{key}": key for key in keys}
    found: dict[int, Figures] = {
        names[known]: figures for known, figures in cache.get_many(names).items()
    }
    if missing := [key for key in keys if key not in found]:
        for key, figures in count(missing).items():
            found[key] = figures
            if seconds := min(MAX_AGE, figures.problems // PROBLEMS_PER_SECOND):
                cache.set(f"{name}.{key}", figures, seconds)
    return found


QUICK_SECONDS = 0.03
"""Seconds: a value that is computed within this time is never cached."""

CACHE_FACTOR = 20
"""Other values are cached for this many times their computing time: 5 % of one core at most."""

RETRY_SECONDS = 10
"""Seconds until a failed computation is repeated."""


class RefreshedValue(Generic[Value]):
    """A value that is computed again when it is old; meanwhile, other threads read the old one.

    Args:
        make: A function that computes it from the database.
    """

    def __init__(self, make: Callable[[], Value]):
        self._make = make
        self._turn = threading.Lock()
        self._made: list[Value] = []
        self._due = 0.0

    def latest(self) -> Value:
        """Return the value; the first call waits until it is computed.

        If a later computation fails, the error is logged, and the old value is used for
        `RETRY_SECONDS` more.
        """
        held = self._made
        if self._turn.acquire(blocking=not held):
            try:
                held = self._made
                if not held or time.monotonic() >= self._due:
                    start = time.monotonic()
                    held = [self._make()]
                    took = time.monotonic() - start
                    self._due = (
                        0.0 if took <= QUICK_SECONDS else time.monotonic() + CACHE_FACTOR * took
                    )
                    self._made = held
            except Exception:
                if not held:
                    raise
                logging.getLogger(__name__).exception("statistics could not be computed again")
                self._due = time.monotonic() + RETRY_SECONDS
            finally:
                self._turn.release()
        return held[0]

    def forget(self) -> None:
        """Discard the value, so that the next call computes it."""
        with self._turn:
            self._made = []
