"""Turns: a few threads that do what all others bring them, in the order in which it came.

Each has its own connection to the database, so there are few, which know all statements soon. And
who only looks comes before all others; where whoever comes at the right moment passes those who
have waited, some would wait for seconds under load.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar, cast

__all__ = ["Turns"]

T = TypeVar("T")


class Turns:
    """Threads of this process, begun when there is something to do.

    Args:
        places: how many there are: so much is done at the same time.
    """

    def __init__(self, places: int):
        self._places = places
        self._process = 0
        self._lock = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._hasty: deque[_Task] = deque()
        self._patient: deque[_Task] = deque()

    def do(self, act: Callable[[], T], *, hasty: bool = False) -> T:
        """Let something be done when its turn comes; return what it returns.

        Args:
            act: what is to be done; what it raises is raised here.
            hasty: before all that are not, in the order among those that are.
        """
        if self._process != os.getpid():
            self._begin()
        task = _Task(act)
        (self._hasty if hasty else self._patient).append(task)
        self._bell.put(None)
        return cast(T, task.outcome())

    def _begin(self) -> None:
        """Begin the threads, once in each process: a fork does not take them along."""
        with self._lock:
            if self._process == os.getpid():
                return
            for number in range(self._places):
                name = f"turn-{number + 1}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            self._process = os.getpid()

    def _work(self) -> None:
        while True:
            self._bell.get()
            with self._lock:
                task = (self._hasty or self._patient).popleft()
            task.run()
            del task  # what it holds is not kept until the next one comes


class _Task:
    """Something to do, and what came of it."""

    __slots__ = ("_act", "_done", "_error", "_result")

    def __init__(self, act: Callable[[], Any]):
        self._act = act
        self._done = threading.Lock()
        self._done.acquire()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._act()
        except BaseException as error:  # noqa: BLE001 - it is for whoever waits for the task
            self._error = error
        finally:
            self._done.release()

    def outcome(self) -> Any:
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._result
