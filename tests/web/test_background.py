"""Work in the background: when it is started, by how many at once, and that a failure is no end."""

from __future__ import annotations

import fcntl
import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction

from winosmith.web._background import Background


class Work:
    """Counts how often it was done, and by which threads."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def __call__(self) -> None:
        """Do it."""
        self.threads.append(threading.current_thread().name)


@pytest.fixture
def work(database: Any) -> Work:
    """Return what is done."""
    return Work()


def _background(work: Any, every: float = 0.0) -> Any:
    return Background("counting", every, work)


def _done(background: Any) -> None:
    background.start_when_due()
    background.wait()


def test_work_is_done_in_a_thread_when_it_is_due(work: Work) -> None:
    """A request starts it, and not again before the time is over."""
    background = _background(work, every=600)
    _done(background)
    _done(background)
    assert work.threads == ["counting"]
    background.due = 0.0
    _done(background)
    assert work.threads == ["counting"] * 2


def test_while_it_is_done_it_is_not_started_again(database: Any) -> None:
    """However many requests come, one thread of the process is at work."""
    begun, over, times = threading.Event(), threading.Event(), []

    def work() -> None:
        times.append(1)
        begun.set()
        assert over.wait(60)

    background = _background(work)
    background.start_when_due()
    assert begun.wait(60)
    thread = background.thread
    background.start_when_due()
    assert background.thread is thread
    over.set()
    background.wait()
    assert times == [1]


def test_within_a_transaction_nothing_is_started(work: Work) -> None:
    """A thread would not see what the transaction has written."""
    background = _background(work)
    with transaction.atomic():
        _done(background)
        assert work.threads == []
    _done(background)
    assert work.threads == ["counting"]


def _hold(path: Path, held: Any, over: Any) -> None:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held.set()
        over.wait(60)


def test_one_process_of_the_site_does_it_at_a_time(work: Work, database: Any) -> None:
    """While another process holds the lock nothing is done here; after it, when it is due again."""
    context = multiprocessing.get_context("spawn")
    held, over = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(database.folder / "counting.lock", held, over))
    other.start()
    assert held.wait(60)
    background = _background(work)
    _done(background)
    assert work.threads == []
    over.set()
    other.join()
    _done(background)
    assert work.threads == ["counting"]


def test_a_failure_is_logged_and_the_work_tried_again(
    database: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """What fails ends neither the process nor the work."""
    times = []

    def work() -> None:
        times.append(1)
        raise OSError("the disk is gone")

    background = _background(work)
    _done(background)
    _done(background)
    assert len(times) == 2
    assert "counting failed" in caplog.text
    assert "the disk is gone" in caplog.text


def test_the_connection_of_the_thread_is_closed(database: Any) -> None:
    """A thread that has read the database leaves no connection behind."""
    made: list[Any] = []

    def work() -> None:
        wrapper = connections["default"]
        wrapper.ensure_connection()
        made.append((wrapper.connection, wrapper))

    background = _background(work)
    _done(background)
    ((opened, wrapper),) = made
    assert opened is not None
    assert wrapper.connection is None
