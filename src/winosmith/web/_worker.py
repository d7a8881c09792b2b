"""A worker of the server: one thread reads and writes for all its clients, others answer.

Waitress reads each request whole before a thread sees it, and keeps what a slow reader has not
taken yet; so nobody who sends or reads a byte a second holds a thread. What it lacks is here: a
time within which a whole request must have come, room for newcomers, and threads of each kind.
"""

from __future__ import annotations

import os
import re
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from winosmith.web import _lock

SENT_WITHIN = 30.0
"""Seconds within which a request must have come whole, its body and all, from its first byte on."""

TAKEN_WITHIN = 60.0
"""Seconds in which a reader must take something; with `KERNEL` bytes that is 1 to 2 kB a second."""

IDLE = 150.0
"""Seconds that a connection without a request is kept: longer than proxies keep theirs (Caddy 120),
or they would send a form on one that is closed at that moment."""

CONNECTIONS = 2000
"""Connections of one worker. One more than that, and whoever keeps it waiting longest goes."""

FILES = 16_384
"""Files that a process asks to have open at most: a connection may hold three."""

KERNEL = 1 << 17
"""Bytes of an answer that the kernel holds for one connection, of which it counts twice as many."""

AHEAD = 1 << 24
"""Bytes of an answer that are held for one reader; the thread of a longer one waits for them."""

HELD = 1 << 30
"""Bytes of answers that a worker holds for all readers together: they lie on a disk. Beyond that,
whoever asked first is let go."""

IN_MEMORY = 1 << 16
"""Bytes of a request or an answer that are held in memory; the rest lies in a temporary file."""

THREADS = {"pages": 3, "forms": 3, "downloads": 4, "live": 1, "health": 1}
"""Threads of one worker: for pages, for what may write, for long files (of which one is put
together at a time), for checks while somebody types, and for monitors. Whoever waits for a lock of
the database, or reads slowly, holds up their own kind only; each kind is answered in order."""

LONG = re.compile(
    r"^/+(download/.|moderate/log\.csv|families/data/|rounds/round/[^/]+/(?!progress/).)"
)
"""The addresses of long files, as they are sent: slashes before the first word count as one."""

READERS = THREADS["downloads"] - 1
"""Readers of long files who may keep a thread waiting; one more, and whoever has taken nothing for
the longest time is cut off."""

GRACE = 28.0
"""Seconds that a worker which is to end gives its clients, a little less than the master gives it.
"""


def allow_connections() -> None:
    """Raise the number of files that this process and its children may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Channel(HTTPChannel):
    """A connection, and since when its client keeps us waiting."""

    began = queued = 0.0

    def received(self, data: bytes) -> Any:
        """Take bytes of a request, and note when its first ones came."""
        if self.request is None:
            self.began = time.time()
        return super().received(data)

    def service(self) -> None:
        """Answer a request; its writes wait for the database no longer than since it came."""
        turn = self.server.turn if kind_of(self.requests[0]) == "downloads" else nullcontext()
        with turn, _lock.since(time.time() - self.queued):
            super().service()

    def write_soon(self, data: Any) -> Any:
        """Hold a part of an answer until the client takes it; wait where too much is held."""
        held = self.total_outbufs_len > self.adj.outbuf_high_watermark
        if not held or kind_of(self.requests[0]) != "downloads":
            return super().write_soon(data)
        with self.server.waiting(self):
            return super().write_soon(data)

    def handle_error(self) -> None:
        """Close, and log what failed without the client's address."""
        self.logger.exception("a connection failed")
        self.handle_close()

    def waits(self) -> tuple[float, float] | None:
        """Return since when we wait for the client, and for how long at most; None while we do not.

        The times are those of the clock.
        """
        if self.total_outbufs_len:
            return self.last_activity, TAKEN_WITHIN
        if self.requests:
            return None
        if self.request is not None:
            return self.began, SENT_WITHIN
        return self.last_activity, IDLE


