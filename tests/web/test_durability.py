"""Trials of durability: acknowledged writes are on disk, and survive kills and power cuts.

Sites that sync late, or not at all, are detected. The tests' PostgreSQL server keeps its data, too.
"""

import os
import random
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import absent
from tests.web.conftest import DATABASES
from trials.crowd.postgres import PS, PostgresServer, find_postgres, postgres_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800), pytest.mark.usefixtures("trials")]


def _need(database: str) -> None:
    """Skip the test if the database is not installed."""
    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")


@pytest.fixture
def cuts(trials: None) -> None:
    """Skip the test if power cuts can't be simulated."""
    from crowd.powercut import can_simulate

    if not can_simulate():
        absent("power cuts need Linux and gcc")


def _kill_under_load(database: str, fault: str) -> Any:
    """Kill the workers and the server of a site and cut its power; return what was found."""
    from crowd.killing import Plan, torture_site
    from crowd.scenario import make_place

    _need(database)
    with make_place(database, cut=True) as where:
        plan = Plan(kills=4, between=5, writers=3, judges=4, moderators=1, fault=fault)
        return torture_site(where, plan)


@pytest.mark.usefixtures("cuts")
@pytest.mark.parametrize("database", DATABASES)
def test_acknowledged_writes_survive_kills_and_power_cuts(database):
    found = _kill_under_load(database, "")
    assert found.kills == {"worker": 2, "server": 1, "power": 1}
    assert found.acknowledged >= 25
    assert found.errors == []
    assert found.destroyed == ""
    assert (found.missing, found.twice, found.otherwise, found.vote_faults) == (0, 0, 0, 0)


@pytest.mark.usefixtures("cuts")
def test_site_without_syncs_loses_writes():
    """SQLite runs with synchronous=OFF, so the kills above do test the syncs."""
    found = _kill_under_load("sqlite", "unsynced")
    assert found.missing or found.destroyed


@pytest.mark.usefixtures("cuts")
def test_power_cut_loses_only_unsynced_writes(tmp_path):
    from crowd.powercut import watch_folder

    code = (
        "import os, sys; f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY);"
        "os.write(f, b'synced\\n'); os.fsync(f); os.write(f, b'lost\\n'); os.pwrite(f, b'S', 0)"
    )
    with watch_folder(tmp_path) as watched:
        file = tmp_path / "file"
        command = [sys.executable, "-c", code, str(file)]
        subprocess.run(command, env=watched.environment(), check=True)
        assert file.read_bytes() == b"Synced\nlost\n"
        dice = random.Random(0)  # noqa: S311
        lost = watched.cut(dice, keep=0.0)
        assert (lost.files, lost.unsynced, lost.writes) == (1, 2, 2)
        assert file.read_bytes() == b"synced\n"
        assert watched.cut(dice, keep=0.0).writes == 0


LATE = {"synchronous_commit": "off", "wal_writer_delay": "10s"}
"""Settings with which PostgreSQL acknowledges a commit before it is on disk."""

WRITE, BEGIN, RETURN, FLUSH, SEND, BESIDE = range(6)


def _observe_site(database: str, fault: str = "", **settings: str) -> list[Any]:
    """Return the state of the disk at the responses to three twins and three votes."""
    from crowd.scenario import make_place
    from crowd.syncs import can_watch, observe_answers

    if not can_watch():
        absent("strace is not installed, or may not look at other processes")
    _need(database)
    with make_place(database, **settings) as where:
        found = observe_answers(where, count=3, fault=fault)
    assert all(answer.status == {"twin": 302, "vote": 200}[answer.kind] for answer in found)
    assert sorted(answer.kind for answer in found) == ["twin"] * 3 + ["vote"] * 3
    return found


@pytest.mark.parametrize("database", DATABASES)
def test_write_is_on_disk_before_it_is_acknowledged(database):
    assert [answer for answer in _observe_site(database) if not answer.safe] == []


