"""A commit is on disk before its response is sent; a site that syncs late is detected."""

import re
from typing import Any

import pytest

from tests.conftest import absent
from trials.crowd.postgres import find_postgres

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("trials")]

LATE = {"synchronous_commit": "off", "wal_writer_delay": "10s"}
"""Settings with which PostgreSQL acknowledges a commit before it is on disk."""

WRITE, BEGIN, RETURN, FLUSH, SEND, BESIDE = range(6)


def _observe_site(database: str, fault: str = "", **settings: str) -> list[Any]:
    """Return the state of the disk at the responses to three twins and three votes."""
    from crowd.scenario import make_place
    from crowd.syncs import can_watch, observe_answers

    if not can_watch():
        absent("strace is not installed, or may not look at other processes")
    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    with make_place(database, **settings) as where:
        found = observe_answers(where, count=3, fault=fault)
    assert all(answer.status == {"twin": 302, "vote": 200}[answer.kind] for answer in found)
    assert sorted(answer.kind for answer in found) == ["twin"] * 3 + ["vote"] * 3
    return found


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def test_write_is_on_disk_before_it_is_acknowledged(database: str) -> None:
    assert [answer for answer in _observe_site(database) if not answer.safe] == []


def test_sqlite_without_syncs_is_detected() -> None:
    """It runs with synchronous=OFF."""
    found = _observe_site("sqlite", "unsynced")
    assert not any(answer.safe for answer in found)
    assert {name for answer in found for name in answer.unsynced} == {"site.sqlite3-wal"}


@pytest.mark.postgres
def test_postgresql_with_late_syncs_is_detected() -> None:
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
def test_answer_is_safe_if_a_sync_began_after_the_last_write(
    order: tuple[int, ...], safe: bool
) -> None:
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
def test_later_writes_of_the_log_writer_are_ignored(order: tuple[int, ...], safe: bool) -> None:
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
