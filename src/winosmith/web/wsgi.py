"""The door for WSGI servers: `gunicorn winosmith.web.wsgi`, with `Site.environment()` set.

Three things are settled before Django sees a request: whether the site is well (`/healthz`, under
whatever name a proxy or a monitor calls), that no request carries more than a form can, and that
few requests are worked on at once, by threads that do nothing else. Threads that compute at the
same time take the interpreter from each other, above all from the one that others wait for, which
holds the database; those that wait for a slow browser to send or to take its bytes stand in
nobody's way, and need no connection to the database.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

__all__ = ["application"]

HEALTH = "/healthz"

AT_ONCE = 2
"""Pages and forms that one worker process works on at once: one computes while one waits for the
disk."""


def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "request")


@dataclass
class _Pools:
    """The threads of one process; each begins when there is something for it to do.

    Attributes:
        pages: for whole pages and forms, in the order in which they come.
        live: for what nobody should wait for behind them: what a page itself asks for while
            somebody types, and whether the site is well.
    """

    pages: ThreadPoolExecutor = field(default_factory=partial(_threads, AT_ONCE))
    live: ThreadPoolExecutor = field(default_factory=partial(_threads, 1))


_pools = _Pools()


def _begin_anew() -> None:
    """Give a process that was forked off its own threads: those of its parent are not in it."""
    global _pools
    _pools = _Pools()


os.register_at_fork(after_in_child=_begin_anew)

Environ = dict[str, Any]
Start = Callable[..., Any]


def application(environ: Environ, start_response: Start) -> Iterable[bytes]:
    """Answer a request."""
    if environ.get("PATH_INFO") == HEALTH:
        return _pools.live.submit(_health, start_response).result()
    length = _length(environ)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return _plain(start_response, "413 Content Too Large", b"too much at once\n", close=True)
    if length:
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
    live = "HTTP_HX_REQUEST" in environ and "HTTP_HX_BOOSTED" not in environ
    pool = _pools.live if live else _pools.pages
    answer: Any = pool.submit(_pages, environ, start_response).result()
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()  # the headers are the answer; a long body is not even begun
    return []


_pages = get_wsgi_application()


def _health(start_response: Start) -> Iterable[bytes]:
    """Say whether the database answers; nothing is cached, nothing about the site is told."""
    from django.db import DatabaseError, close_old_connections, connection

    close_old_connections()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM django_migrations LIMIT 1")
            cursor.fetchone()
    except DatabaseError:
        connection.close()
        return _plain(start_response, "503 Service Unavailable", b"the database does not answer\n")
    return _plain(start_response, "200 OK", b"ok\n")


def _plain(
    start_response: Start, status: str, body: bytes, *, close: bool = False
) -> Iterable[bytes]:
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start_response(status, [*headers, ("Connection", "close")] if close else headers)
    return [body]


def _length(environ: Environ) -> int:
    text = environ.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isdecimal() else 0
