"""`ClusterExecutor`: the standard library's interface over the workers of a Dask cluster.

What Dask does by itself: work of a worker that died is done by another, and a value that one worker
holds is passed on to those whose work needs it. What it does not do is done here: work is spread
over the workers even where a value has to follow it; a value that was handed over is gone when all
its holders are, so it is handed over again; and work is not waited for without end when no worker
is left. (Dask's own broadcast of a value waits for ever for a worker that dies meanwhile.)
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from winosmith._version import __version__
from winosmith.cluster._memory import keep_freed_memory
from winosmith.errors import InputError

__all__ = ["ClusterExecutor"]

Result = TypeVar("Result")

ATTEMPTS = 8
"""How often work is sent again after its values were lost; each time all their holders died."""

LOST = ("cancelled", "lost")
"""Dask's words for what the scheduler no longer knows."""

GLANCE = 1.0
"""Seconds between looks at the cluster."""

SMALL = 1 << 20
"""Bytes up to which a value goes with every piece of work, which then waits for nothing."""


@dataclass(slots=True)
class Value:
    """A value at the workers.

    Attributes:
        own: the value, to be handed over again.
        future: Dask's name for it; None before it is first needed.
        lock: held while it is handed over.
    """

    own: Any
    future: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True, eq=False)
class Work:
    """A piece of work, and where it is.

    Attributes:
        function, args, kwargs: what is to be done.
        outcome: what the caller waits for.
        attempts: how often it was sent.
        worker: the number of the worker that it is for, if that is still there.
        future: Dask's name for its result.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outcome: Future[Any] = field(default_factory=Future)
    attempts: int = 0
    worker: int = 0
    future: Any = None


class ClusterExecutor(Executor):
    """An executor over a Dask cluster; `connect` opens one.

    It is a `winosmith.parallel.Holder`.
    """

    def __init__(self, client: Any, *, patience: float):
        self._client = client
        self._patience = patience
        self._open: set[Work] = set()
        self._numbers = itertools.count()
        self._direct = True
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="winosmith-cluster", daemon=True).start()

    @property
    def workers(self) -> int:
        """How many pieces of work the cluster does at a time now, 1 or more: a thread does one."""
        return max(1, sum(self._threads().values()))

    def _threads(self) -> dict[str, int]:
        """Return the threads of each worker there is now."""
        if self._client.status != "running":
            return {}
        try:
            return {str(at): int(count) for at, count in self._client.nthreads().items()}
        except (OSError, TimeoutError):
            return {}

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Do `fn(*args, **kwargs)` at some worker; values that are held stand for themselves."""
        if self._over.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        work = Work(fn, args, kwargs, worker=next(self._numbers))
        self._open.add(work)
        work.outcome.add_done_callback(lambda _: self._settled(work))
        self._send(work)
        return work.outcome

    @contextlib.contextmanager
    def hold(self, value: Any) -> Iterator[Any]:
        """See `winosmith.parallel.Holder`; it is handed over when the first work needs it."""
        if _size(value) <= SMALL:
            yield value
            return
        held = Value(value)
        try:
            yield held
        finally:
            if held.future is not None:
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
        """Hand a value over to one worker, past the scheduler where workers can be reached."""
        from distributed.comm import CommClosedError

        for _ in range(ATTEMPTS):
            try:
                [future] = self._client.scatter([value], direct=self._direct, hash=False)
                return future
            except (CommClosedError, LookupError) as error:  # it died meanwhile
                reason: Exception = error
            except (OSError, TimeoutError) as error:  # it is out of reach from here
                reason, self._direct = error, False
        raise BrokenExecutor(f"no worker of the cluster takes the data: {reason}") from reason

    def _send(self, work: Work) -> None:
        work.attempts += 1
        try:
            values = [value for value in _leaves(work) if isinstance(value, Value)]
            place = {id(value): self._present(value, work.attempts > 1) for value in values}
            work.future = self._client.submit(
                _called,
                __version__,
                work.function,
                _placed(work.args, place),
                _placed(work.kwargs, place),
                pure=False,
                **(self._at(work.worker) if values else {}),
            )
            work.future.add_done_callback(lambda _: self._done(work))
        except Exception as error:  # noqa: BLE001 - whoever waits for the outcome is to hear of it
            self._fail(work, error if self._client.status == "running" else _broken_off())

    def _at(self, number: int) -> dict[str, Any]:
        """Return the options that ask for a worker; any other may take its place."""
        threads = self._threads()
        seats = [worker for worker in sorted(threads) for _ in range(threads[worker])]
        if not seats:
            return {}
        return {"workers": [seats[number % len(seats)]], "allow_other_workers": True}

    def _present(self, value: Value, doubtful: bool) -> Any:
        """Return Dask's name for a value, handed over again when nobody holds it any more."""
        with value.lock:
            lost = value.future is None or value.future.status in LOST
            if doubtful and not lost:
                lost = not any(self._client.who_has([value.future]).values())
            if lost:
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
            self._fail(work, _broken_off())
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
            if not self._open or self._threads():
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                reason = f"the cluster has had no worker for {self._patience:.0f} s"
                for work in list(self._open):
                    self._fail(work, BrokenExecutor(reason))


def _broken_off() -> BrokenExecutor:
    return BrokenExecutor("the connection to the Dask scheduler broke off")


def _leaves(work: Work) -> Iterator[Any]:
    """Yield the arguments of a piece of work, and those in tuples."""
    open_ones = [*work.args, *work.kwargs.values()]
    while open_ones:
        one = open_ones.pop()
        if type(one) is tuple:
            open_ones += one
        else:
            yield one


def _placed(arguments: Any, place: Mapping[int, Any]) -> Any:
    """Return arguments with Dask's name for each value that is held."""
    if isinstance(arguments, Value):
        return place[id(arguments)]
    if type(arguments) is tuple:
        return tuple(_placed(one, place) for one in arguments)
    if type(arguments) is dict:
        return {name: _placed(one, place) for name, one in arguments.items()}
    return arguments


def _size(value: Any) -> int:
    """Return how many bytes a value is made of on its way, arrays not copied to find out."""
    buffers: list[pickle.PickleBuffer] = []
    plain = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(plain) + sum(buffer.raw().nbytes for buffer in buffers)


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
    keep_freed_memory()
    return function(*args, **kwargs)
