"""The door for WSGI servers: `winosmith.web.wsgi`, with `Site.environment()` set.

Before Django sees a request it is asked whether the site is well (`/healthz`, under whatever name a
proxy or a monitor calls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from winosmith.web import _health

HEALTH = "/healthz"

Environ = dict[str, Any]
Start = Callable[..., Any]

_pages = get_wsgi_application()


def application(environ: Environ, start_response: Start) -> Iterable[bytes]:
    """Answer a request."""
    if environ.get("PATH_INFO") == HEALTH:
        return _health_answer(start_response)
    answer: Any = _pages(environ, start_response)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()  # the headers are the answer; a long body is not even begun
    return []


def _health_answer(start_response: Start) -> Iterable[bytes]:
    """Say whether the site is well, or what is wrong; nothing about the site is told."""
    wrong = _health.wrong()
    body = f"{wrong or 'ok'}\n".encode()
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    if wrong:
        headers.append(("Retry-After", "5"))
    start_response("503 Service Unavailable" if wrong else "200 OK", headers)
    return [body]
