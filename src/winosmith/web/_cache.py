"""Figures over all problems, kept for a while where there are many of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

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
