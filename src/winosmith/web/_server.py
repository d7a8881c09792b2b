"""The server: gunicorn, set up in code, with workers that share one loaded application."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from winosmith.errors import InputError, Interrupted, OutputError
from winosmith.extras import require
from winosmith.web import _tidying
from winosmith.web._loading import load_all
from winosmith.web._site import Site

if TYPE_CHECKING:
    from winosmith.web.predict.watching import Leash

__all__ = ["THREADS", "address_of", "listen", "room_for", "run", "usual_workers"]

THREADS = 16
"""Requests that one worker has at once; they mostly wait for slow browsers, or for their turn."""

CROWDED = 8
"""Requests at once from which on a worker keeps no connection open. Whoever has one would stay with
that worker, however busy it is, and pass those who wait for one; so all come anew, in order."""

IDLE = 500
"""Connections that a worker keeps open for people who read or think, at most."""

LEFT_FREE = 10
"""Connections of a PostgreSQL server that stay free for `winosmith admin` and its own admin, beside
one for each model of the site."""

GRACE = 30
"""Seconds that requests get to end when the server stops."""

RECYCLED_AFTER = 50_000
"""Requests after which a worker makes place for a new one, so that no leak can grow for ever."""


def usual_workers() -> int:
    """Return one worker a core and one more: while one waits for the disk, another computes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) + 1


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; port 0 takes a free one.

    Raises:
        InputError: the address is none of this machine's.
        OutputError: the port is taken, or may not be used.
    """
    host = host.strip("[]")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror}; give an address of this machine") from (
            None
        )
    family, kind, protocol, _, address = found[0]
    door = socket.socket(family, kind, protocol)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind(address)
        door.listen(2048)
    except OSError as error:
        door.close()
        raise OutputError(_why_not(error, host, port)) from None
    return door


def _why_not(error: OSError, host: str, port: int) -> str:
    import errno

    hints = {
        errno.EADDRINUSE: "something listens there already; stop it, or choose another --port",
        errno.EACCES: "ports below 1024 are for root; choose another --port, behind a proxy",
        errno.EADDRNOTAVAIL: "this machine has no such address; choose another --host",
    }
    return f"{host}:{port}: {hints.get(error.errno or 0, error.strerror)}"


def address_of(door: socket.socket) -> str:
    """Return the address under which a socket is reached, as a browser takes it."""
    host, port = door.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def room_for(workers: int) -> int:
    """Return how many threads each worker gets, so that the database has a connection for each.

    Raises:
        InputError: a PostgreSQL server takes fewer connections than there are workers.
    """
    from django.conf import settings
    from django.db import connection

    if connection.vendor != "postgresql":
        return THREADS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int"
        )
        most = int(cursor.fetchone()[0]) - LEFT_FREE - len(settings.RULES.models)
    connection.close()
    if most < workers:
        raise InputError(
            f"the PostgreSQL server has room for {max(most, 0)} connections and there are "
            f"{workers} workers; lower --workers, or raise max_connections in postgresql.conf"
        )
    return min(THREADS, most // workers)


def run(site: Site, door: socket.socket, *, workers: int, threads: int = THREADS) -> None:
    """Serve the site until a signal comes: TERM ends it, Ctrl-C raises `Interrupted`.

    Requests that are being answered are answered first. Django is set up already.

    Raises:
        Interrupted: after Ctrl-C; nothing is lost.
        InputError: the workers can't start.
    """
    require("gunicorn", "web")
    from django.db import connections

    from winosmith.web.predict.registry import announce
    from winosmith.web.predict.watching import Leash

    announce(site.rules.models)
    connections.close_all()  # a worker must not inherit a connection
    server = _arbiter(site, door, workers, threads, Leash.new())
    master = os.getpid()
    try:
        server.run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
        if os.getpid() != master:
            _leave(code)
        if code:
            raise InputError("the server could not start its workers; the reason is above") from (
                None
            )
    _into_one_file(site)
    if server.interrupted:
        raise Interrupted(
            "Whatever was acknowledged is on the disk; "
            f"start again with: winosmith serve {site.folder}"
        )


def _into_one_file(site: Site) -> None:
    """Put what SQLite keeps beside its file into it, for those who copy that file alone."""
    if site.database.url is None:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect(site)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _connect(site: Site) -> sqlite3.Connection:
    return sqlite3.connect(site.database.path, timeout=5)


def _leave(code: int) -> NoReturn:
    """End a worker here: what its parent has open or planned is not its to finish."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _arbiter(site: Site, door: socket.socket, workers: int, threads: int, leash: Leash) -> Any:
    """Return gunicorn's master process, in which Ctrl-C asks the workers to finish first."""
    from gunicorn.app.base import BaseApplication
    from gunicorn.arbiter import Arbiter

    class Application(BaseApplication):
        def load_config(self) -> None:
            for name, value in _settings(site, door, workers, threads, leash).items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)

        def load(self) -> Any:
            from winosmith.web.wsgi import application

            load_all()
            gc.freeze()  # what all workers share stays shared
            return application

    class Server(Arbiter):
        interrupted = False

        def handle_int(self) -> None:
            self.interrupted = True
            self.handle_term()

        def stop(self, graceful: bool = True) -> None:
            leash.drop()  # models end at once: nobody waits for one
            super().stop(graceful)

    return Server(Application())


