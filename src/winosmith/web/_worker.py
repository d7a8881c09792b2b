"""The server's processes, which run waitress and share one listening socket.

Waitress reads a request completely before it passes the request to a thread, and buffers a response
until the client has received it. So a client that sends or reads one byte per second occupies a
connection but not a thread.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from waitress import create_server

if TYPE_CHECKING:
    from winosmith.web.jobs import Child

THREADS = 16
"""Number of threads per process that answer requests."""

CONNECTIONS = 2000
"""Maximum number of connections per process; further connections wait in the kernel."""

IDLE_SECONDS = 150
"""Seconds after which an idle connection is closed. This must exceed the timeout of proxies (Caddy:
120), or a proxy may submit a form on a connection that is being closed."""

MAX_FILES = 16_384
"""Maximum number of open files that a process requests; a connection may need three files."""

MAX_BYTES_IN_MEMORY = 1 << 16
"""Maximum number of bytes of a request or response in memory; the rest is in a temporary file."""

MAX_HEADER_BYTES = 1 << 15

GRACE = 28.0
"""Maximum number of seconds for requests to finish after SIGTERM."""

ORPHAN_GRACE = 5.0
"""Maximum number of seconds for requests to finish after the parent process was killed. A new
server waits for the lock meanwhile."""

POLL_SECONDS = 0.2
"""Seconds between checks for processes that have ended."""


def raise_connection_limit() -> int:
    """Raise the limit on open files, and return the new maximum number of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(CONNECTIONS, max(20, (limit - 200) // 3))


def supervise(targets: Sequence[Callable[[], None]], children: Sequence[Child] = ()) -> bool:
    """Run a forked process for each target until SIGTERM or Ctrl-C; return whether it was Ctrl-C.

    A process that ends is replaced. At the end, all processes receive SIGTERM. Processes that still
    run after `GRACE` + 2 seconds receive SIGKILL. All processes ignore Ctrl-C, which a terminal
    sends to each of them.

    Args:
        targets: The functions that the processes call; SIGTERM ends them unless they handle it.
        children: Processes that are not forks. They are started, and restarted when they end.
    """
    received: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sign, _: received.append(sign))

    def start_process(target: Callable[[], None]) -> BaseProcess:
        process = multiprocessing.get_context("fork").Process(target=run_target, args=(target,))
        process.start()
        return process

    def run_target(target: Callable[[], None]) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if not received:  # a signal may have arrived after the fork, before the lines above
            target()

    processes = [start_process(target) for target in targets]
    while not received:
        try:
            for child in children:
                child.restart_if_ended()
            for place, process in enumerate(processes):
                if not process.is_alive():
                    processes[place] = start_process(targets[place])
        except OSError:  # no process can be started now
            logging.getLogger(__name__).exception("a server process that ended can't be replaced")
        time.sleep(POLL_SECONDS)
    for process in processes:
        process.terminate()
    until = time.monotonic() + GRACE + 2
    for child in children:
        child.stop()
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        process.kill()
    return signal.SIGINT in received


def answer_requests(
    listener: socket.socket, connections: int, prepare: Callable[[], object]
) -> None:
    """Call `prepare`, and answer HTTP requests until SIGTERM arrives or the parent process ends."""
    from django.conf import settings

    from winosmith.web.wsgi import application

    prepare()
    server = create_server(
        application,
        sockets=[listener],
        threads=THREADS,
        backlog=2048,
        connection_limit=connections,
        channel_timeout=IDLE_SECONDS,
        max_request_header_size=MAX_HEADER_BYTES,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1,
        inbuf_overflow=MAX_BYTES_IN_MEMORY,
        outbuf_overflow=MAX_BYTES_IN_MEMORY,
        clear_untrusted_proxy_headers=False,  # the site knows its proxies (people.addresses)
        log_socket_errors=False,
        ident="",
        asyncore_use_poll=True,
    )

    def finish(grace: float = GRACE) -> None:
        until = time.monotonic() + grace
        while time.monotonic() < until and any(
            channel.request or channel.requests or channel.total_outbufs_len
            for channel in [*server.active_channels.values()]
        ):
            time.sleep(0.01)
        sys.stderr.flush()
        os._exit(0)

    def close_stalled_connections() -> None:
        """Close connections whose client has read nothing from its response for `IDLE_SECONDS`.

        Waitress itself closes only idle connections without a request.
        """
        while True:
            time.sleep(IDLE_SECONDS / 10)
            for channel in [*server.active_channels.values()]:
                if channel.total_outbufs_len and channel.last_activity < time.time() - IDLE_SECONDS:
                    server.trigger.pull_trigger(channel.handle_close)

    def finish_after_parent() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            finish(ORPHAN_GRACE)

    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=finish).start())
    threading.Thread(target=finish_after_parent, daemon=True).start()
    threading.Thread(target=close_stalled_connections, daemon=True).start()
    server.run()
