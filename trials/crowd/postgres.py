"""A temporary PostgreSQL server, for tests, trials and benchmarks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PS = shutil.which("ps") or "/bin/ps"


def find_postgres() -> Path | None:
    """Return the folder of PostgreSQL's programs, from the path or Debian's location."""
    for found in (
        shutil.which("initdb"),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[::-1],
    ):
        if found and Path(found).resolve().with_name("postgres").exists():
            return Path(found).resolve().parent
    return None


class PostgresServer:
    """A server on a loopback port, without passwords.

    Attributes:
        settings: the server's settings, as for `postgres -c`; read at each start.
        environment: variables for its processes, in addition to the caller's.
    """

    def __init__(self, programs: Path, folder: Path, settings: Mapping[str, str] | None = None):
        self.programs, self.folder = programs, folder
        self.settings = dict(settings or {})
        self.environment: dict[str, str] = {}
        # PostgreSQL refuses to run as root; Debian's package creates a user for it.
        self.user = "postgres" if os.name == "posix" and os.geteuid() == 0 else None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database on the server."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create(self, database: str, like: str = "template1") -> str:
        """Create a database as a copy of another without connections; return its address."""
        made = f'CREATE DATABASE "{database}" TEMPLATE "{like}"'
        self._run("psql", "-q", "-d", self.url(), "-c", made)
        return self.url(database)

    def make(self) -> None:
        """Create the server's files."""
        if self.user:
            shutil.chown(self.folder, self.user)
        data = str(self.folder / "data")
        self._run(
            "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"
        )

    def start(self) -> None:
        """Start the server, and wait for a response; after a kill, it recovers committed data."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = (self.folder / "log").open("ab")
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *options]
        self.process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            user=self.user,
            cwd="/",
            env={**os.environ, **self.environment},
            start_new_session=True,
        )
        log.close()
        ready = [str(self.programs / "pg_isready"), "-q", "-d", self.url()]
        while self.process.poll() is None:
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(
            f"PostgreSQL did not start:\n{(self.folder / 'log').read_text()[-2000:]}"
        )

    def kill(self) -> None:
        """Kill all processes of the server simultaneously, like a power cut (kill -9).

        All have ended when this function returns; `start` recovers committed data.
        """
        if self.process is None or self.process.poll() is not None:
            return
        # A stopped server can't start another process.
        self.process.send_signal(signal.SIGSTOP)
        others = _children(self.process.pid)
        for pid in (*others, self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        while any(_is_running(pid) for pid in others):
            time.sleep(0.005)

    def stop(self, patience: float = 30.0) -> None:
        """Stop the server, close all connections, and wait for the end.

        Args:
            patience: seconds to wait until all is written; then the server ends at once
                ("immediate shutdown"), and the next start recovers committed data.
        """
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            capture_output=True,
            text=True,
            user=self.user,
            cwd="/",
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stderr}")


def _children(parent: int) -> list[int]:
    """Return the ids of a process's children; PostgreSQL's have their own sessions."""
    done = subprocess.run(
        [PS, "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = (line.split() for line in done.stdout.splitlines())
    return [int(pid) for pid, ppid in pairs if int(ppid) == parent]


def _is_running(pid: int) -> bool:
    """Return whether a process is running and is not a zombie."""
    done = subprocess.run(
        [PS, "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in ("", "Z")


@contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer]:
    """Run a server in a new folder; stop it and remove the folder at the end.

    Args:
        settings: the server's settings, by name (`fsync="off"`).

    Raises:
        FileNotFoundError: PostgreSQL is not installed.
        RuntimeError: the server can't be started; the message contains its log.
    """
    programs = find_postgres()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="winosmith-postgres-"))
    server = PostgresServer(programs, folder, settings)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
