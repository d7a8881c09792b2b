"""A worker of the server: what it does with slow clients, and which threads answer whom."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse

from tests.waiting import LONGEST
from winosmith.web._worker import AHEAD, LONG, READERS, THREADS, Server

ASKED = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK = b"HTTP/1.1 200 OK"


class Working:
    """A worker's server in a thread of this process, on a free port, for an application.

    Attributes:
        patience: seconds that tests wait for what must come.
    """

    patience = LONGEST

    def __init__(self, application: Any) -> None:
        door = socket.create_server(("127.0.0.1", 0))
        self.port = door.getsockname()[1]
        self.sockets: dict[int, Any] = {}
        self.server = Server(application, door, self.sockets)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        from waitress import wasyncore

        while not self.over.is_set():
            wasyncore.loop(timeout=0.05, use_poll=True, map=self.sockets, count=1)
            self.server.look_after(time.time())

    def end(self) -> None:
        """End it, and close all its connections."""
        self.over.set()
        self.thread.join()
        self.server.leave()
        for channel in list(self.server.active_channels.values()):
            channel.handle_close()
        for pool in self.server.pools.values():
            pool.shutdown()
        self.server.trigger.close()

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Return a new connection on which something was sent."""
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=self.patience)
        wire.sendall(sent)
        return wire

    def answered(self, path: bytes = b"") -> bytes:
        """Return the first bytes of an answer."""
        with self.connect(ASKED % path) as wire:
            return wire.recv(1000)


@pytest.fixture
def working(db: Any) -> Iterator[Callable[[Any], Working]]:
    """Return what starts workers; they end with the test."""
    started: list[Working] = []

    def start(application: Any) -> Working:
        started.append(Working(application))
        return started[-1]

    yield start
    for each in started:
        each.end()


