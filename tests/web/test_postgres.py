"""The PostgreSQL server of tests always ends, and keeps committed data."""

import os
import signal
import subprocess

import pytest

from tests.conftest import absent
from trials.crowd.postgres import PS, PostgresServer, find_postgres, postgres_server


def _part(server: PostgresServer, name: str) -> int:
    """Return the id of one of the server's processes, by what it calls itself."""
    assert server.process is not None
    shown = subprocess.run([PS, "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return next(
        int(pid) for pid, of, said in rows if int(of) == server.process.pid and name in said
    )


@pytest.mark.postgres
@pytest.mark.long
def test_a_postgresql_that_can_not_end_in_order_ends_all_the_same() -> None:
    """With its checkpointer stopped the server ends at once, and starts with what it had."""
    if find_postgres() is None:
        absent("PostgreSQL is not installed")
    with postgres_server() as server:
        server.create("kept")
        os.kill(_part(server, "checkpointer"), signal.SIGSTOP)
        server.stop(patience=0.5)
        assert server.process is not None
        assert server.process.poll() is not None
        server.start()
        server.create("copy", like="kept")
