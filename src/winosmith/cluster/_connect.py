"""From the address of a scheduler to an executor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winosmith.cluster._executor import ClusterExecutor
from winosmith.errors import InputError
from winosmith.extras import require

__all__ = ["connect"]

TIMEOUT = 20.0
"""Seconds in which a scheduler must answer, and have a worker."""


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
        InputError: the scheduler does not answer, or has no worker.
        MissingExtraError: dask.distributed is not installed.

    >>> with connect("tcp://head:8786") as executor:  # doctest: +SKIP
    ...     print(executor.workers)
    16
    """
    distributed = require("distributed", "cluster")
    where = {"scheduler_file": str(address)} if Path(address).is_file() else {"address": address}
    try:
        client = distributed.Client(
            **where, security=security, timeout=timeout, set_as_default=False, name="winosmith"
        )
    except (OSError, ValueError, TypeError) as error:  # as for "tcp//host", or TLS without files
        raise InputError(
            f"no Dask scheduler answers at {address} ({_reason(error)}); give the address that "
            "`dask scheduler` prints, such as tcp://head:8786"
        ) from error
    try:
        _await_worker(client, str(address), timeout)
        executor = ClusterExecutor(client, patience=patience)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
    finally:
        client.close()


def _await_worker(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (OSError, TimeoutError) as error:
        raise InputError(
            f"the Dask scheduler at {address} has no worker; start some, on any machine that "
            f"reaches it, with: dask worker {address}"
        ) from error


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