def _settings(
    site: Site, door: socket.socket, workers: int, threads: int, leash: Leash
) -> dict[str, Any]:
    """Return gunicorn's settings; those that its version does not know are left out."""
    memory = Path("/dev/shm")  # noqa: S108 - gunicorn makes files of its own there
    return {
        "bind": f"fd://{door.detach()}",
        "workers": workers,
        "threads": threads,
        "worker_connections": threads + IDLE,
        "worker_class": _worker(),
        "preload_app": True,
        "proc_name": "winosmith",
        "timeout": 60,
        "graceful_timeout": GRACE,
        "keepalive": 15,
        "max_requests": RECYCLED_AFTER,
        "max_requests_jitter": RECYCLED_AFTER // 10,
        "limit_request_line": 4094,
        "limit_request_fields": 60,
        "limit_request_field_size": 8190,
        "worker_tmp_dir": str(memory) if os.access(memory, os.W_OK) else None,
        "accesslog": None,
        "errorlog": "-",
        "loglevel": "warning",
        "logger_class": _logger(),
        "post_worker_init": partial(_as_worker, site, leash),
        "control_socket_disable": True,
        "chdir": str(site.folder),
    }


def _worker() -> type[Any]:
    """Return a worker that takes whoever comes while it has threads, however many only listen."""
    from gunicorn.workers.gthread import ThreadWorker

    class Fair(ThreadWorker):
        @property
        def worker_connections(self) -> int:
            return int(self.cfg.threads) + len(self.keepalived_conns)

        @worker_connections.setter
        def worker_connections(self, _: int) -> None: ...

        @property
        def max_keepalived(self) -> int:
            return IDLE if self.nr_conns - len(self.keepalived_conns) <= CROWDED else 0

        @max_keepalived.setter
        def max_keepalived(self, _: int) -> None: ...

    return Fair


def _as_worker(site: Site, leash: Leash, worker: Any) -> None:
    """Leave Ctrl-C to the master: it reaches the whole group, and would cut off requests here."""
    from winosmith.web.predict import watching
    from winosmith.web.rounds import watching as rounds

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tidying.start(site.folder)
    watching.start(site, leash)
    rounds.start(site, leash)


def _logger() -> type[Any]:
    """Return a logger that tells nobody's address: clients that send nonsense are not told of."""
    from gunicorn.glogging import Logger

    class Discreet(Logger):
        def warning(self, msg: str, *args: Any, **kwargs: Any) -> None:
            if "from ip=" not in str(msg):
                super().warning(msg, *args, **kwargs)

    return Discreet
