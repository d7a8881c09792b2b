"""Functions for commands: prepare, serve, back up and restore a site.

Before a site is served, it needs tables, static files, settings, texts and an admin. A folder has
at most one server at a time, because a server locks its folder. When the server ends, the kernel
releases the lock.

The server consists of forked processes that share one loaded application and one listening socket.
They run waitress, which reads a request completely before it passes the request to a thread, and
buffers a response until the client has received it. So a client that sends or reads one byte per
second occupies a connection but not a thread.
"""

from __future__ import annotations

import errno
import gc
import io
import logging
import multiprocessing
import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from hashlib import sha256
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winosmith import __version__
from winosmith.errors import InputError, Interrupted, OutputError, require
from winosmith.locks import FileLock, read_lock
from winosmith.outputs import atomic_write
from winosmith.parallel import count_processors
from winosmith.web._backup import Manifest, backup, restore
from winosmith.web._rules import render_settings
from winosmith.web._site import Site

if TYPE_CHECKING:
    from winosmith.web.jobs import Child

__all__ = [
    "Manifest",
    "backup",
    "choose_worker_count",
    "get_browser_url",
    "get_first_admin_path",
    "listen",
    "lock_site",
    "open_site",
    "prepare",
    "read_last_url",
    "restore",
    "run",
    "store_url",
]

STATIC_DIGEST = "gathered.txt"
"""File in the static folder that contains a digest of the collected source files."""

MIGRATION_LOCK = 0x77696E6F
"""Key ("wino") of the PostgreSQL advisory lock under which a server creates or migrates tables."""


def prepare(site: Site) -> None:
    """Prepare a site for serving; repeated calls take almost no time.

    The tables are created, or migrated to this version. Static files are collected once per
    version. `site.toml` is written at the first start, with every setting commented out.
    """
    write_settings(site.folder)
    site.activate()
    with _convert_database_errors(site):
        _migrate()
        _check_key(site, first=True)
    _collect_static_files()


def open_site(site: Site) -> Site:
    """Set up Django for a command, even while a server is running, and return the site."""
    site.activate()
    if site.database.url is None and not site.database.path.exists():
        raise InputError(
            f"{site.folder} contains no site yet ({site.database.path.name} is missing); start it "
            f"once with: winosmith serve {site.folder}"
        )
    with _convert_database_errors(site):
        if _needs_migration():
            raise InputError(
                f"the tables of {site.database.location} are from an older version; start "
                f"`winosmith serve {site.folder}` once to migrate them"
            )
        _check_key(site)
    return site


def _check_key(site: Site, *, first: bool = False) -> None:
    """Reject a key that does not match the stored digest; with `first`, store a missing digest."""
    from winosmith.web._lock import writing
    from winosmith.web.people.models import SiteKey, make_digest

    digest, rows = make_digest("site", "key"), SiteKey.objects.all()
    found = rows.first()
    if found is None and first:
        with writing():
            found, _new = rows.get_or_create(pk=1, defaults={"digest": digest})
    if found is not None and found.digest != digest:
        raise InputError(
            f"{site.folder / 'secret'} is not the key of {site.database.location}; another key "
            "would change every pseudonym. Restore the file from the folder that served this "
            "database, or from its backup (tar -xOf BACKUP secret)"
        )


def write_settings(folder: Path) -> None:
    path = folder / "site.toml"
    if not path.exists():
        with atomic_write(path) as file:
            file.write(render_settings())


@contextmanager
def _convert_database_errors(site: Site) -> Iterator[None]:
    from django.db import OperationalError

    try:
        yield
    except OperationalError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        hint = "check the folder's permissions and the free disk space"
        if site.database.url:
            hint = "check the address, and that the server is running and the database exists"
        raise InputError(
            f"the database {site.database.location} can't be used: {reason}; {hint}"
        ) from None


def _needs_migration() -> bool:
    """Return whether the tables need a migration; raise InputError if they are too new."""
    from django.apps import apps
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    known = set(executor.loader.disk_migrations)
    ours = {config.label for config in apps.get_app_configs()}
    newer = sorted(
        key for key in executor.loader.applied_migrations if key[0] in ours and key not in known
    )
    if newer:
        raise InputError(
            f"the database was written by a newer version of winosmith ({'.'.join(newer[0])}); "
            f"install that version instead of {__version__}, or restore a backup of this one"
        )
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _migrate() -> None:
    from django.core.management import call_command
    from django.core.management.sql import emit_post_migrate_signal
    from django.db import connection

    try:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        if not connection.introspection.table_names():
            _create_tables()
        if _needs_migration():
            call_command("migrate", interactive=False, verbosity=0)
        else:  # like `migrate`, this adds missing initial texts and checks the search index
            emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    finally:
        connection.close()  # this also releases the lock


def _create_tables() -> None:
    """Create the tables of a new site and record all migrations as applied, in one transaction.

    Migrations would take four times as long to create the same tables. If the process were killed
    between a migration and its record, no later start could migrate the database.
    """
    from django.apps import apps
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader
    from django.db.migrations.recorder import MigrationRecorder

    done = MigrationRecorder.Migration
    with connection.schema_editor() as editor:
        for model in (done, *apps.get_models()):
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        names = MigrationLoader(None).graph.nodes
        done.objects.bulk_create(done(app=app, name=name) for app, name in names)


def _collect_static_files() -> None:
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders
    from django.core.management import call_command

    mark = Path(settings.STATIC_ROOT) / STATIC_DIGEST
    digest = sha256(__version__.encode())
    for finder in get_finders():
        for name, storage in sorted(finder.list([]), key=lambda found: found[0]):
            about = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    fingerprint = digest.hexdigest()
    if mark.exists() and mark.read_text("ascii").strip() == fingerprint:
        return
    call_command(
        "collectstatic",
        interactive=False,
        verbosity=0,
        ignore_patterns=["redoc.*"],  # 5 MB of django-ninja that this site does not use
        stdout=io.StringIO(),
    )
    with atomic_write(mark) as file:
        file.write(fingerprint + "\n")


