"""An executor that runs work on the machines of a Dask cluster.

    from winosmith import cluster, debias

    with cluster.connect("tcp://head:8786") as executor:
        debias.aflite(X, y, executor=executor)

If all machines are of the same kind, results are byte-identical to those of one machine. A Dask
scheduler runs any code that it receives: run it in a network that you trust, or use TLS.

If a worker dies, Dask runs its work on another worker. If the scheduler or all workers with the
data die, the work is cancelled.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, TypeVar

from winosmith._version import __version__
from winosmith.errors import FormatError, InputError, first_line, require
from winosmith.records import parse_json

TIMEOUT = 20.0
"""Number of seconds to wait for the first worker."""

RESPONSE_TIMEOUT = 10.0
"""Number of seconds to wait for the scheduler's response, including after a lost connection."""

Result = TypeVar("Result")


@contextlib.contextmanager
def connect(
    address: str | Path, *, security: Any = None, timeout: float = TIMEOUT
) -> Iterator[ClusterExecutor]:
    """Connect to a Dask scheduler and return an executor for its workers.

    Workers may join or leave while the executor is open. The scheduler, the workers and this
    machine need the same versions of Python, winosmith and its libraries.

    Args:
        address: the scheduler's address ("tcp://head:8786"), or the file that
            `dask scheduler --scheduler-file` wrote.
        security: a `distributed.Security` for tls:// addresses; if None, the certificates in
            Dask's configuration (`distributed.comm.tls`) are used.
        timeout: number of seconds to wait for the first worker.

    Raises:
        InputError: the scheduler does not answer or has no workers, or certificates are missing.
        FormatError: the file was not written by a scheduler.
        MissingExtraError: dask.distributed is not installed.

    >>> with connect("tcp://head:8786") as executor:  # doctest: +SKIP
    ...     print(executor.workers)
    16
    """
    distributed = require("distributed", "cluster")
    where = _resolve_scheduler_address(address)
    with contextlib.ExitStack() as stack:
        logger = logging.getLogger("distributed.client")  # it repeats errors that are raised anyway
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(
                where,
                security=security,
                timeout=RESPONSE_TIMEOUT,
                set_as_default=False,
                name="winosmith",
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise InputError(
                f"no Dask scheduler answers at {where} ({first_line(error)}); give the address "
                "that `dask scheduler` prints, such as tcp://head:8786; tls:// needs certificates, "
                "in a distributed.Security or in Dask's configuration (distributed.comm.tls)"
            ) from error
        stack.callback(client.close)
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (OSError, TimeoutError) as error:
            raise InputError(
                f"the Dask scheduler at {where} has no workers; start one, on any machine that "
                f"can connect to it, with: dask worker {where}"
            ) from error
        executor = ClusterExecutor(client)
        stack.callback(executor.shutdown, wait=False)
        yield executor


def _resolve_scheduler_address(address: str | Path) -> str:
    path = Path(address)
    if not path.is_file():
        return str(address)
    try:
        return str(parse_json(path.read_text("utf-8"))["address"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise FormatError(
            "this is not a complete file of `dask scheduler --scheduler-file`; wait until it is "
            "written, or give the address",
            path,
        ) from error


class ClusterExecutor(Executor):
    """An executor that runs work on the workers of a Dask scheduler; see `connect`.

    It sends a shared value to each worker only once. See `winosmith.parallel.Broadcaster`.
    """

    def __init__(self, client: Any):
        self._client = client
        self._executor = client.get_executor(pure=False)

    @property
    def workers(self) -> int:
        """The number of threads on all connected workers, or 1 if there are none."""
        try:
            return max(1, sum(map(int, self._client.nthreads().values())))
        except OSError:
            return 1  # the work itself then raises an error

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run `fn(*args, **kwargs)` on a worker. Tokens of `broadcast` stand for their values."""
        future: Future[Result] = self._executor.submit(
            _run_on_worker, __version__, fn, args, kwargs
        )
        return future

    @contextlib.contextmanager
    def broadcast(self, value: Any) -> Iterator[Any]:
        """Send a value to every worker and yield its token; see `parallel.Broadcaster`."""
        [token] = self._client.scatter([value], broadcast=True, hash=False)
        try:
            yield token
        finally:
            token.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop accepting work, and wait for submitted work or cancel it."""
        from distributed.client import ClosedClientError

        with contextlib.suppress(ClosedClientError):  # then the work is lost, too
            self._executor.shutdown(wait=wait and not cancel_futures)


def _run_on_worker(
    version: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if version != __version__:
        from distributed import get_worker

        raise InputError(
            f"the worker {get_worker().address} has winosmith {__version__}, but the client has "
            f"{version}; install the same version everywhere"
        )
    return function(*args, **kwargs)