class Server(TcpWSGIServer):
    """Waitress on a socket that listens already."""

    channel_class = Channel

    def __init__(self, application: Any, door: Any, sockets: dict[int, Any]) -> None:
        from django.conf import settings

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.most = CONNECTIONS
        if files != resource.RLIM_INFINITY:
            self.most = min(CONNECTIONS, max(20, (files - 200) // 3))
        adjustments = Adjustments(
            sockets=[door],
            backlog=2048,
            connection_limit=self.most + 100,
            cleanup_interval=1 << 30,
            max_request_header_size=1 << 15,
            max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1,
            inbuf_overflow=IN_MEMORY,
            outbuf_overflow=IN_MEMORY,
            outbuf_high_watermark=AHEAD,
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            ident="",
        )
        # Else it would grow, and a reader who takes little would seem to take nothing.
        own = [(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL)]
        adjustments.socket_options = [*adjustments.socket_options, *own]
        self.answered = 0
        self.pools = {name: ThreadedTaskDispatcher() for name in THREADS}
        for name, count in THREADS.items():
            self.pools[name].set_thread_count(count)
        self.turn = threading.Lock()
        self.readers: set[Channel] = set()
        self.readers_lock = threading.Lock()
        about = (door.family, door.type, door.proto, door.getsockname())
        super().__init__(
            application,
            sockets,
            True,
            door,
            dispatcher=self.pools["pages"],
            adj=adjustments,
            bind_socket=False,
            sockinfo=about,
        )

    def add_task(self, task: Channel) -> None:
        """Let a thread of its kind answer a request."""
        task.queued = time.time()
        self.answered += 1
        self.pools[kind_of(task.requests[0])].add_task(task)

    def handle_accept(self) -> None:
        """Take a connection; where there are too many, close that of whom we wait for longest."""
        super().handle_accept()
        if len(self.active_channels) > self.most:
            waits = ((each.waits(), each) for each in self.active_channels.values())
            longest = min(
                ((wait[0], each) for wait, each in waits if wait), key=lambda found: found[0]
            )
            longest[1].handle_close()

    def look_after(self, now: float) -> None:
        """Close the connections of those who were too slow, or for whom too much is held."""
        for channel in list(self.active_channels.values()):
            wait = channel.waits()
            if wait and now > sum(wait):
                channel.handle_close()
        readers = [each for each in self.active_channels.values() if each.total_outbufs_len]
        held = sum(each.total_outbufs_len for each in readers)
        for channel in sorted(readers, key=lambda each: each.began):
            if held <= HELD:
                break
            held -= channel.total_outbufs_len
            channel.handle_close()

    @contextmanager
    def waiting(self, reader: Channel) -> Iterator[None]:
        """Let a thread wait for a reader, and others go on; of too many the slowest is let go."""
        with self.readers_lock:
            self.readers.add(reader)
            if len(self.readers) > READERS:
                slowest = min(self.readers, key=lambda each: each.last_activity)
                self.readers.discard(slowest)
                self.trigger.pull_trigger(slowest.handle_close)
        self.turn.release()
        try:
            yield
        finally:
            self.turn.acquire()
            with self.readers_lock:
                self.readers.discard(reader)

    def leave(self) -> None:
        """Take no more connections: other workers do."""
        self.accepting = False
        self.del_channel()
        self.socket.close()

    def close_idle(self) -> bool:
        """Close the connections on which nothing is on its way; tell whether any is left."""
        for channel in list(self.active_channels.values()):
            if not (channel.requests or channel.request or channel.total_outbufs_len):
                channel.handle_close()
        return bool(self.active_channels)


def kind_of(request: Any) -> str:
    """Return the name of the threads that answer a request, one of `THREADS`."""
    from winosmith.web.wsgi import HEALTH

    if request.error:
        return "live"
    if request.path == HEALTH:
        return "health"
    reads = request.command in ("GET", "HEAD")
    if reads and LONG.search(request.path):
        return "downloads"  # whatever headers say: a slow reader must hold up no check
    if "HX_REQUEST" in request.headers and "HX_BOOSTED" not in request.headers:
        return "live"
    return "pages" if reads else "forms"


class Buffering(Worker):
    """A process of gunicorn's in which waitress answers."""

    server: Server | None = None

    def run(self) -> None:
        """Answer until the master says that it is enough, or is gone."""
        sockets: dict[int, Any] = {}
        self.server = server = Server(self.wsgi, self.sockets[0].sock, sockets)
        self._loop(server, sockets, lambda: self.alive and server.answered < self.max_requests)
        server.leave()
        until = time.monotonic() + GRACE
        self._loop(server, sockets, lambda: server.close_idle() and time.monotonic() < until)

    def _loop(self, server: Server, sockets: dict[int, Any], goes_on: Callable[[], bool]) -> None:
        looked = 0.0
        while goes_on() and self.ppid == os.getppid():
            wasyncore.loop(timeout=1, use_poll=True, map=sockets, count=1)
            now = time.time()
            if now >= looked + 1:
                looked = now
                self.notify()
                server.look_after(now)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End when what is being answered is answered."""
        super().handle_exit(sig, frame)
        if self.server is not None:
            self.server.pull_trigger()
