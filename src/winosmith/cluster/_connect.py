"""From the address of a scheduler to an executor."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winosmith.cluster._executor import ClusterExecutor
from winosmith.errors import FormatError, InputError
from winosmith.extras import require

__all__ = ["connect"]

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
            raise _silent(where, error) from error
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
        return str(json.loads(path.read_text("utf-8"))["address"])
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
                raise _silent(where, error) from error
        time.sleep(0.2)


def _silent(where: str, error: Exception) -> InputError:
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