def _hello(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def _ended(wire: socket.socket) -> bool:
    """Tell whether the other end closes the connection, whatever it sends before."""
    try:
        while wire.recv(1 << 16):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nX-Slow: ",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
    ],
)
def test_a_request_must_come_whole_in_time(
    working: Callable[[Any], Working], monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Headers or a body that come a little at a time, without a pause, are cut off in the end."""
    monkeypatch.setattr("winosmith.web._worker.SENT_WITHIN", 0.5)
    worker = working(_hello)
    with worker.connect(begun) as wire:
        wire.settimeout(0.05)
        until = time.monotonic() + worker.patience
        while not _ended(wire):
            assert time.monotonic() < until
            try:
                wire.sendall(b"x")
            except OSError:
                break
    assert worker.answered().startswith(OK)


def test_who_waits_longest_makes_room(working: Callable[[Any], Working]) -> None:
    """With all connections taken by requests that never end a newcomer is answered."""
    worker = working(_hello)
    worker.server.most = 20
    begun = [worker.connect(b"GET / HTTP/1.1\r\n") for _ in range(20)]
    assert worker.answered().startswith(OK)
    assert _ended(begun[0])
    begun[-1].settimeout(0.2)
    assert not _ended(begun[-1])
    for each in begun:
        each.close()


def test_a_reader_who_takes_nothing_is_let_go(
    working: Callable[[Any], Working], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that nobody takes is thrown away in time, and its maker is closed."""
    monkeypatch.setattr("winosmith.web._worker.TAKEN_WITHIN", 0.5)
    monkeypatch.setattr("winosmith.web._worker.AHEAD", 1 << 20)
    closed = threading.Event()

    def endless(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        try:
            while True:
                yield bytes(1 << 16)
        finally:
            closed.set()

    worker = working(endless)
    with worker.connect(ASKED % b"download/problems.jsonl"):
        assert closed.wait(worker.patience)


@pytest.mark.parametrize(
    ("path", "more"), [(b"", b""), (b"/", b""), (b"", b"HX-Request: true\r\n")]
)
def test_slow_readers_of_long_files_make_room_for_each_other(
    working: Callable[[Any], Working], monkeypatch: pytest.MonkeyPatch, path: bytes, more: bytes
) -> None:
    """However they ask, more readers than threads keep nobody from a file, a page or a check."""
    monkeypatch.setattr("winosmith.web._worker.AHEAD", 1 << 18)
    size = 1 << 24

    def long(environ: Any, start_response: Any) -> Any:
        if environ["PATH_INFO"] != "/download/a":
            return _hello(environ, start_response)
        start_response("200 OK", [("Content-Length", str(size))])
        return (bytes(1 << 16) for _ in range(size >> 16))

    worker = working(long)
    asked = b"GET /%sdownload/a HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path, more)
    slow = [worker.connect(asked) for _ in range(3 * THREADS["downloads"])]
    until = time.monotonic() + worker.patience
    while len(worker.server.readers) < READERS:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert worker.answered().startswith(OK)
    line, live = KINDS["live"]
    with worker.connect(line + b"Host: localhost\r\n" + live + b"\r\n") as wire:
        assert wire.recv(1000).startswith(OK)
    with worker.connect(ASKED % b"download/a") as wire:
        taken = 0
        while taken < size:
            part = wire.recv(1 << 20)
            assert part
            taken += len(part)
    for each in slow:
        each.close()


def test_a_file_is_not_held_in_memory(working: Callable[[Any], Working]) -> None:
    """Of what a reader has not taken, the worker asks its maker for `AHEAD` and little more."""
    made = 0

    def endless(environ: Any, start_response: Any) -> Iterator[bytes]:
        nonlocal made
        start_response("200 OK", [])
        while True:
            made += 1 << 16
            yield bytes(1 << 16)

    worker = working(endless)
    with worker.connect(ASKED % b"download/problems.jsonl"):
        until = time.monotonic() + worker.patience
        while made < AHEAD:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)
        assert made < AHEAD + (1 << 22)


def test_what_slow_readers_leave_fills_no_disk(
    working: Callable[[Any], Working], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of answers that wait for readers a worker holds `HELD`; then the first are let go."""
    size = 1 << 23
    monkeypatch.setattr("winosmith.web._worker.HELD", 3 * size)

    def big(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(size))])
        return [bytes(size)]

    worker = working(big)
    slow = [worker.connect(ASKED % b"problems/") for _ in range(8)]
    until = time.monotonic() + worker.patience
    while worker.server.answered < len(slow) or len(worker.server.active_channels) > 4:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert _ended(slow[0])
    for each in slow:
        each.close()


KINDS = {
    "pages": (b"GET /problems/ HTTP/1.1\r\n", b""),
    "forms": (b"POST /write/ HTTP/1.1\r\n", b"Content-Length: 0\r\n"),
    "downloads": (b"GET /download/problems.jsonl HTTP/1.1\r\n", b""),
    "live": (b"POST /write/x/check/ HTTP/1.1\r\n", b"HX-Request: true\r\n"),
    "health": (b"GET /healthz HTTP/1.1\r\n", b""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_holds_up_itself_alone(working: Callable[[Any], Working], kind: str) -> None:
    """With all threads for one kind of request taken, those of every other kind are answered."""
    gate = threading.Event()
    held: list[str] = []
    of_kind = KINDS[kind][0].split()[1].decode()

    def waits(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == of_kind:
            held.append(of_kind)
            gate.wait()
        return _hello(environ, start_response)

    def asked(name: str) -> bytes:
        line, more = KINDS[name]
        return line + b"Host: localhost\r\n" + more + b"\r\n"

    worker = working(waits)
    taken = [worker.connect(asked(kind)) for _ in range(THREADS[kind] + 1)]
    try:
        until = time.monotonic() + worker.patience
        while len(held) < (1 if kind == "downloads" else THREADS[kind]):
            assert time.monotonic() < until
            time.sleep(0.01)
        for other in KINDS.keys() - {kind}:
            with worker.connect(asked(other)) as wire:
                assert wire.recv(1000).startswith(OK), other
    finally:
        gate.set()
        for wire in taken:
            assert wire.recv(1000).startswith(OK)
            wire.close()


def test_every_address_of_a_long_file_is_known(site: Any) -> None:
    """Whatever streams an answer is answered by the threads for long files."""
    site.activate()
    assert LONG.search(reverse("read:file", args=["problems.jsonl"]))
    assert LONG.search(reverse("families:file", args=["a.jsonl"]))
    assert LONG.search(reverse("rounds:file", args=["one", "kept.jsonl"]))
    assert LONG.search(reverse("moderate:log_csv"))
    assert not LONG.search(reverse("read:download"))
    assert not LONG.search(reverse("rounds:progress", args=["one"]))


@pytest.mark.long
def test_slow_clients_stop_no_page(trials: None) -> None:
    """With 60 clients who send or read a byte a second everybody else is answered."""
    from crowd.scenario import place
    from crowd.slow import Slowness, door, notice, served

    how = Slowness(clients=60, people=3, seconds=3, warm=2, public=600, workers=2)
    with place("sqlite") as where, served(where, how) as site, door("direct", site) as url:
        found = notice(url, site.people, how)
    assert (found.unanswered, found.errors) == (0, [])
    assert len(found.times) > 10
