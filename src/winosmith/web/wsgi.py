"""The application for WSGI servers: `winosmith.web.wsgi`, with `Site.environment()` set.

`/healthz` is answered before Django, for any host name, and always within a second.
"""

from __future__ import annotations

import errno
import logging
import queue
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import Error, InterfaceError, OperationalError, connection, transaction

from winosmith.web._lock import wait_for_locks

HEALTH = "/healthz"
UNAVAILABLE = "503 Service Unavailable"

Environ = dict[str, Any]
Start = Callable[..., Any]

LONG = re.compile(
    r"^/+(download/.|moderate/log\.csv|families/data/|rounds/round/[^/]+/(?!progress/).)"
)
"""The paths of long files; several slashes before the first word count as one."""

FILES = 3
"""Maximum number of long files that one process sends at the same time. Each occupies a thread
while its reader is slow; the other threads answer pages and forms."""

_pages = get_wsgi_application()
_files = threading.BoundedSemaphore(FILES)


def application(environ: Environ, start_response: Start) -> Iterable[bytes]:
    """Answer a request."""
    path = environ.get("PATH_INFO", "")
    if path == HEALTH:
        found = find_fault()
        return _answer(
            start_response, found or "ok", "503 Service Unavailable" if found else "200 OK"
        )
    if not LONG.search(path):
        answer: Any = _pages(environ, start_response)
    elif _files.acquire(blocking=False):
        answer = _LongFile(environ, start_response)
    else:
        busy = "other files are being sent; try again in some seconds"
        return _answer(start_response, busy, UNAVAILABLE)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()  # only the headers are sent; a long body is not started
    return []


class _LongFile:
    """The response with a long file; when it is closed, another long file can be sent."""

    def __init__(self, environ: Environ, start_response: Start) -> None:
        try:
            self._answer: Any = _pages(environ, start_response)
        except BaseException:
            _files.release()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the response; WSGI servers call this once per response."""
        try:
            self._answer.close()
        finally:
            _files.release()


def _answer(start_response: Start, text: str, status: str) -> Iterable[bytes]:
    """Return a response of one line for programs; it reveals nothing about the site."""
    body = f"{text}\n".encode()
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    if status == UNAVAILABLE:
        headers.append(("Retry-After", "5"))
    start_response(status, headers)
    return [body]


AWAY = "the database does not answer"
LOCKED = (
    "the database is locked by another program or by a long write of the site; pages can be read, "
    "but nothing can be written"
)
READ_ONLY = "the database is read-only"
FULL = "the disk is full; pages can be read, but nothing can be written"
UNWRITABLE = "the site's folder can't be written to"
BROKEN = "the database returns an error; see the server's log"

WITHIN = 0.8
"""Seconds within which the database and the disk must answer."""

LOCKED_FOR = 0.5
"""Seconds after which the database counts as locked: nearly all writes of the site take hundredths
of a second; only a large import takes longer."""

KEPT = 1.0
"""Seconds for which a result is cached, so that frequent requests cost nothing."""

ROOM = 1 << 18
"""Bytes that must be free on the disk."""


_last: list[tuple[float, str]] = []
"""The time of the last check, in seconds of the monotonic clock, and its result."""

_TURN = threading.Lock()


def find_fault() -> str:
    """Return the site's current fault in a sentence; "" if it is healthy."""
    with _TURN:
        if not _last or time.monotonic() > _last[0][0] + KEPT:
            results: queue.SimpleQueue[str] = queue.SimpleQueue()
            threading.Thread(target=_check, args=(results,), name="health", daemon=True).start()
            try:
                found = results.get(timeout=WITHIN)
            except queue.Empty:
                found = AWAY
            _last[:] = [(time.monotonic(), found)]
        return _last[0][1]


def _check(results: queue.SimpleQueue[str]) -> None:
    try:
        results.put(_disk_fault() or _database_fault())
    finally:
        connection.close()


def _disk_fault() -> str:
    try:
        with tempfile.TemporaryFile(dir=settings.SITE.folder, buffering=0) as file:
            left = ROOM
            while left > 0:
                left -= file.write(bytes(left))
    except OSError as error:
        return FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else UNWRITABLE
    return ""


def _database_fault() -> str:
    """Check whether the database can be written, without writing anything."""
    try:
        wait_for_locks(connection, LOCKED_FOR)
        with transaction.atomic():
            return _postgresql_fault() if connection.vendor == "postgresql" else _sqlite_fault()
    except (OperationalError, InterfaceError) as error:
        return _error_message(error)
    except Error:
        logging.getLogger(__name__).exception("the database could not be checked")
        return BROKEN


def _sqlite_fault() -> str:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET name = name WHERE id = 1")
    transaction.set_rollback(True)
    return ""


def _postgresql_fault() -> str:
    quoted = connection.ops.quote_name
    tables = sorted(quoted(model._meta.db_table) for model in apps.get_models())
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        if cursor.fetchone()[0] == "on":
            return READ_ONLY
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ROW EXCLUSIVE MODE")
    transaction.set_rollback(True)
    return ""


def _error_message(error: Error) -> str:
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return _OF_SQLITE.get(code & 0xFF, AWAY)
    return _OF_POSTGRESQL.get(str(getattr(cause, "sqlstate", "")), AWAY)


_OF_SQLITE = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_FULL: FULL,
}
_OF_POSTGRESQL = {"55P03": LOCKED, "25006": READ_ONLY, "53100": FULL}
"""lock_not_available, read_only_sql_transaction, disk_full."""
