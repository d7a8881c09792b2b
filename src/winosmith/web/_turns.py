"""Turns: a few at once, in the order in which people came, those who only look before all others.

A semaphore lets whoever comes at the right moment pass those who have waited; under load some
would wait for seconds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]


class Turns:
    """Places for a few threads of this process.

    Args:
        places: how many threads have their turn at the same time.
    """

    def __init__(self, places: int):
        self._free = places
        self._lock = threading.Lock()
        self._hasty: deque[threading.Lock] = deque()
        self._patient: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self, *, hasty: bool = False) -> Iterator[None]:
        """Wait for one's turn; the block is it.

        Args:
            hasty: before all that are not, in the order among those that are.
        """
        self._take(self._hasty if hasty else self._patient)
        try:
            yield
        finally:
            self._pass_on()

    def _take(self, line: deque[threading.Lock]) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            gate = threading.Lock()
            gate.acquire()
            line.append(gate)
        gate.acquire()  # opened by who passes the place on

    def _pass_on(self) -> None:
        with self._lock:
            line = self._hasty or self._patient
            if line:
                line.popleft().release()
            else:
                self._free += 1
