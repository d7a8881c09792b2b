"""AFLite with large data and many workers: clear errors, and equal results from unusual arrays."""

import os
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winosmith import debias
from winosmith.debias._rows import gather_rows
from winosmith.errors import DataError, InputError, OutputError

SIZES: dict[str, Any] = {"train_size": 120, "cutoff": 15, "ensemble_size": 8}


def made(rows: int = 400, columns: int = 12) -> tuple[Any, Any]:
    """Return rows of small integers, about half of which are predictable, and their labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, (rows, columns))
    guessable = rng.random(rows) < 0.5
    return X, np.where(guessable, X[:, 0] > 0, rng.random(rows) < 0.5).astype(int)


def bytes_of(result: debias.AfliteResult) -> bytes:
    """Return the phases and scores of all rows, as bytes."""
    return result.removal_phase.tobytes() + result.scores.tobytes()


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (lambda X: X.astype(np.int16), "int16"),
        (lambda X: X.astype(np.float64), "float64"),
        (lambda X: X.astype(np.float16), "float16"),
        (lambda X: X.astype(">f4"), "float32 in another byte order"),
        (lambda X: np.asfortranarray(X.astype(np.float32)), "float32, not contiguous"),
        (lambda X: np.repeat(X.astype(np.float32), 2, axis=0)[::2], "float32, not contiguous"),
    ],
)
def test_arrays_of_other_types_are_converted_with_a_log_entry(odd, told, caplog):
    X, y = made()
    with caplog.at_level("INFO", logger="winosmith"):
        plain = bytes_of(debias.aflite(X.astype(np.float32), y, **SIZES))
        assert "it is converted" not in caplog.text
        assert bytes_of(debias.aflite(odd(X), y, **SIZES)) == plain
    assert f"X has type {told}; it is converted 2048 rows at a time" in caplog.text


def test_read_only_array_is_accepted_and_unchanged():
    X, y = made()
    X = X.astype(np.float32)
    X.flags.writeable = False
    before = X.tobytes()
    assert bytes_of(debias.aflite(X, y, **SIZES)) == bytes_of(debias.aflite(X.copy(), y, **SIZES))
    assert X.tobytes() == before


@pytest.mark.parametrize("region", [1, 1 << 12, 1 << 26])
def test_rows_are_gathered_in_the_requested_order(tmp_path, region, monkeypatch):
    monkeypatch.setattr("winosmith.debias._rows.REGION_BYTES", region)
    monkeypatch.setattr("winosmith.debias._rows.READ_ROWS", 7)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 5)).astype(np.float16)
    order = rng.permutation(len(X))
    matrix = np.zeros((len(X), 16), np.float32)
    gather_rows(X, order, matrix)
    assert np.array_equal(matrix[:, :5], X[order].astype(np.float32))
    assert not matrix[:, 5:].any()


def test_scratch_space_is_checked_before_reading_rows(tmp_path):
    shape = 1_000, 1_000_000_000
    path = tmp_path / "X.npy"
    path.touch()
    try:
        os.truncate(path, 2 * shape[0] * shape[1])  # a sparse file, which takes no disk space
    except OSError:
        pytest.skip("the file system knows no files of that size")
    X = np.memmap(path, np.float16, "r", shape=shape)
    with pytest.raises(OutputError, match=r"takes 3,814,697 MiB, but only .* are free; choose"):
        debias.aflite(X, np.arange(1_000) % 2, **SIZES)


FULL = """
import resource, sys
import numpy as np
from winosmith import debias
from winosmith.errors import OutputError
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    debias.aflite(np.eye(300), np.arange(300) % 2, train_size=100, cutoff=9, scratch=sys.argv[1])
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room can't be taken beforehand")
def test_full_disk_is_reported_with_its_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "File too large; choose a folder with" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_os_errors_of_callbacks_are_passed_on(tmp_path):
    def on_phase(_: debias.Phase) -> None:
        raise OSError("mine")

    with pytest.raises(OSError, match=r"^mine$"):
        debias.aflite(*made(), scratch=tmp_path, on_phase=on_phase, **SIZES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_dead_worker_is_reported_with_the_progress(tmp_path):
    X, y = made()
    checkpoint, context = tmp_path / "run.npz", get_context("spawn")
    whole = debias.aflite(X, y, **SIZES)
    with ProcessPoolExecutor(2, mp_context=context) as executor:

        def on_phase(phase: debias.Phase) -> None:
            if phase.number == 1:
                executor.submit(os._exit, 1)

        with pytest.raises(InputError, match=r"workers died.*[2-9] phases are complete; with"):
            debias.aflite(
                X, y, executor=executor, on_phase=on_phase, checkpoint=checkpoint, **SIZES
            )
    again = debias.aflite(X, y, checkpoint=checkpoint, **SIZES)
    assert bytes_of(again) == bytes_of(whole)
    assert len(whole.phases) > 3


class Elsewhere(Executor):
    """An executor of unknown size whose workers see other files than this process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the task in a process whose temporary folder was emptied."""
        import pickle

        code = (
            "import pickle, shutil, sys\n"
            "fn, args = pickle.load(sys.stdin.buffer)\n"
            "try: fn((args[0][0], '/nowhere/basis.npy'))\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], input=pickle.dumps((fn, args)), capture_output=True,
            check=True,
        )  # fmt: skip
        future: Future[Any] = Future()
        future.set_exception(DataError(done.stdout.decode()))
        return future


def test_workers_without_access_to_the_files_are_refused():
    with pytest.raises(
        DataError, match=r"can't read /nowhere/basis\.npy; .* set scratch to a folder"
    ):
        debias.aflite(*made(), executor=Elsewhere(), **{**SIZES, "ensemble_size": 2})


LITTLE = """
import resource, sys
import numpy as np
from winosmith import debias
warm = np.random.default_rng(0).normal(size=(300, 8)), np.arange(300) % 2
debias.aflite(*warm, train_size=100, cutoff=300, ensemble_size=2)
X = np.load(sys.argv[1], mmap_mode="r")
lines = open("/proc/self/status").read().splitlines()
data = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) << 10
limit = data + X.nbytes * 3 // 4
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if len(sys.argv) > 2:
    X = np.array(X)
y = np.arange(len(X)) % 2
sizes = {"train_size": 300, "cutoff": len(y), "ensemble_size": 4}
found = debias.aflite(X, y, checkpoint=sys.argv[1] + ".checkpoint", **sizes)
print(len(found.phases))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit is Linux's")
def test_no_step_copies_the_rows_of_a_file(tmp_path):
    """A run succeeds with a memory limit below the 200 MB of its rows.

    The limit is effective: the same run fails if a copy of the rows is made on purpose.
    """
    X = np.lib.format.open_memmap(
        tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(250_000, 200)
    )
    X[:] = np.random.default_rng(0).normal(size=200)
    X[:, 0] = np.arange(len(X))
    X.flush()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", LITTLE, str(tmp_path / "X.npy")]
    held = {"capture_output": True, "text": True, "env": environment}
    assert subprocess.run(command, check=True, **held).stdout == "1\n"
    copied = subprocess.run([*command, "copy"], check=False, **held)
    assert "MemoryError" in copied.stderr
