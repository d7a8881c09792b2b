"""Progress of a long step, reported once a minute."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic

from winosmith.audit._items import Tell

Step = Callable[[str], None]
"""A function that is called with the next step, in words."""

_EVERY = 60
"""Seconds between two reports of a step's progress."""


def report_progress(step: Step, what: str, total: int, of: str) -> Tell:
    """Return a function that reports, once a minute, the progress of a step and the time left.

    Args:
        step: is called with the report, in words.
        what: the step.
        total: number of units in the step.
        of: the unit, in the plural.
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
