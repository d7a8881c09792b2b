"""Run work on any `concurrent.futures.Executor`, with ordered results and progress reports."""

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

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Broadcaster(Protocol):
    """An executor that can send a shared value to each worker once instead of with every call.

    Its workers may be on machines without a shared disk; see `winosmith.cluster`.
    """

    def broadcast(self, value: Any) -> AbstractContextManager[Any]:
        """Send a value to all workers, and keep it there until the block ends.

        The context manager yields a token. If the token is an argument of `submit`, or inside a
        tuple, the worker receives the value instead.
        """
        ...


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_worker_count(executor: Executor) -> int | None:
    """Return an executor's number of workers, or None if it is unknown.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> get_worker_count(ThreadPoolExecutor(3))
    3
    """
    for name in ("workers", "_max_workers"):  # `ClusterExecutor`'s, then the standard library's
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return min(count, 61) if os.name == "nt" else count
    return None


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    executor: Executor | None = None,
    *,
    max_pending: int = 8,
    advice: str = "pass a new executor and repeat the call",
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in the order of the items.

    Without an executor, items are processed one at a time in this process. With an executor, at
    most `max_pending` items are submitted but not yet finished, so a long iterable is never in
    memory as a whole. Results and their order do not depend on the executor. If the caller stops
    early or an item fails, items that have not started are cancelled.

    The function must be picklable if the workers are processes. If the executor fails, the error
    message ends with `advice`.

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
            try:
                waiting.append(executor.submit(function, item))
            except RuntimeError as error:
                # The standard library has no specific exception.
                if isinstance(error, BrokenExecutor) or "shutdown" not in str(error):
                    raise
                why = "the executor was shut down before the work was done"
                raise InputError(f"{why}; {advice}") from error
            if len(waiting) >= max_pending:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor as error:
        raise InputError(
            "the executor's workers died; they were killed or ran out of memory "
            f"({str(error) or type(error).__name__}); {advice}"
        ) from error
    except CancelledError as error:
        raise InputError(
            f"the work was cancelled: the executor was shut down, or its workers died; {advice}"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


Advance = Callable[[int, str], None]
"""A callback that reports how much of a step is finished, with a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""A function that starts the progress display of a step, given its title and any known total."""


def no_progress(title: str, total: int | None) -> AbstractContextManager[Advance]:
    """Return a context manager whose progress callback does nothing."""
    return nullcontext(lambda done, note: None)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause Python's cyclic garbage collector, which would visit all records repeatedly.

    Use it only for work that creates no reference cycles. For 100,000 questions, the collector
    would take up a third of the run time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def use_one_thread() -> AbstractContextManager[object]:
    """Return a context manager that limits linear algebra to one thread, to fix the order of sums.

    With several threads, the last bits of a result depend on the number of threads. These bits can
    decide between nearly equal directions, such as those of an SVD.
    """
    import scipy.linalg  # noqa: F401 - scipy's own BLAS must be loaded before it can be limited

    limits: AbstractContextManager[object] = _get_blas_controller(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(1)
def _get_blas_controller(module_count: int) -> Any:
    """Return a BLAS controller, cached until `module_count`, the number of modules, changes."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
