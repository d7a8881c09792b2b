"""`ClusterExecutor`: the standard library's interface over the workers of a Dask cluster.

What Dask does by itself: work of a worker that died is done by another, and a value that several
workers hold is passed on to those that come later. What it does not do is done here: a value that
was handed over is gone when all its holders are, so it is handed over again; and work is not
waited for without end when no worker is left.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from winosmith._version import __version__
from winosmith.errors import InputError

__all__ = ["ClusterExecutor"]

Result = TypeVar("Result")

ATTEMPTS = 8
"""How often work is sent again after its values were lost; each time all their holders died."""

LOST = ("cancelled", "lost")
"""Dask's words for what the scheduler no longer knows."""

GLANCE = 1.0
"""Seconds between looks at the cluster."""


@dataclass(slots=True)
class Value:
    """A value at the workers.

    Attributes:
        own: the value, to be handed over again.
        future: Dask's name for it.
        lock: held while it is handed over.
    """

    own: Any
    future: Any
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True, eq=False)
class Work:
    """A piece of work, and where it is.

    Attributes:
        function, args, kwargs: what is to be done.
        outcome: what the caller waits for.
        attempts: how often it was sent.
        future: Dask's name for its result.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outcome: Future[Any] = field(default_factory=Future)
    attempts: int = 0
    future: Any = None


class ClusterExecutor(Executor):
    """An executor over a Dask cluster; `connect` opens one.

    It is a `winosmith.parallel.Holder`.
    """

    def __init__(self, client: Any, *, patience: float):
        self._client = client
        self._patience = patience
        self._open: set[Work] = set()
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="winosmith-cluster", daemon=True).start()

    @property
    def workers(self) -> int:
        """How many pieces of work the cluster does at a time now, 1 or more: a thread does one."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Do `fn(*args, **kwargs)` at some worker; values that are held stand for themselves."""
        if self._over.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        work = Work(fn, args, kwargs)
        self._open.add(work)
        work.outcome.add_done_callback(lambda _: self._settled(work))
        self._send(work)
        return work.outcome

    @contextlib.contextmanager
    def hold(self, value: Any) -> Iterator[Value]:
        """See `winosmith.parallel.Holder`.

        Raises:
            InputError: no worker takes it.
        """
        held = Value(value, self._scattered(value))
        try:
            yield held
        finally:
            held.future.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; wait for what was submitted, or cancel it."""
        outcomes = [work.outcome for work in list(self._open)]
        if cancel_futures:
            for outcome in outcomes:
                outcome.cancel()
        elif wait:
            for outcome in outcomes:
                with contextlib.suppress(BaseException):
                    outcome.exception()
        self._over.set()

    def _scattered(self, value: Any) -> Any:
        """Hand a value over to all workers there are: to one of them, and from there on."""
        for direct in (True, False):  # through the scheduler where workers can't be reached
            try:
                [future] = self._client.scatter([value], broadcast=True, direct=direct, hash=False)
                return future
            except (OSError, TimeoutError) as error:
                reason = error
        raise InputError(f"no worker of the cluster takes the data ({reason})") from reason

    def _send(self, work: Work) -> None:
        work.attempts += 1
        try:
            args, kwargs = self._placed(work.args), self._placed(work.kwargs)
            work.future = self._client.submit(
                _called, __version__, work.function, args, kwargs, pure=False
            )
            work.future.add_done_callback(lambda _: self._done(work))
        except Exception as error:  # noqa: BLE001 - whoever waits for the outcome is to hear of it
            self._fail(work, error)

    def _placed(self, arguments: Any) -> Any:
        """Return arguments with Dask's name for each value that is held."""
        if isinstance(arguments, Value):
            return self._present(arguments)
        if isinstance(arguments, tuple) and type(arguments) is tuple:
            return tuple(map(self._placed, arguments))
        if isinstance(arguments, dict):
            return {name: self._placed(value) for name, value in arguments.items()}
        return arguments

    def _present(self, value: Value) -> Any:
        with value.lock:
            if value.future.status in LOST:
                value.future = self._scattered(value.own)
            return value.future

    def _done(self, work: Work) -> None:
        """Pass on what came of a piece of work; called by Dask in a thread of its own."""
        if work.outcome.done():
            return
        try:
            status = work.future.status
            if status == "finished":
                self._finish(work, work.future.result())
            elif status in LOST:
                self._send_again(work)
            else:
                self._fail(work, work.future.exception())
        except Exception as error:  # noqa: BLE001 - Dask raises its own when it loses a result
            self._fail(work, error) if work.future.status not in LOST else self._send_again(work)

    def _send_again(self, work: Work) -> None:
        if self._client.status != "running":
            self._fail(work, BrokenExecutor("the connection to the Dask scheduler broke off"))
        elif work.attempts == ATTEMPTS:
            self._fail(work, BrokenExecutor(f"{ATTEMPTS} times all workers with the data died"))
        elif not self._over.is_set():
            self._send(work)

    def _finish(self, work: Work, result: Any) -> None:
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            work.outcome.set_result(result)

    def _fail(self, work: Work, error: BaseException | None) -> None:
        if type(error).__name__ == "KilledWorker":
            error = BrokenExecutor(f"several workers died over the same work: {error}")
        with contextlib.suppress(InvalidStateError):
            work.outcome.set_exception(error)

    def _settled(self, work: Work) -> None:
        self._open.discard(work)
        if work.future is not None:
            with contextlib.suppress(Exception):  # the cluster may be gone
                work.future.cancel() if work.outcome.cancelled() else work.future.release()

    def _watch(self) -> None:
        """Give work up when there has been no worker for long."""
        seen = time.monotonic()
        while not self._over.wait(GLANCE):
            try:
                there = self._client.status == "running" and bool(self._client.nthreads())
            except Exception:  # noqa: BLE001 - a scheduler that is gone fails in many ways
                there = False
            if there or not self._open:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                reason = f"the cluster has had no worker for {self._patience:.0f} s"
                for work in list(self._open):
                    self._fail(work, BrokenExecutor(reason))


def _called(
    version: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do the work, at a worker; refuse where winosmith is another, which could say otherwise."""
    if version != __version__:
        from distributed import get_worker

        raise InputError(
            f"the worker {get_worker().address} has winosmith {__version__}, and {version} asks; "
            "install the same everywhere"
        )
    return function(*args, **kwargs)
