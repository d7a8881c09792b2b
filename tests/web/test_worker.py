"""The server's processes and its WSGI application: slow clients, long files, signals, forks."""

import contextlib
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.db import connection
from django.urls import reverse

from tests import forking
from tests.waiting import LONGEST, until
from winosmith.web import hosting, wsgi
from winosmith.web.jobs import Child

ASKED = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK = b"HTTP/1.1 200 OK"

Environ = dict[str, Any]


class Answering:
    """A worker process on a free port, with its own application."""

    def __init__(self, pages: Callable[[Environ, Any], Any], connections: int = 2000) -> None:
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]

        def answer() -> None:
            wsgi._pages = pages
            hosting.answer_requests(self.door, connections, prepare=lambda: None)

        self.process = multiprocessing.get_context("fork").Process(target=answer)
        self.process.start()

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Open a new connection, and send some bytes."""
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST)
        wire.sendall(sent)
        return wire

    def first_bytes(self, path: bytes = b"") -> bytes:
        """Return the first bytes of an answer."""
        with self.connect(ASKED % path) as wire:
            return wire.recv(1000)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.door.close()


class Answer(list[bytes]):
    """A WSGI answer that can be closed, as Django's."""

    def close(self) -> None:
        """Do nothing."""


def _hello(environ: Environ, start_response: Any) -> Answer:
    start_response("200 OK", [("Content-Length", "5")])
    return Answer([b"hello"])


class Endless(Answer):
    """A file without an end."""

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield bytes(1 << 16)


def _endless_files(environ: Environ, start_response: Any) -> Answer:
    if "/download/" not in environ["PATH_INFO"]:
        return _hello(environ, start_response)
    start_response("200 OK", [])
    return Endless()


@pytest.fixture
def start_worker(db: Any) -> Iterator[Callable[..., Answering]]:
    """Return a function that starts workers, which end with the test."""
    with contextlib.ExitStack() as started:

        def start(pages: Callable[[Environ, Any], Any], connections: int = 2000) -> Answering:
            made = Answering(pages, connections)
            started.callback(made.end)
            return made

        yield start


BEGUN = {
    "headers": b"GET / HTTP/1.1\r\nX-Slow: ",
    "body": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
    "chunks": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
}


@pytest.mark.parametrize("begun", BEGUN)
def test_incomplete_request_occupies_no_thread(start_worker, begun):
    worker = start_worker(_hello)
    slow = [worker.connect(BEGUN[begun]) for _ in range(3 * hosting.THREADS)]
    for wire in slow:
        wire.sendall(b"x")
    assert worker.first_bytes().startswith(OK)
    for wire in slow:
        wire.close()


def test_unread_answer_occupies_no_thread(start_worker):
    size = 1 << 23

    def large(environ: Environ, start_response: Any) -> Answer:
        if environ["PATH_INFO"] != "/large":
            return _hello(environ, start_response)
        start_response("200 OK", [("Content-Length", str(size))])
        return Answer([bytes(size)])

    worker = start_worker(large)
    slow = [worker.connect(ASKED % b"large") for _ in range(2 * hosting.THREADS)]
    for wire in slow:
        assert wire.recv(100).startswith(OK)
    assert worker.first_bytes().startswith(OK)
    for wire in slow:
        wire.close()


def test_stalled_reader_of_a_long_file_is_disconnected(start_worker, monkeypatch):
    monkeypatch.setattr(hosting, "IDLE_SECONDS", 1)
    worker = start_worker(_endless_files)
    stuck = [worker.connect(ASKED % b"download/a") for _ in range(wsgi.MAX_LONG_FILES)]
    for wire in stuck:
        assert wire.recv(100).startswith(OK)
    assert not worker.first_bytes(b"download/a").startswith(OK)
    until(lambda: worker.first_bytes(b"download/a").startswith(OK))
    for wire in stuck:
        wire.close()


@pytest.mark.parametrize("path", [b"download/a", b"/download/a"])
def test_slow_readers_of_long_files_occupy_few_threads(start_worker, path):
    """Pages are answered meanwhile; further long files are refused until one ends."""
    worker = start_worker(_endless_files)
    slow = [worker.connect(ASKED % path) for _ in range(wsgi.MAX_LONG_FILES)]
    for wire in slow:
        assert wire.recv(100).startswith(OK)
    for _ in range(2 * hosting.THREADS):
        with worker.connect(ASKED % path) as wire:
            refused = wire.recv(1000)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5" in refused
    assert worker.first_bytes().startswith(OK)
    slow.pop().close()
    until(lambda: worker.first_bytes(path).startswith(OK))
    for wire in slow:
        wire.close()


def test_long_file_that_fails_or_has_no_body_frees_its_place(db, monkeypatch):
    def fails(environ: Environ, start_response: Any) -> Answer:
        raise OSError

    def ask(method: str) -> Any:
        return wsgi.application({"PATH_INFO": "/download/a", "REQUEST_METHOD": method}, _ignore)

    for _ in range(wsgi.MAX_LONG_FILES + 1):
        monkeypatch.setattr(wsgi, "_pages", fails)
        with pytest.raises(OSError):  # noqa: PT011 - it has no text
            ask("GET")
        monkeypatch.setattr(wsgi, "_pages", _hello)
        assert ask("HEAD") == []
        answer = ask("GET")
        assert b"".join(answer) == b"hello"
        answer.close()


def _ignore(status: str, headers: Any) -> None:
    assert status == "200 OK"


