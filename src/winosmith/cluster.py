"""Many machines: an executor over a Dask cluster. The only door to `dask.distributed`.

    from winosmith import cluster, debias

    with cluster.connect("tcp://head:8786") as executor:
        debias.aflite(X, y, executor=executor)

Results are those of one machine, to the byte where the machines are of one kind. A Dask scheduler
runs what anyone who reaches it sends: keep it in a network that you trust, or use TLS.

What Dask does by itself: work of a worker that died is done by another, and a value that one worker
holds is passed on to those whose work needs it. What it does not do is done here: work is spread
over the workers even where a value has to follow it; a value that was handed over is gone when all
its holders are, so it is handed over again; and work is not waited for without end when no worker
is left. (Dask's own broadcast of a value waits for ever for a worker that dies meanwhile.)
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import logging
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from winosmith._version import __version__
from winosmith.errors import FormatError, InputError, require
from winosmith.records import parsed

__all__ = ["ClusterExecutor", "connect"]

TIMEOUT = 20.0
"""Seconds in which a scheduler must be there, and have a worker."""

HANDSHAKE = 10.0
"""Seconds in which a scheduler that is there must let somebody in, at first and after the
connection broke off: so long it takes to notice that one is gone."""


@contextlib.contextmanager
def connect(
    address: str | Path,
    *,
    security: Any = None,
    timeout: float = TIMEOUT,
    patience: float = 60.0,
) -> Iterator[ClusterExecutor]:
    """Open an executor over the workers of a Dask scheduler.

    Workers may come, go and be killed while it is open: work that was lost is done again by
    others. The scheduler, the workers and this machine need the same versions of Python, winosmith
    and its libraries.

    Args:
        address: as the scheduler prints it ("tcp://head:8786"), or the file that it was told to
            write (`dask scheduler --scheduler-file`).
        security: a `distributed.Security` for addresses with tls://; when None, what Dask's own
            configuration says (`distributed.comm.tls`).
        timeout: seconds to wait for the scheduler, and for its first worker.
        patience: seconds without any worker after which work that waits is given up.

    Raises:
        InputError: the scheduler does not answer, or has no worker; or certificates are missing.
        FormatError: the file is none of a scheduler.
        MissingExtraError: dask.distributed is not installed.

    >>> with connect("tcp://head:8786") as executor:  # doctest: +SKIP
    ...     print(executor.workers)
    16
    """
    distributed = require("distributed", "cluster")
    where = _scheduler(address)
    security = security or distributed.Security()
    if where.startswith("tls://") and not security.get_connection_args("client")["ssl_context"]:
        raise InputError(
            f"{where} needs certificates: give a distributed.Security, or name them in Dask's "
            "configuration, distributed.comm.tls.ca-file and distributed.comm.tls.client"
        )
    _await_answer(where, timeout)
    with _quietly(), contextlib.ExitStack() as stack:
        try:
            client = distributed.Client(
                where, security=security, timeout=HANDSHAKE, set_as_default=False, name="winosmith"
            )
        except (OSError, ValueError, TypeError) as error:
            raise _no_answer(where, error) from error
        stack.callback(client.close)
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (OSError, TimeoutError) as error:
            raise InputError(
                f"the Dask scheduler at {where} has no worker; start some, on any machine that "
                f"reaches it, with: dask worker {where}"
            ) from error
        executor = ClusterExecutor(client, patience=patience)
        stack.callback(executor.shutdown, wait=False, cancel_futures=True)
        yield executor


def _scheduler(address: str | Path) -> str:
    """Return the address of a scheduler, read from its file where it is one."""
    path = Path(address)
    if not path.is_file():
        return str(address)
    try:
        return str(parsed(path.read_text("utf-8"))["address"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise FormatError(
            "this is no file of `dask scheduler --scheduler-file`; wait until it is written, or "
            "give the address",
            path,
        ) from error


def _await_answer(where: str, timeout: float) -> None:
    """Wait until something listens there; a client that fails does so slowly and noisily."""
    from distributed.comm import get_address_host_port

    end = time.monotonic() + timeout
    while True:
        try:
            with socket.create_connection(get_address_host_port(where), timeout=timeout):
                return
        except (OSError, ValueError, TypeError) as error:
            if time.monotonic() > end or not isinstance(error, OSError):
                raise _no_answer(where, error) from error
        time.sleep(0.2)


def _no_answer(where: str, error: Exception) -> InputError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(
        f"no Dask scheduler answers at {where} ({reason}); give the address that "
        "`dask scheduler` prints, such as tcp://head:8786"
    )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep Dask's client from logging; what a user has to know is said in errors."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


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
class _Value:
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
class _Work:
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
        self._open: set[_Work] = set()
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
        return self._look() or {}

    def _look(self) -> dict[str, int] | None:
        """Return the threads of each worker that the scheduler knows; None when it says nothing."""
        if self._client.status != "running":
            return None
        try:
            return {str(at): int(count) for at, count in self._client.nthreads().items()}
        except (OSError, TimeoutError):
            return None

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Do `fn(*args, **kwargs)` at some worker; values that are held stand for themselves."""
        if self._over.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        work = _Work(fn, args, kwargs, worker=next(self._numbers))
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
        held = _Value(value)
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

    def _send(self, work: _Work) -> None:
        work.attempts += 1
        try:
            values = [value for value in _leaves(work) if isinstance(value, _Value)]
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

    def _present(self, value: _Value, doubtful: bool) -> Any:
        """Return Dask's name for a value, handed over again when nobody holds it any more."""
        with value.lock:
            lost = value.future is None or value.future.status in LOST
            if doubtful and not lost:
                lost = not any(self._client.who_has([value.future]).values())
            if lost:
                value.future = self._scattered(value.own)
            return value.future

    def _done(self, work: _Work) -> None:
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

    def _send_again(self, work: _Work) -> None:
        if self._client.status != "running":
            self._fail(work, _broken_off())
        elif work.attempts == ATTEMPTS:
            self._fail(work, BrokenExecutor(f"{ATTEMPTS} times all workers with the data died"))
        elif not self._over.is_set():
            self._send(work)

    def _finish(self, work: _Work, result: Any) -> None:
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            work.outcome.set_result(result)

    def _fail(self, work: _Work, error: BaseException | None) -> None:
        if type(error).__name__ == "KilledWorker":
            error = BrokenExecutor(f"several workers died over the same work: {error}")
        with contextlib.suppress(InvalidStateError):
            work.outcome.set_exception(error)

    def _settled(self, work: _Work) -> None:
        self._open.discard(work)
        if work.future is not None:
            with contextlib.suppress(Exception):  # the cluster may be gone
                work.future.cancel() if work.outcome.cancelled() else work.future.release()

    def _watch(self) -> None:
        """Give work up when there has been no worker for long."""
        seen = time.monotonic()
        while not self._over.wait(GLANCE):
            threads = self._look() if self._open else {}
            if not self._open or threads:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                fault = BrokenExecutor(f"the cluster has had no worker for {self._patience:.0f} s")
                if threads is None:  # the scheduler is gone, and Dask has not said so yet
                    fault = _broken_off()
                for work in list(self._open):
                    self._fail(work, fault)


def _broken_off() -> BrokenExecutor:
    return BrokenExecutor("the connection to the Dask scheduler broke off")


def _leaves(work: _Work) -> Iterator[Any]:
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
    if isinstance(arguments, _Value):
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


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The parameters of mallopt, as glibc's malloc.h numbers them."""

KEPT, LARGE = 1 << 26, 1 << 25
"""Bytes that stay with a process; bytes from which on a block is given back by itself (the most
that glibc takes)."""


@functools.cache
def keep_freed_memory() -> None:
    """Let this process keep some memory that it frees, for the next array.

    Dask has its workers give back every 64 kB at once (MALLOC_TRIM_THRESHOLD_). An array of
    100 kB then costs a fault for each of its pages, every time: the solver of AFLite took three
    times as long on small data. Other C libraries than glibc are left as they are.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)
