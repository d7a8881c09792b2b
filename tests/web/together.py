"""Many at once, in threads."""

import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

__all__ = ["CROWD", "at_once"]

CROWD = 16
"""The most threads: more of them on a slow machine wait for each other too long."""


def at_once(
    act: Callable[[Any], Any], among: Collection[Any], but: type[Exception] | tuple[()] = ()
) -> list[Any]:
    """Do something for each in threads that begin together; return what each came to, in order.

    Args:
        act: what is done; its connections to the database are closed after it.
        among: for what.
        but: an error that is expected: it is returned in place of what the act would return.
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