def get_first_admin_path(minutes: int) -> str | None:
    """Return the path of a sign-up link for the first admin; None if the site has an admin.

    Earlier links that this function created stop working.
    """
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.people.accounts import invite
    from winosmith.web.people.models import Invitation, Person

    if Person.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    with writing():
        earlier = Invitation.objects.filter(is_superuser=True, made_by=None, person=None, used=None)
        earlier.update(used=timezone.now())
        return invite("admin", minutes)


LOCK = "server.lock"

CLAIM_PATIENCE = 10.0
"""Seconds to wait for the lock. The processes of a killed server end within about a second."""

SPARE_CONNECTIONS = 10
"""Number of PostgreSQL connections reserved for `winosmith admin` and the database's administrator,
in addition to one connection for each model of the site."""

CONNECTIONS = 20
"""Maximum number of PostgreSQL connections per server process: one for each thread that answers
requests, and a few for background work."""


def lock_site(folder: Path) -> FileLock:
    """Lock the site's folder until this process and its children have ended."""
    until = time.monotonic() + CLAIM_PATIENCE
    while (lock := FileLock.acquire(folder / LOCK)) is None:
        holder = _read_server_process(folder).get("process")
        # The processes of a killed server end soon; a running server keeps the lock.
        if _is_running(holder) or time.monotonic() > until:
            raise InputError(
                f"{folder} is already served by process {holder or 'unknown'}; use that server, "
                f"or stop it first{f' (kill {holder})' if holder else ''}"
            )
        time.sleep(0.1)
    lock.write_note({"process": os.getpid()})
    return lock


def store_url(lock: FileLock, url: str) -> None:
    lock.write_note({"process": os.getpid(), "address": url})


def read_last_url(folder: Path) -> str | None:
    return _read_server_process(folder).get("address")


def _read_server_process(folder: Path) -> dict[str, Any]:
    _held, note = read_lock(folder / LOCK)
    return note if isinstance(note, dict) else {}


def _is_running(process: int | None) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # it belongs to another user
    return True


BIND_ERRORS = {
    errno.EADDRINUSE: "the port is in use; stop the other program, or choose another `port=`",
    errno.EACCES: "only root may use ports below 1024; choose another `port=`, behind a proxy",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose another `host=`",
}


def listen(host: str, port: int) -> socket.socket:
    host = host.strip("[]")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(
            f"the address {host!r} can't be used: {error.strerror}; give an address of this "
            "machine as `host=`"
        ) from (None)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = BIND_ERRORS.get(error.errno or 0, error.strerror)
        raise OutputError(f"{host}:{port}: {reason}") from None
    return listener


def get_browser_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def choose_worker_count(requested: int | None) -> int:
    """Return the number of server processes: the requested number, or one per core.

    The default is lower if the database allows too few connections for all threads.
    """
    from django.conf import settings
    from django.db import connection

    workers = requested or count_processors()
    if connection.vendor != "postgresql":
        return workers
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int"
        )
        room = int(cursor.fetchone()[0]) - SPARE_CONNECTIONS - len(settings.RULES.models)
    connection.close()
    most = room // CONNECTIONS
    if most < (requested or 1):
        raise InputError(
            f"the PostgreSQL server allows {max(room, 0)} more connections, but {requested or 1} "
            f"workers may need {(requested or 1) * CONNECTIONS}; lower `workers=`, or raise "
            "max_connections in postgresql.conf"
        )
    return min(workers, most)


THREADS = 16
"""Number of threads per process that answer requests."""

MAX_CLIENTS = 2000
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
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(MAX_CLIENTS, max(20, (limit - 200) // 3))


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
    from waitress import create_server

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


def run(site: Site, listener: socket.socket, *, workers: int, run_jobs: bool = True) -> None:
    """Serve the site until SIGTERM or Ctrl-C, after which current requests are finished.

    Django must already be set up. After Ctrl-C, this function raises Interrupted.
    """
    require("waitress", "web")
    from django.db import connections

    from winosmith.web import _lock
    from winosmith.web.jobs import make_worker_process
    from winosmith.web.predict.asking import set_current_models

    set_current_models(site.rules.models)
    preload()
    gc.freeze()  # shared memory stays shared
    connections.close_all()  # a worker must not inherit a connection
    jobs = [make_worker_process(site)] if run_jobs else []
    limit = raise_connection_limit()
    answer = partial(answer_requests, listener, limit, _lock.limit_lock_waits)
    interrupted = supervise([answer] * workers, jobs)
    if site.database.url is None:
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(site.database.path, timeout=5)) as database,
        ):
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if interrupted:
        raise Interrupted(
            f"All acknowledged writes are on disk; start again with: winosmith serve {site.folder}"
        )


def preload() -> None:
    """Load the code and data that all processes share."""
    from django.db import connection
    from django.template import engines
    from django.template.utils import get_app_template_dirs
    from django.urls import get_resolver

    from winosmith import practice
    from winosmith.solve import WordAssociation  # noqa: F401 - loaded before the fork
    from winosmith.web import wsgi  # noqa: F401 - loaded before the fork

    get_resolver().reverse_dict  # noqa: B018 - this loads every view
    practice.read_handwritten()
    engine = engines["django"].engine
    for folder in map(Path, (*engine.dirs, *get_app_template_dirs("templates"))):
        if Path(__file__).parent in folder.parents:
            for path in folder.rglob("*.html"):
                engine.get_template(str(path.relative_to(folder)))
    connection.close()  # a worker must not inherit one
