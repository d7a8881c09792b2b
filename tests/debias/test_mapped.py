"""Memory-mapped rows: the same bytes as from an array, with little memory."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from winosmith import debias
from winosmith.debias._rows import map_scratch_matrix
from winosmith.errors import DataError, OutputError

SIZES = {"train_size": 200, "cutoff": 30, "ensemble_size": 8}


def written(folder: Path, kind: str, rows: int = 900) -> tuple[Path, NDArray[np.int64]]:
    """Write rows, about half of which are predictable; return the file and the labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20))
    guessable = rng.random(rows) < 0.5
    y = np.where(guessable, X[:, 0] > 0, rng.random(rows) < 0.5).astype(np.int64)
    path = folder / "X.npy"
    np.save(path, (10 * X).astype(kind))
    return path, y


def map_rows(path: Path) -> Any:
    """Map the file as its users would."""
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("kind", ["<f4", "<f2", "<f8", ">f4", "<i2"])
@pytest.mark.parametrize("with_ids", [False, True])
def test_mapped_file_gives_the_same_bytes_as_an_array(tmp_path, kind, with_ids):
    path, y = written(tmp_path, kind)
    order = np.random.default_rng(1).permutation(len(y))
    more = {**SIZES, "ids": order.tolist()} if with_ids else SIZES
    held = debias.aflite(np.load(path), y, **more)
    from_file = debias.aflite(map_rows(path), y, scratch=tmp_path, **more)
    assert held.removal_phase.tobytes() == from_file.removal_phase.tobytes()
    assert held.scores.tobytes() == from_file.scores.tobytes()
    assert len(held.removed[0]) == 30


def test_scratch_file_is_announced_and_removed(tmp_path, caplog):
    path, y = written(tmp_path, "<f4")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    with caplog.at_level(logging.INFO, logger="winosmith"):
        debias.aflite(
            map_rows(path),
            y,
            scratch=scratch,
            on_phase=lambda _: seen.extend(path.name for path in scratch.rglob("*")),
            **SIZES,
        )
    assert f"MiB in {scratch}" in caplog.text
    assert "basis.npy" in seen
    assert list(scratch.iterdir()) == []


def test_view_of_a_mapped_file_stays_in_the_file(tmp_path, caplog):
    path, y = written(tmp_path, "<f4")
    with caplog.at_level(logging.INFO, logger="winosmith"):
        debias.aflite(np.asarray(map_rows(path))[::2, :7], y[::2], train_size=100, cutoff=20)
    assert "the rotated copy of the rows takes" in caplog.text


def test_array_in_memory_needs_no_scratch_file(tmp_path, caplog):
    path, y = written(tmp_path, "<f4")
    with caplog.at_level(logging.INFO, logger="winosmith"):
        debias.aflite(np.load(path), y, **SIZES)
    assert "rotated copy" not in caplog.text


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
    path, y = written(tmp_path, "<f4")
    rows = np.load(path, mmap_mode="r+")
    rows[777, 3] = np.nan
    rows.flush()
    with pytest.raises(DataError, match="row 777 of X contains nan in column 3"):
        debias.aflite(map_rows(path), y, **SIZES)


MEMORY = """
import sys, threading
import numpy as np
from winosmith import debias

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

def run(X, y):
    debias.aflite(X, y, train_size=400, cutoff=len(y), ensemble_size=4, ids=range(len(y)))

run(np.random.default_rng(0).normal(size=(900, 8)), np.arange(900) % 2)  # what libraries take
X = np.load(sys.argv[1], mmap_mode="r")
before = peak = anonymous()
over = threading.Event()

def watch():
    global peak
    while not over.wait(0.01):
        peak = max(peak, anonymous())

threading.Thread(target=watch, daemon=True).start()
run(X, np.arange(len(X)) % 2)
over.set()
print(peak - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_memory_does_not_grow_with_a_mapped_file(tmp_path, kind):
    """A run over 240 MB or more of rotated rows uses less than 100 MiB of its own memory."""
    path = tmp_path / "X.npy"
    rows, columns = 240_000, 256
    X = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows, columns))
    block = np.random.default_rng(0).normal(size=(4_000, columns)).astype(kind)
    for first in range(0, rows, len(block)):
        X[first : first + len(block)] = block
    X.flush()
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, path],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    assert float(done.stdout) < 100
