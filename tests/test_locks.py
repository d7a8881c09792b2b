"""A lock file has one holder and contains its note; the lock is free when the holder ends."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from winosmith.locks import FileLock, read_lock

HOLDER = """
import sys
from pathlib import Path
from winosmith.locks import FileLock

lock = FileLock.acquire(Path(sys.argv[1]))
lock.write_note({"at": "work"})
print("locked", flush=True)
sys.stdin.read()
"""


def test_lock_has_one_holder_until_that_process_is_killed(tmp_path):
    """All processes can read the holder's note; the kernel releases the lock."""
    path = tmp_path / "locks" / "work.lock"
    assert read_lock(path) == (False, None)
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        assert FileLock.acquire(path) is None
        assert read_lock(path) == (True, {"at": "work"})
        holder.kill()
    assert read_lock(path) == (False, {"at": "work"})
    lock = FileLock.acquire(path)
    assert lock is not None
    assert read_lock(path) == (True, {"at": "work"})  # the note of the previous holder
    lock.write_note(7)
    assert read_lock(path) == (True, 7)
    lock.close()
    assert read_lock(path) == (False, 7)


def test_reading_a_lock_does_not_prevent_acquiring_it(tmp_path):
    """Readers hold a shared lock for a moment."""
    path = tmp_path / "work.lock"
    path.touch()
    looking = threading.Event()
    looking.set()

    def watch() -> None:
        while looking.is_set():
            read_lock(path)

    with ThreadPoolExecutor(2) as executor:
        watching = [executor.submit(watch) for _ in range(2)]
        try:
            for _ in range(200):
                lock = FileLock.acquire(path)
                assert lock is not None
                lock.close()
        finally:
            looking.clear()
    assert [each.result() for each in watching] == [None, None]
