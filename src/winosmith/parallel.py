"""Distribution of work to any `concurrent.futures.Executor`, with ordered results and progress."""

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
    "no_progress",
    "one_thread",
    "ordered_map",
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
        """Keep a value on the workers while a block runs.

        Yields a token to use as an argument of `submit`, or inside a tuple; workers receive the
        value instead.
        """
        ...


def workers_of(executor: Executor) -> int | None:
    """Return the number of workers of an executor; None if it is unknown.

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
    resume: str = "pass a new executor and run the same again",
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in the order of the items.

    Without an executor, items are processed one at a time in this process. With one, at most
    `ahead` items are in flight, so a long iterable is never in memory as a whole. Results and their
    order do not depend on the executor. If the caller stops early or an item fails, items that have
    not started are cancelled.

    Args:
        function: the function; it must be picklable if the workers are processes.
        items: the arguments of its calls.
        executor: the executor; None uses this process.
        ahead: maximum number of items in flight.
        resume: advice at the end of the error message if the workers are gone.

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
        raise _workers_gone_error(error, resume) from error
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
        raise _workers_gone_error(error, resume) from error
    except CancelledError as error:
        raise InputError(
            f"the work was cancelled: the executor was shut down, or its workers are gone; {resume}"
        ) from error


def _workers_gone_error(error: BrokenExecutor, resume: str) -> InputError:
    return InputError(
        "the executor's workers are gone, killed or out of memory "
        f"({str(error) or type(error).__name__}); {resume}"
    )


Advance = Callable[[int, str], None]
"""A function that takes the finished amount of a step, and a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""A function that shows the progress of a step with a title, and a total if known."""


def no_progress(title: str, total: int | None) -> AbstractContextManager[Advance]:
    """Report no progress."""
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
    """Limit linear algebra to one thread in a block, so that sums have a fixed order.

    Otherwise the last bits depend on the number of threads, and can decide between nearly equal
    directions, such as those of an SVD.
    """
    import scipy.linalg  # noqa: F401 - its own BLAS must be there already to be limited

    limits: AbstractContextManager[object] = _blas(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(1)
def _blas(modules: int) -> Any:
    """Return the controller of the loaded BLAS, cached because finding it is slow.

    Args:
        modules: number of loaded modules; a new module may load another BLAS.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
