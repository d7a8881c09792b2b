"""The door for WSGI servers, in a process that was forked off, too."""

import os
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.db import connection

from tests import forking
from winosmith.web.wsgi import application

SECONDS = 60
"""After which a child that waits for what never comes is ended."""


def _asked(path: str, method: str = "GET") -> tuple[str, bytes]:
    """Return the status and the body with which the application answers."""
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": method}
    setup_testing_defaults(environ)
    told: list[str] = []
    answer = application(environ, lambda status, _: told.append(status))
    body = b"".join(answer)
    getattr(answer, "close", lambda: None)()
    return told[0], body


@pytest.mark.parametrize("path", ["/healthz", "/static/no-such-file"])
def test_a_fork_answers_what_its_parent_answers(database: Any, path: str) -> None:
    """A process that is forked off after requests were answered answers them, too, every time."""
    expected = _asked(path)
    connection.close()
    for _ in range(20):
        child = os.fork()
        if not child:
            forking.tell_when_late(SECONDS, end=True)
            os._exit(0 if _asked(path) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_head_begins_no_body(database: Any) -> None:
    """HEAD has the status of GET, and nothing else; of a long file, too."""
    for path in ("/", "/download/problems.jsonl"):
        assert _asked(path)[0] == "200 OK"
        assert _asked(path, "HEAD") == ("200 OK", b"")
