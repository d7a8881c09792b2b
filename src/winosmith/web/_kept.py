"""Figures over all problems, cached if there are many problems or counting is slow."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from django.core.cache import cache

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
        name: name of the numbers, the same for every call.
        count: takes them again.
    """
    return cached_each(name, [0], lambda _: {0: count()})[0]


def cached_each(
    name: str, keys: Sequence[int], count: Callable[[list[int]], dict[int, Figures]]
) -> dict[int, Figures]:
    """Return the numbers of each of several, kept as by `cached` for their own number of problems.

    Args:
        name: name of the numbers, the same for every call.
        keys: of those whose figures are wanted.
        count: takes those of some of them again, all at once.
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


FAULTY = 10
"""Seconds until a value is made again that could not be made."""


class Refreshed(Generic[Value]):
    """A value that is made again when it is old; meanwhile, other threads read the old one.

    Args:
        make: makes it, from the database.
    """

    def __init__(self, make: Callable[[], Value]):
        self._make = make
        self._turn = threading.Lock()
        self._made: list[Value] = []
        self._due = 0.0

    def latest(self) -> Value:
        """Return the value; the first one is waited for, however long it takes.

        If a later one can't be made, the fault is logged, and the old one stays for `FAULTY`.
        """
        held = self._made
        if self._turn.acquire(blocking=not held):
            try:
                held = self._made
                if not held or time.monotonic() >= self._due:
                    start = time.monotonic()
                    held = [self._make()]
                    took = time.monotonic() - start
                    self._due = 0.0 if took <= QUICK else time.monotonic() + SHARE * took
                    self._made = held
            except Exception:
                if not held:
                    raise
                logging.getLogger(__name__).exception("statistics could not be computed again")
                self._due = time.monotonic() + FAULTY
            finally:
                self._turn.release()
        return held[0]

    def forget(self) -> None:
        """Let the next look make it again."""
        with self._turn:
            self._made = []
