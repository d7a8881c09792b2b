"""Locks and leashes: what keeps the processes of models apart, and on time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from winosmith.web.predict.process import Doing, Leash, is_held, look, take


def test_a_lock_is_had_by_one_and_says_what_is_done(tmp_path: Path) -> None:
    """While one has the lock nobody else gets it, and everybody reads what is written there."""
    hold = take(tmp_path, "one")
    assert hold is not None
    hold.say(Doing(7, 2, 1.5, until=9.0, rows=list(range(1000))))
    assert take(tmp_path, "one") is None
    assert is_held(tmp_path, "one")
    assert not is_held(tmp_path, "two")
    assert look(tmp_path, "one") == Doing(7, 2, 1.5, until=9.0, rows=list(range(300)))
    hold.say(Doing(7))
    assert look(tmp_path, "one").rows == []
    hold.close()
    assert not is_held(tmp_path, "one")


def test_a_lock_is_handed_on_to_a_process_without_a_gap(tmp_path: Path) -> None:
    """A process that inherits the open file has the lock when its parent closes it, for life."""
    hold = take(tmp_path, "one")
    assert hold is not None
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[hold.number]
    )
    hold.close()
    assert take(tmp_path, "one") is None
    child.kill()
    child.communicate()
    again = take(tmp_path, "one")
    assert again is not None
    again.close()


def test_a_file_that_says_nothing_is_read_as_nothing(tmp_path: Path) -> None:
    """A lock file that was never written, or is damaged, says that nothing is done."""
    assert look(tmp_path, "one") == Doing()
    hold = take(tmp_path, "one")
    assert hold is not None
    assert hold.said() == Doing()
    os.pwrite(hold.number, b'{"process": ', 0)
    assert hold.said() == Doing()
    hold.close()


def test_a_leash_ends_with_its_last_writer() -> None:
    """A leash has ended as soon as the server let go of it, and not before."""
    leash = Leash.new()
    assert not leash.ended(0.01)
    leash.drop()
    leash.drop()
    assert leash.ended(1)
    os.close(leash.end)
