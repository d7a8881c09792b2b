"""The tests' PostgreSQL server always stops, and keeps committed data."""

import os
import signal
import subprocess

import pytest

from tests.conftest import absent
from trials.crowd.postgres import PS, PostgresServer, find_postgres, postgres_server


def _find_process(server: PostgresServer, name: str) -> int:
    """Return the id of the server's process with a name."""
    assert server.process is not None
    shown = subprocess.run([PS, "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return next(
        int(pid) for pid, of, said in rows if int(of) == server.process.pid and name in said
    )


@pytest.mark.postgres
@pytest.mark.long
def test_postgresql_stops_although_its_checkpointer_hangs() -> None:
    """It starts again with its databases."""
    if find_postgres() is None:
        absent("PostgreSQL is not installed")
    with postgres_server() as server:
        server.create("kept")
        os.kill(_find_process(server, "checkpointer"), signal.SIGSTOP)
        server.stop(patience=0.5)
        assert server.process is not None
        assert server.process.poll() is not None
        server.start()
        server.create("copy", like="kept")
