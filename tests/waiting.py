"""Waiting for a state, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LONGEST = 300.0
"""Seconds in which the slowest machine, with much else to do, has done what a test waits for."""


def until(look: Callable[[], Found], seconds: float = LONGEST) -> Found:
    """Return what a look finds as soon as that is true of something.

    Raises:
        AssertionError: it never was; what the last look found is told.
    """
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {found!r}"
        time.sleep(0.02)
    return found
