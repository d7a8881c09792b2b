"""Write transactions with bounded waits, and rows in chunks.

SQLite allows one writing connection at a time among all processes. PostgreSQL locks tables and
rows. A write that waits too long fails with `OperationalError` and writes nothing. The page then
returns status 503 (`pages.handle_error`).
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
"""Maximum number of seconds that a write waits for other writes."""

MIN_WAIT = 0.1
"""Minimum number of seconds that a write waits. It is also the time for which one write polls a
locked SQLite database before the next write may poll it."""

_WRITER = threading.Lock()
"""Lock between the writing threads of one process, which share the process's file locks."""

_THREAD = threading.local()
"""Thread-local state: `is_writing` is true inside `writing()`, and `deadline` is the time until
which the thread's request may wait."""


@contextmanager
def writing() -> Iterator[None]:
    """Run the block as one durable write transaction, as all writes of the site do.

    When the block ends, the commit is on disk. A nested `writing()` joins the outer transaction. To
    continue after an error in a nested block, put `transaction.atomic()` around that block.

    Raises:
        django.db.OperationalError: The database was locked for too long; nothing was written.

    >>> # with writing():
    >>> #     slot.save()
    """
    if getattr(_THREAD, "is_writing", False):
        yield
        return
    deadline = getattr(_THREAD, "deadline", None)
    until = time.monotonic() + MAX_WAIT if deadline is None else deadline
    is_outermost = not connection.in_atomic_block
    with ExitStack() as stack:
        if connection.vendor == "sqlite" and is_outermost:
            _begin_sqlite_transaction(stack, until)
        else:
            if (left := until - time.monotonic()) < MAX_WAIT - 1 and is_outermost:
                set_lock_timeout(connection, max(MIN_WAIT, left))
                stack.callback(set_lock_timeout, connection, MAX_WAIT)
            stack.enter_context(transaction.atomic())
        _THREAD.is_writing = True
        try:
            yield
        finally:
            _THREAD.is_writing = False


@contextmanager
def limit_write_waits(seconds: float) -> Iterator[None]:
    """Limit this thread's waits for writes to `MAX_WAIT` minus the `seconds` already waited."""
    before = getattr(_THREAD, "deadline", None)
    _THREAD.deadline = time.monotonic() + MAX_WAIT - seconds
    try:
        yield
    finally:
        _THREAD.deadline = before


def limit_lock_waits() -> None:
    """Let each SQL statement of this process wait for a lock for at most `MAX_WAIT` seconds."""
    connection_created.connect(
        lambda connection, **_: set_lock_timeout(connection, MAX_WAIT),
        weak=False,
        dispatch_uid=__name__,
    )


def set_lock_timeout(connection: Any, seconds: float) -> None:
    setting = "PRAGMA busy_timeout =" if connection.vendor == "sqlite" else "SET lock_timeout ="
    with connection.cursor() as cursor:
        cursor.execute(f"{setting} {max(1, round(1000 * seconds))}")


def _begin_sqlite_transaction(stack: ExitStack, deadline: float) -> None:
    """Begin an SQLite transaction; waiting writers are served in order of arrival.

    SQLite itself polls for its lock, so that some writers starve. With a lock file, the kernel
    wakes the writer that has waited longest. If the database is locked, each writer polls for
    `MIN_WAIT` and then lets the next one poll, so that no writer exceeds its `MAX_WAIT`.
    """
    if not _WRITER.acquire(timeout=max(MIN_WAIT, deadline - time.monotonic())):
        raise OperationalError("the database is locked: other writes take too long")
    stack.callback(_WRITER.release)
    set_lock_timeout(connection, MIN_WAIT)
    stack.callback(set_lock_timeout, connection, MAX_WAIT)
    while True:
        with ExitStack() as turn:
            file = turn.enter_context((settings.SITE.folder / "write.lock").open("wb"))
            wait_for_lock(file.fileno())
            try:
                turn.enter_context(transaction.atomic())
            except OperationalError as error:
                code = getattr(error.__cause__, "sqlite_errorcode", 0)
                if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            else:
                stack.push(turn.pop_all())
                return


def chunked(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows in chunks of `size`; the last chunk may be shorter.

    This function replaces `itertools.batched`, which needs Python 3.12.

    >>> list(chunked("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(rows)
    while chunk := list(islice(rest, size)):
        yield chunk
