"""Write transactions, how long they wait for others, and many rows, some at a time.

A write never waits so long that nobody is answered.

SQLite lets one connection write at a time, in all processes; PostgreSQL locks tables and
rows. A write that comes to no turn in time fails with `OperationalError`, and nothing was written;
pages then say so with status 503 (`pages.failed`).
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.backends.signals import connection_created

from winosmith.locks import wait_for_lock

Row = TypeVar("Row")

PATIENCE = 5.0
"""Seconds that a write waits for its turn."""

LEAST = 0.1
"""Seconds that it waits at least, and for which the write whose turn it is looks whether SQLite's
file is free, before others look."""

_WRITER = threading.Lock()
"""Of the threads of one process: they share its lock files, so SQLite's writers wait here first."""

_THREAD = threading.local()
"""Of each thread: `now`, whether it is inside a `writing()`; `late`, when its request gives up."""


@contextmanager
def writing() -> Iterator[None]:
    """Run the block as one durable write transaction; every write of the site goes through here.

    The commit is on the disk when the block is left without an error. Inside another `writing()`
    it is part of that one: who continues there after an error undoes what the inner one wrote,
    with `transaction.atomic()` around it.

    Raises:
        django.db.OperationalError: somebody else had the database locked for too long; nothing was
            written.

    >>> # with writing():
    >>> #     slot.save()
    """
    if getattr(_THREAD, "now", False):
        yield
        return
    with ExitStack() as held:
        _begin(held)
        _THREAD.now = True
        try:
            yield
        finally:
            _THREAD.now = False


@contextmanager
def since(seconds: float) -> Iterator[None]:
    """Let this thread's writes in the block wait no longer than a request may that came before.

    Args:
        seconds: for how long it has waited already.
    """
    before = getattr(_THREAD, "late", None)
    _THREAD.late = time.monotonic() + PATIENCE - seconds
    try:
        yield
    finally:
        _THREAD.late = before


def bounded() -> None:
    """Let no statement of this process wait for a lock longer than `PATIENCE`."""
    connection_created.connect(_bound, dispatch_uid=__name__)


def _bound(connection: Any, **_: Any) -> None:
    wait_for_locks(connection, PATIENCE)


def wait_for_locks(connection: Any, seconds: float) -> None:
    """Set for how long each statement of a connection waits for a lock."""
    setting = "PRAGMA busy_timeout =" if connection.vendor == "sqlite" else "SET lock_timeout ="
    with connection.cursor() as cursor:
        cursor.execute(f"{setting} {max(1, round(1000 * seconds))}")


def _begin(held: ExitStack) -> None:
    """Begin a transaction in one's turn; what waited before, in its thread, waits the less here."""
    late = getattr(_THREAD, "late", None)
    until = time.monotonic() + PATIENCE if late is None else late
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        _take_turns(held, until)
        return
    if (left := until - time.monotonic()) < PATIENCE - 1 and not connection.in_atomic_block:
        wait_for_locks(connection, max(LEAST, left))
        held.callback(wait_for_locks, connection, PATIENCE)
    held.enter_context(transaction.atomic())


def _take_turns(held: ExitStack, until: float) -> None:
    """Begin a transaction of SQLite, one after the other.

    SQLite's own waiting is looking again and again, and some starve; a lock file lets the kernel
    wake the one that has waited longest. One that finds the database locked lets the next
    one look after `LEAST`: so nobody waits for the patience of others on top of their own.
    """
    if not _WRITER.acquire(timeout=max(LEAST, until - time.monotonic())):
        raise OperationalError("other writes took too long")
    held.callback(_WRITER.release)
    wait_for_locks(connection, LEAST)
    held.callback(wait_for_locks, connection, PATIENCE)
    while True:
        with ExitStack() as turn:
            file = turn.enter_context((settings.SITE.folder / "write.lock").open("wb"))
            wait_for_lock(file.fileno())
            try:
                turn.enter_context(transaction.atomic())
            except OperationalError as error:
                code = getattr(error.__cause__, "sqlite_errorcode", 0)
                if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            else:
                held.push(turn.pop_all())
                return


def chunked(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows in their order, `size` at a time; the last time what is left.

    As `itertools.batched` does, which Python 3.11 does not have.

    >>> list(chunked("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(rows)
    while chunk := list(islice(rest, size)):
        yield chunk
