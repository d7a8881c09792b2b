"""One writer after another: transactions that wait in a queue instead of polling for the lock.

SQLite lets one connection write at a time; those that wait sleep and try again, and some starve.
A lock file gives them turns: the kernel wakes whoever has waited longest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection, transaction

__all__ = ["writing"]

_THREADS = threading.Lock()
"""Threads of one process share its file locks, so they take turns here first."""

_WITHIN = threading.local()
"""Of each thread: whether it is inside a `writing()` already."""


@contextmanager
def writing() -> Iterator[None]:
    """Run the block as one durable write transaction; every write of the site goes through here.

    The commit is on the disk when the block is left without an error. Inside another `writing()`
    it is part of that one: who goes on there after an error takes back what the inner one wrote,
    with `transaction.atomic()` around it.

    >>> # with writing():
    >>> #     slot.save()
    """
    if getattr(_WITHIN, "now", False):
        yield
        return
    with _turn(), transaction.atomic():
        _WITHIN.now = True
        try:
            yield
        finally:
            _WITHIN.now = False


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for one's turn; it lasts until the block is left."""
    if connection.in_atomic_block or connection.vendor != "sqlite":
        yield
        return
    import fcntl

    with _THREADS, (settings.SITE.folder / "write.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
