"""Write transactions with bounded waits, and rows in chunks.

SQLite allows one writing connection at a time among all processes; PostgreSQL locks tables and
rows. A write that has to wait for too long fails with `OperationalError`, and writes nothing; pages
then return status 503 (`pages.handle_error`).
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

MAX_WAIT = 5.0
"""Maximum seconds that a write waits for others."""

MIN_WAIT = 0.1
"""Minimum seconds of that wait, and the seconds for which a write polls SQLite's file before the
next write may poll."""

_WRITER = threading.Lock()
"""Lock for the threads of one process, which share its lock files: SQLite's writers wait here
first."""

_THREAD = threading.local()
"""For each thread: `now`, whether it is inside `writing()`; `late`, when its request times out."""


@contextmanager
def writing() -> Iterator[None]:
    """Run the block as one durable write transaction; every write of the site uses this.

    After the block, the commit is on the disk. A nested `writing()` joins the outer transaction; to
    continue after an error in it, put `transaction.atomic()` around it.

    Raises:
        django.db.OperationalError: The database was locked for too long; nothing was written.

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
def limit_waits(seconds: float) -> Iterator[None]:
    """Limit the waits of this thread's writes to the rest of its request's `MAX_WAIT`.

    Args:
        seconds: The seconds that the request has already waited.
    """
    before = getattr(_THREAD, "late", None)
    _THREAD.late = time.monotonic() + MAX_WAIT - seconds
    try:
        yield
    finally:
        _THREAD.late = before


def bound_lock_waits() -> None:
    """Limit the wait for a lock to `MAX_WAIT` for all statements of this process."""
    connection_created.connect(_bound_connection, dispatch_uid=__name__)


def _bound_connection(connection: Any, **_: Any) -> None:
    wait_for_locks(connection, MAX_WAIT)


def wait_for_locks(connection: Any, seconds: float) -> None:
    """Set the maximum seconds that each statement of a connection waits for a lock."""
    setting = "PRAGMA busy_timeout =" if connection.vendor == "sqlite" else "SET lock_timeout ="
    with connection.cursor() as cursor:
        cursor.execute(f"{setting} {max(1, round(1000 * seconds))}")


def _begin(held: ExitStack) -> None:
    """Begin a transaction; earlier waits of the thread's request shorten this one."""
    late = getattr(_THREAD, "late", None)
    until = time.monotonic() + MAX_WAIT if late is None else late
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        _begin_in_turn(held, until)
        return
    if (left := until - time.monotonic()) < MAX_WAIT - 1 and not connection.in_atomic_block:
        wait_for_locks(connection, max(MIN_WAIT, left))
        held.callback(wait_for_locks, connection, MAX_WAIT)
    held.enter_context(transaction.atomic())


def _begin_in_turn(held: ExitStack, until: float) -> None:
    """Begin a transaction of SQLite in the order of arrival.

    SQLite's own wait is polling, by which some writers starve. With a lock file, the kernel wakes
    the longest-waiting writer. A writer that finds the database locked lets the next one poll after
    `MIN_WAIT`, so that nobody waits for longer than their own `MAX_WAIT`.
    """
    if not _WRITER.acquire(timeout=max(MIN_WAIT, until - time.monotonic())):
        raise OperationalError("other writes took too long")
    held.callback(_WRITER.release)
    wait_for_locks(connection, MIN_WAIT)
    held.callback(wait_for_locks, connection, MAX_WAIT)
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
    """Yield the rows in chunks of `size`; the last chunk may be shorter.

    Python 3.12 has this as `itertools.batched`.

    >>> list(chunked("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(rows)
    while chunk := list(islice(rest, size)):
        yield chunk
