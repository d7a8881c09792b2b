"""Figures over all problems, kept for a while where there are many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from django.core.cache import cache

__all__ = ["A_SECOND", "Counted", "kept"]

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


def kept(name: str, count: Callable[[], Figures]) -> Figures:
    """Return what `count` gives, at most a second old for every `A_SECOND` problems, and `LONGEST`.

    On a site with fewer, figures are those of this moment.

    Args:
        name: of the figures, the same for every call.
        count: takes them anew.
    """
    found: Figures | None = cache.get(name)
    if found is None:
        found = count()
        cache.set(name, found, min(LONGEST, found.problems // A_SECOND))
    return found
