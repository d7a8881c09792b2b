"""The WSGI application, in a forked process too."""

import os
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.db import connection

from tests import forking
from winosmith.web.wsgi import application

SECONDS = 60
"""After this time, a child that hangs is ended."""


def _request(path: str, method: str = "GET") -> tuple[str, bytes]:
    """Return the status and the body of the application's response."""
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": method}
    setup_testing_defaults(environ)
    told: list[str] = []
    answer = application(environ, lambda status, _: told.append(status))
    body = b"".join(answer)
    getattr(answer, "close", lambda: None)()
    return told[0], body


@pytest.mark.parametrize("path", ["/healthz", "/static/no-such-file"])
def test_forked_process_answers_like_its_parent(database: Any, path: str) -> None:
    expected = _request(path)
    connection.close()
    for _ in range(20):
        child = os.fork()
        if not child:
            forking.tell_when_late(SECONDS, end=True)
            os._exit(0 if _request(path) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_head_has_no_body(database: Any) -> None:
    for path in ("/", "/download/problems.jsonl"):
        assert _request(path)[0] == "200 OK"
        assert _request(path, "HEAD") == ("200 OK", b"")
