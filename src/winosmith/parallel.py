"""Spread work over any `concurrent.futures.Executor`, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

__all__ = ["ordered_map"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    executor: Executor | None = None,
    *,
    ahead: int = 8,
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in the order of the items.

    Without an executor the work is done here, one item at a time. With one, at most `ahead`
    items are in flight, so that a long iterable is never held in memory at once; the results
    and their order do not depend on the executor. When the caller stops early or an item
    fails, what has not started is cancelled.

    >>> list(ordered_map(abs, [-2, -1, 3]))
    [2, 1, 3]
    """
    if executor is None:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(executor.submit(function, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
