"""The door for WSGI servers: which threads answer, in a process that was forked off, too."""

from __future__ import annotations

import os
import threading
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from tests import forking  # type: ignore[import-not-found]

SECONDS = 60
"""After which a child that waits for what never comes is ended."""


@pytest.fixture
def wsgi(db: Any) -> Any:
    """Return the module, on a site whose database is ready."""
    from winosmith.web import wsgi

    return wsgi


def _asked(wsgi: Any, path: str, **headers: str) -> str:
    """Return the status with which the application answers."""
    environ: dict[str, Any] = {"PATH_INFO": path, **headers}
    setup_testing_defaults(environ)
    told: list[str] = []
    answer = wsgi.application(environ, lambda status, _: told.append(status))
    for _ in answer:
        pass
    getattr(answer, "close", lambda: None)()
    return told[0]


@pytest.mark.parametrize("path", ["/healthz", "/static/no-such-file"])
def test_a_fork_has_threads_of_its_own(wsgi: Any, path: str) -> None:
    """A process that is forked off after requests were answered answers them, too, every time."""
    expected = _asked(wsgi, path)
    for _ in range(20):
        child = os.fork()
        if not child:
            forking.tell_when_late(SECONDS, end=True)
            os._exit(0 if _asked(wsgi, path) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_whole_pages_keep_nobody_who_types_waiting(wsgi: Any) -> None:
    """With the threads for pages taken, /healthz and what htmx asks for are answered."""
    gate = threading.Event()
    taken = [wsgi._pools.pages.submit(gate.wait) for _ in range(wsgi.AT_ONCE)]
    late = threading.Thread(target=_asked, args=(wsgi, "/"))
    late.start()
    try:
        assert _asked(wsgi, "/healthz") == "200 OK"
        assert _asked(wsgi, "/static/no-such-file", HTTP_HX_REQUEST="true").startswith("404")
        assert late.is_alive()
    finally:
        gate.set()
        late.join()
    assert all(each.result() for each in taken)


def test_as_many_pages_are_worked_on_at_once_as_there_are_threads_for_them(wsgi: Any) -> None:
    """Of ten that come together no more than `AT_ONCE` are inside at the same time."""
    inside, most, lock = 0, [], threading.Lock()
    together = threading.Barrier(wsgi.AT_ONCE)

    def work() -> None:
        nonlocal inside
        with lock:
            inside += 1
            most.append(inside)
        together.wait()
        with lock:
            inside -= 1

    for each in [wsgi._pools.pages.submit(work) for _ in range(5 * wsgi.AT_ONCE)]:
        each.result()
    assert max(most) == wsgi.AT_ONCE
