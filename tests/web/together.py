"""Simultaneous calls in threads."""

import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

__all__ = ["CROWD", "at_once"]

CROWD = 16
"""Maximum number of threads; on a slow machine, more would wait too long for each other."""


def at_once(
    act: Callable[[Any], Any], among: Collection[Any], but: type[Exception] | tuple[()] = ()
) -> list[Any]:
    """Call a function for each element in threads that start together; return all results.

    The results are in the order of the elements.

    Args:
        act: The function; its database connections are closed after each call.
        among: The elements.
        but: Type of an expected error, which is returned in place of a result.
    """
    crowd = min(CROWD, len(among))

    def alone(one: Any) -> Any:
        try:
            return act(one)
        except but as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(crowd, initializer=threading.Barrier(crowd).wait) as threads:
        return list(threads.map(alone, among))