def test_large_form_is_buffered_on_disk(start_worker, tmp_path):
    """The headers that proxies add arrive unchanged."""
    said = tmp_path / "said"
    body = bytes(1 << 19)

    def pages(environ: Environ, start_response: Any) -> Answer:
        sizes = []
        for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the numbers of open files
            with contextlib.suppress(OSError):
                sizes.append(os.fstat(int(number)).st_size)
        said.write_text(f"{len(body) in sizes} {environ['HTTP_X_FORWARDED_FOR']}")
        return _hello(environ, start_response)

    headers = b"X-Forwarded-For: 203.0.113.7, 10.0.0.1\r\nContent-Length: %d\r\n" % len(body)
    with start_worker(pages).connect(b"POST / HTTP/1.1\r\n" + headers + b"\r\n" + body) as wire:
        assert wire.recv(1000).startswith(OK)
    assert said.read_text() == "True 203.0.113.7, 10.0.0.1"


def test_connection_beyond_the_limit_waits(start_worker):
    worker = start_worker(_hello, connections=12)
    begun = [worker.connect(b"GET / HTTP/1.1\r\n") for _ in range(12)]
    wire = worker.connect(ASKED % b"")
    wire.settimeout(0.5)
    with pytest.raises(TimeoutError):
        wire.recv(1)
    wire.settimeout(LONGEST)
    for each in begun:
        each.close()
    assert wire.recv(1000).startswith(OK)
    wire.close()


def test_terminated_worker_finishes_open_requests(start_worker, tmp_path):
    begun, gate = tmp_path / "begun", tmp_path / "gate"

    def waits(environ: Environ, start_response: Any) -> Answer:
        begun.touch()
        until(gate.exists)
        return _hello(environ, start_response)

    worker = start_worker(waits)
    idle = worker.connect()
    with worker.connect(ASKED % b"") as wire:
        until(begun.exists)
        worker.process.terminate()
        time.sleep(0.3)
        assert worker.process.is_alive()
        gate.touch()
        with wire.makefile("rb") as answer:  # it may arrive in two parts
            assert answer.read().endswith(b"hello")
    worker.process.join(LONGEST)
    assert worker.process.exitcode == 0
    assert idle.recv(1) == b""
    idle.close()


def _start_supervisor(folder: Path, count: int) -> multiprocessing.process.BaseProcess:
    """Start a process that supervises others, each of which creates a file named after its id.

    It also starts a program that creates the file "other".
    """

    def work() -> None:
        (folder / str(os.getpid())).touch()
        signal.pause()

    def supervise() -> None:
        code = "import pathlib, signal, sys; pathlib.Path(sys.argv[1]).touch(); signal.pause()"
        other = Child(["-c", code, str(folder / "other")], {})
        interrupted = hosting.supervise([work] * count, [other])
        assert other.process is not None
        assert other.process.poll() is not None
        os._exit(130 if interrupted else 0)

    process = multiprocessing.get_context("fork").Process(target=supervise)
    process.start()
    return process


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_killed_processes_are_replaced(tmp_path, sign, code):
    """A signal ends all of them; the exit code of the supervisor shows which signal."""

    def ids() -> list[int]:
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]

    supervisor = _start_supervisor(tmp_path, 3)
    until(lambda: len(ids()) == 3 and (tmp_path / "other").exists())
    for number in ids():
        os.kill(number, signal.SIGKILL)
    until(lambda: len(ids()) == 6)
    assert supervisor.pid
    os.kill(supervisor.pid, sign)
    supervisor.join(LONGEST)
    assert supervisor.exitcode == code
    for number in ids():
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_failed_connection_is_logged_without_its_address(db, caplog):
    from waitress.utilities import logger

    with caplog.at_level("ERROR", logger="waitress"):
        logger.error("closing <HTTPChannel connected 203.0.113.7:5050 at 0x7f> (OSError: no room)")
    assert "(OSError: no room)" in caplog.text
    assert "203.0.113.7" not in caplog.text


def test_addresses_of_long_files_match_the_pattern(site):
    site.activate()
    assert wsgi.LONG_FILE_PATH.search(reverse("read:file", args=["problems.jsonl"]))
    assert wsgi.LONG_FILE_PATH.search(reverse("families:file", args=["a.jsonl"]))
    assert wsgi.LONG_FILE_PATH.search(reverse("rounds:file", args=["one", "kept.jsonl"]))
    assert not wsgi.LONG_FILE_PATH.search(reverse("read:download"))
    assert not wsgi.LONG_FILE_PATH.search(reverse("rounds:progress", args=["one"]))


SECONDS = 60
"""After this time, a child that hangs is ended."""


def _request(path: str, method: str = "GET") -> tuple[str, bytes]:
    """Return the status and the body of the application's response."""
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": method}
    setup_testing_defaults(environ)
    told: list[str] = []
    answer = wsgi.application(environ, lambda status, _: told.append(status))
    body = b"".join(answer)
    getattr(answer, "close", lambda: None)()
    return told[0], body


@pytest.mark.parametrize("path", ["/healthz", "/static/no-such-file"])
def test_forked_process_answers_like_its_parent(database, path):
    expected = _request(path)
    connection.close()
    for _ in range(20):
        child = os.fork()
        if not child:
            forking.tell_when_late(SECONDS, end=True)
            os._exit(0 if _request(path) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_head_has_no_body(database):
    for path in ("/", "/download/problems.jsonl"):
        assert _request(path)[0] == "200 OK"
        assert _request(path, "HEAD") == ("200 OK", b"")
