"""The WSGI application, for servers with the environment variables of `Site.get_environment`.

`/healthz` is answered without Django, for any host name, and always within a second.
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

from winosmith.web._lock import set_lock_timeout

HEALTH = "/healthz"
UNAVAILABLE = "503 Service Unavailable"

Environ = dict[str, Any]
Start = Callable[..., Any]

LONG_FILE_PATH = re.compile(r"^/+(download/.|families/data/|rounds/round/[^/]+/(?!progress/).)")
"""Pattern for the paths of long files; leading slashes may be repeated."""

MAX_LONG_FILES = 3
"""Maximum number of long files that one process sends at the same time. Each occupies a thread
until its client has read it; the other threads answer pages and forms."""

_pages = get_wsgi_application()
_files = threading.BoundedSemaphore(MAX_LONG_FILES)


def application(environ: Environ, start_response: Start) -> Iterable[bytes]:
    path = environ.get("PATH_INFO", "")
    if path == HEALTH:
        found = find_fault()
        return _send_text(start_response, found or "ok", UNAVAILABLE if found else "200 OK")
    if not LONG_FILE_PATH.search(path):
        answer: Any = _pages(environ, start_response)
    elif _files.acquire(blocking=False):
        answer = _LongFile(environ, start_response)
    else:
        busy = "too many downloads are in progress; try again in a few seconds"
        return _send_text(start_response, busy, UNAVAILABLE)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()  # HEAD: only the headers are sent
    return []


class _LongFile:
    """A response with a long file; closing it allows another long file to be sent."""

    def __init__(self, environ: Environ, start_response: Start) -> None:
        try:
            self._answer: Any = _pages(environ, start_response)
        except BaseException:
            _files.release()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the response; WSGI servers call this method once per response."""
        try:
            self._answer.close()
        finally:
            _files.release()


def _send_text(start_response: Start, text: str, status: str) -> Iterable[bytes]:
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


NO_ANSWER = "the database does not answer"
LOCKED = (
    "the database is locked by another program or a long write by the site; pages can be read, "
    "but nothing can be written"
)
READ_ONLY = "the database is read-only"
DISK_FULL = "the disk is full; pages can be read, but nothing can be written"
UNWRITABLE = "the site's folder can't be written to"
DATABASE_ERROR = "the database returns an error; see the server's log"

CHECK_SECONDS = 0.8
"""Seconds within which the database and the disk must answer."""

LOCK_SECONDS = 0.5
"""Seconds after which the database is reported as locked. Nearly all of the site's writes take
hundredths of a second; only a large import takes longer."""

CACHE_SECONDS = 1.0
"""Seconds for which a result is cached, so that frequent checks are cheap."""

FREE_BYTES = 1 << 18
"""Minimum free disk space in bytes."""


_last: list[tuple[float, str]] = []
"""The time of the last check, by `time.monotonic`, and the result."""

_CHECKING = threading.Lock()


def find_fault() -> str:
    """Return a message about the site's current fault, or "" if the site is healthy."""
    with _CHECKING:
        if not _last or time.monotonic() > _last[0][0] + CACHE_SECONDS:
            results: queue.SimpleQueue[str] = queue.SimpleQueue()
            threading.Thread(target=_run_check, args=[results], name="health", daemon=True).start()
            try:
                found = results.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                found = NO_ANSWER
            _last[:] = [(time.monotonic(), found)]
        return _last[0][1]


def _run_check(results: queue.SimpleQueue[str]) -> None:
    try:
        results.put(_find_disk_fault() or _find_database_fault())
    finally:
        connection.close()


def _find_disk_fault() -> str:
    try:
        with tempfile.TemporaryFile(dir=settings.SITE.folder, buffering=0) as file:
            left = FREE_BYTES
            while left > 0:
                left -= file.write(bytes(left))
    except OSError as error:
        return DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else UNWRITABLE
    return ""


def _find_database_fault() -> str:
    """Return why the database can't be written to, or "". The check itself writes nothing."""
    try:
        set_lock_timeout(connection, LOCK_SECONDS)
        with transaction.atomic(), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SHOW transaction_read_only")
                if cursor.fetchone()[0] == "on":
                    return READ_ONLY
                quote = connection.ops.quote_name
                tables = sorted(quote(model._meta.db_table) for model in apps.get_models())
                cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ROW EXCLUSIVE MODE")
            else:
                cursor.execute("UPDATE django_migrations SET name = name WHERE id = 1")
            transaction.set_rollback(True)
            return ""
    except (OperationalError, InterfaceError) as error:
        return _get_error_message(error)
    except Error:
        logging.getLogger(__name__).exception("the database could not be checked")
        return DATABASE_ERROR


def _get_error_message(error: Error) -> str:
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    key = getattr(cause, "sqlstate", None) if code is None else code & 0xFF
    return _FAULTS.get(key, NO_ANSWER)


_FAULTS = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_FULL: DISK_FULL,
    "55P03": LOCKED,
    "25006": READ_ONLY,
    "53100": DISK_FULL,
}
"""Faults by SQLite's error code or SQLSTATE (lock_not_available, read_only_sql_transaction,
disk_full)."""