def test_sqlite_without_syncs_is_detected():
    """It runs with synchronous=OFF."""
    found = _observe_site("sqlite", "unsynced")
    assert not any(answer.safe for answer in found)
    assert {name for answer in found for name in answer.unsynced} == {"site.sqlite3-wal"}


@pytest.mark.postgres
def test_postgresql_with_late_syncs_is_detected():
    """It runs with synchronous_commit=off."""
    assert not all(answer.safe for answer in _observe_site("postgresql", **LATE))


STEPS = (
    '7  pwrite64(9</s/db-wal>, "x"..., 4096, 0) = 4096',
    "7  fdatasync(9</s/db-wal> <unfinished ...>",
    "7  <... fdatasync resumed>)         = 0",
    "8  fsync(9</s/db-wal>)              = -1 EIO (Input/output error)",
    '7  sendto(5<socket:[1]>, "HTTP/1.1 302 Found\\r\\n"..., 90, 0, NULL, 0) = 90',
    '9  pwrite64(9</s/db-wal>, "x"..., 4096, 0) = 4096',
)
"""Lines of strace: thread 7 handles the request, thread 9 is the log's own writer."""


@pytest.mark.parametrize(
    ("order", "safe"),
    [
        ((WRITE, BEGIN, RETURN, SEND), True),
        ((WRITE, SEND), False),
        ((SEND,), False),
        ((WRITE, FLUSH, SEND), False),
        ((WRITE, BEGIN, SEND, RETURN), False),
        ((BEGIN, WRITE, RETURN, SEND), False),
        ((WRITE, BEGIN, RETURN, WRITE, SEND), False),
        ((WRITE, SEND, BEGIN, RETURN), False),
    ],
)
def test_answer_is_safe_if_a_sync_began_after_the_last_write(order, safe):
    """A sync that failed, has not returned, or began before a write does not count."""
    assert _is_safe(order) == safe


@pytest.mark.parametrize(
    ("order", "safe"),
    [
        ((WRITE, BEGIN, RETURN, BESIDE, SEND), True),
        ((BESIDE, BEGIN, RETURN, SEND), True),
        ((WRITE, BESIDE, SEND), False),
        ((BESIDE, SEND), False),
        ((BEGIN, RETURN, WRITE, BESIDE, SEND), False),
    ],
)
def test_later_writes_of_the_log_writer_are_ignored(order, safe):
    """PostgreSQL's log writer may write again between a commit's sync and its response."""
    assert _is_safe(order, asked_only=True) == safe


def _is_safe(order: tuple[int, ...], **how: bool) -> bool:
    """Return whether an answer to a vote is safe after these steps."""
    from crowd.syncs import Ledger

    asked = (
        '7  recvfrom(6<socket:[2]>, "Q\\0\\0\\0\\vCOMMIT\\0", 8192, 0, NULL, NULL) = 12',
        '6  recvfrom(5<socket:[1]>, "POST /judge/answer/ HTTP/1.1\\r\\n"..., 8192, 0) = 700',
    )
    lines = [*asked, *(STEPS[step] for step in order)]
    (answer,) = Ledger(re.compile("-wal$"), **how).read(lines).answers
    assert (answer.kind, answer.status) == ("vote", 302)
    return bool(answer.safe)


def _find_process(server: PostgresServer, name: str) -> int:
    """Return the id of the server's process with a name."""
    assert server.process is not None
    shown = subprocess.run([PS, "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return next(
        int(pid) for pid, of, said in rows if int(of) == server.process.pid and name in said
    )


@pytest.mark.postgres
def test_postgresql_stops_although_its_checkpointer_hangs():
    """It starts again with its databases."""
    _need("postgresql")
    with postgres_server() as server:
        server.create("kept")
        os.kill(_find_process(server, "checkpointer"), signal.SIGSTOP)
        server.stop(patience=0.5)
        assert server.process is not None
        assert server.process.poll() is not None
        server.start()
        server.create("copy", like="kept")
