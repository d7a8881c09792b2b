"""AFLite with large or mapped data and many workers: equal results, and clear errors."""

import logging
import os
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.debias.rows import as_bytes
from winosmith import debias
from winosmith.debias._rows import gather_rows, map_scratch_matrix
from winosmith.errors import DataError, InputError, OutputError

SIZES: dict[str, Any] = {"train_size": 120, "cutoff": 15, "ensemble_size": 8}


def made(rows: int = 400, kind: Any = np.float32) -> tuple[Any, Any]:
    """Return rows of small integers, about half of which are predictable, and their labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, (rows, 12))
    guessable = rng.random(rows) < 0.5
    y = np.where(guessable, X[:, 0] > 0, rng.random(rows) < 0.5).astype(int)
    return X.astype(kind), y


def map_rows(folder: Path, kind: str = "<f4") -> tuple[Any, Any]:
    """Write the rows to a file; return them, mapped as its users would, and their labels."""
    X, y = made(kind=kind)
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r+"), y


def make_read_only(X: Any) -> Any:
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (lambda X: X.astype(np.int16), "int16"),
        (lambda X: X.astype(int).tolist(), "int64"),
        (lambda X: X.astype(np.float64), "float64"),
        (lambda X: X.astype(np.float16), "float16"),
        (lambda X: X.astype(">f4"), "float32 in another byte order"),
        (np.asfortranarray, "float32, not contiguous"),
        (lambda X: np.repeat(X, 2, axis=0)[::2], "float32, not contiguous"),
        (make_read_only, None),
    ],
)
def test_arrays_of_other_types_are_converted_with_a_log_entry(odd, told, caplog):
    """The given array is unchanged, and needs no scratch file."""
    X, y = made()
    given = odd(X.copy())
    with caplog.at_level("INFO", logger="winosmith"):
        plain = as_bytes(debias.aflite(X, y, **SIZES))
        assert "it is converted" not in caplog.text
        assert as_bytes(debias.aflite(given, y, **SIZES)) == plain
    if told:
        assert f"X has type {told}; it is converted 2048 rows at a time" in caplog.text
    else:
        assert "it is converted" not in caplog.text
    assert "the rotated copy of the rows takes" not in caplog.text
    assert np.array_equal(given, odd(X.copy()))


@pytest.mark.parametrize("kind", ["<f4", "<f2", "<f8", ">f4", "<i2"])
@pytest.mark.parametrize("with_ids", [False, True])
def test_mapped_file_gives_the_same_bytes_as_an_array(tmp_path, kind, with_ids):
    X, y = map_rows(tmp_path, kind)
    ids = np.random.default_rng(1).permutation(len(y)).tolist() if with_ids else None
    held = debias.aflite(np.array(X), y, ids=ids, **SIZES)
    from_file = debias.aflite(X, y, ids=ids, scratch=tmp_path, **SIZES)
    assert as_bytes(held) == as_bytes(from_file)
    assert len(held.removed[0]) == 15


def test_scratch_file_is_announced_and_removed(tmp_path, caplog):
    """A view of a mapped file is mapped, too."""
    X, y = map_rows(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    with caplog.at_level(logging.INFO, logger="winosmith"):
        debias.aflite(
            np.asarray(X)[::2, :7],
            y[::2],
            scratch=scratch,
            on_phase=lambda _: seen.extend(path.name for path in scratch.rglob("*")),
            **SIZES,
        )
    assert "the rotated copy of the rows takes" in caplog.text
    assert f"MiB in {scratch}" in caplog.text
    assert "basis.npy" in seen
    assert list(scratch.iterdir()) == []


def test_reported_scratch_size_is_that_of_the_rows(tmp_path, caplog, monkeypatch):
    shape = 300_000, 4
    with caplog.at_level(logging.INFO, logger="winosmith"), map_scratch_matrix(shape, tmp_path):
        assert f"takes 5 MiB in {tmp_path}" in caplog.text
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=shape)
    y = np.arange(len(X)) % 2
    with pytest.raises(OutputError, match=r"nowhere.* a folder with 5 MiB free for scratch"):
        debias.aflite(X, y, scratch=tmp_path / "nowhere", **SIZES)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 3 * 2**20}))
    with pytest.raises(OutputError, match="takes 5 MiB, but only 3 MiB are free; choose another"):
        debias.aflite(X, y, scratch=tmp_path, **SIZES)


def test_nan_in_a_mapped_file_is_reported_with_its_place(tmp_path):
    X, y = map_rows(tmp_path)
    X[377, 3] = np.nan
    with pytest.raises(DataError, match="row 377 of X contains nan in column 3"):
        debias.aflite(X, y, **SIZES)


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

        chosen = {"executor": executor, "on_phase": on_phase, "checkpoint": checkpoint, **SIZES}
        with pytest.raises(InputError, match=r"workers died.*[2-9] phases are complete; with"):
            debias.aflite(X, y, **chosen)
    again = debias.aflite(X, y, checkpoint=checkpoint, **SIZES)
    assert as_bytes(again) == as_bytes(whole)
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
limit = data + (100 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if len(sys.argv) > 2:
    X = np.array(X)
y = np.arange(len(X)) % 2
sizes = {"train_size": 300, "cutoff": len(y), "ensemble_size": 4}
found = debias.aflite(X, y, ids=range(len(y)), checkpoint=sys.argv[1] + ".checkpoint", **sizes)
print(len(found.phases))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit is Linux's")
def test_no_step_copies_the_rows_of_a_file(tmp_path):
    """A run over 240 MB of rows succeeds with 100 MiB of memory, also if they are in float16.

    The limit is effective: the same run fails if a copy of the rows is made on purpose.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    for kind, copied in ((np.float16, False), (np.float32, False), (np.float32, True)):
        X = np.lib.format.open_memmap(
            tmp_path / "X.npy", mode="w+", dtype=kind, shape=(300_000, 200)
        )
        X[:] = np.random.default_rng(0).normal(size=200)
        X[:, 0] = np.arange(len(X)) % 1000
        X.flush()
        command = [sys.executable, "-c", LITTLE, str(tmp_path / "X.npy"), *["copy"] * copied]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        result = ("MemoryError" in done.stderr, done.stdout)
        assert result == (copied, "" if copied else "1\n"), (kind, done.stderr)
        (tmp_path / "X.npy.checkpoint").unlink(missing_ok=True)
