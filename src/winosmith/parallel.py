"""Distribute work to any `concurrent.futures.Executor`, with results in order, and progress."""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, Protocol, TypeVar, runtime_checkable

from winosmith.errors import InputError

__all__ = [
    "Advance",
    "Holder",
    "Step",
    "one_thread",
    "ordered_map",
    "silent",
    "without_collection",
    "workers_of",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Holder(Protocol):
    """An executor that sends a value to its workers once, not with every task.

    Its workers may be on other machines, without a shared disk; see `winosmith.cluster`.
    """

    def hold(self, value: Any) -> AbstractContextManager[Any]:
        """Keep a value at the workers while a block runs.

        Yields a token for the arguments of `submit`, alone or in a tuple; workers receive the
        value instead.
        """
        ...


def workers_of(executor: Executor) -> int | None:
    """Return the number of workers of an executor; None if it is not known.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> workers_of(ThreadPoolExecutor(3))
    3
    """
    for name in ("workers", "_max_workers"):  # ours; both of the standard library's
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return min(count, 61) if os.name == "nt" else count
    return None


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    executor: Executor | None = None,
    *,
    ahead: int = 8,
    resume: str = "give a new executor and do the same again",
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in the order of the items.

    Without an executor, items are processed here, one at a time. With one, at most `ahead` items
    are in flight, so a long iterable is never in memory at once. Results and their order do not
    depend on the executor. If the caller stops early or an item fails, items that have not started
    are cancelled.

    Args:
        function: picklable if the workers are processes.
        items: its arguments.
        executor: runs the function.
        ahead: largest number of items in flight.
        resume: advice at the end of the error if the workers are gone.

    Raises:
        InputError: the executor was shut down, or its workers died.

    >>> list(ordered_map(abs, [-2, -1, 3]))
    [2, 1, 3]
    """
    if executor is None:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(_submitted(executor, function, item, resume))
            if len(waiting) >= ahead:
                yield _result(waiting.popleft(), resume)
        while waiting:
            yield _result(waiting.popleft(), resume)
    finally:
        for future in waiting:
            future.cancel()


def _submitted(
    executor: Executor, function: Callable[[Item], Result], item: Item, resume: str
) -> Future[Result]:
    try:
        return executor.submit(function, item)
    except BrokenExecutor as error:
        raise _gone(error, resume) from error
    except RuntimeError as error:
        if "shutdown" not in str(error):  # the standard library has no type of its own for it
            raise
        raise InputError(
            f"the executor was shut down before the work was done; {resume}"
        ) from error


def _result(future: Future[Result], resume: str) -> Result:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise _gone(error, resume) from error
    except CancelledError as error:
        raise InputError(
            f"the work was cancelled: the executor was shut down, or its workers are gone; {resume}"
        ) from error


def _gone(error: BrokenExecutor, resume: str) -> InputError:
    return InputError(
        "the executor's workers are gone, killed or out of memory "
        f"({str(error) or type(error).__name__}); {resume}"
    )


Advance = Callable[[int, str], None]
"""Receives the finished amount of a step, and a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows the progress of a step with a title, and a total if it is known."""


def silent(title: str, total: int | None) -> AbstractContextManager[Advance]:
    """Show nothing."""
    return nullcontext(lambda done, note: None)


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the search for cycles of garbage, which goes through all records again and again.

    For work that makes no cycles. Of 100,000 questions, the search takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def one_thread() -> AbstractContextManager[object]:
    """Limit linear algebra to one thread in a block, so that sums are added in one order.

    With several threads the last bits depend on their number, and the last bits can decide between
    nearly equal directions, such as those of an SVD.
    """
    import scipy.linalg  # noqa: F401 - its own BLAS must be there already to be limited

    limits: AbstractContextManager[object] = _blas(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(1)
def _blas(modules: int) -> Any:
    """Return the controller of the loaded BLAS; finding it takes longer than a small fit.

    Args:
        modules: number of loaded modules; a further module may load another BLAS.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
