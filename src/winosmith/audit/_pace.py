"""How far a long step is, told once a minute."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic

from winosmith.audit._items import Tell

Step = Callable[[str], None]
"""Is told what is done next."""

_EVERY = 60
"""Seconds between two words of how far a step is."""


def paced(step: Step, what: str, total: int, of: str) -> Tell:
    """Return what tells, once a minute, how much of a step is done and how long the rest takes.

    Args:
        step: is called with it, in words.
        what: the step.
        total: how much there is to do.
        of: what that counts.
    """
    began = last = monotonic()

    def tell(done: int) -> None:
        nonlocal last
        now = monotonic()
        if 0 < done < total and now - last >= _EVERY:
            last = now
            left = ceil((now - began) / 60 * (total - done) / done)
            step(
                f"{what}: {done:,} of {total:,} {of}, about {left:,} minute{'s' * (left > 1)} left"
            )

    return tell
