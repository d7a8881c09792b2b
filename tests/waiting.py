"""Wait for a state instead of a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LONGEST = 300.0
"""Seconds after which even the slowest, busiest machine has reached the state."""


def until(look: Callable[[], Found], seconds: float = LONGEST) -> Found:
    """Call a function until its result is true, and return the result.

    Raises:
        AssertionError: the time has passed; the message has the last result.
    """
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {found!r}"
        time.sleep(0.02)
    return found
