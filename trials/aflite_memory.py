"""Measure AFLite's memory with a file of 4 GB.

    python trials/aflite_memory.py                    float32 and float16, 4 GB each, three phases
    python trials/aflite_memory.py --gigabytes 40     on a machine with less memory

It writes the file and the rotated copy to the folder for temporary files (TMPDIR), and fails if the
anonymous memory grows by 1 GB or more.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from winosmith import debias

COLUMNS, BLOCK, PHASES, LIMIT = 1_024, 8_192, 3, 1_000


class EnoughPhasesError(Exception):
    """Ends a run after enough phases."""


def read_anonymous_memory() -> float:
    """Return the anonymous memory of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024 / 1e6


def write_rows(path: Path, kind: str, gigabytes: float) -> None:
    """Write random rows to the file, block by block."""
    rows = int(gigabytes * 1e9 / COLUMNS / np.dtype(kind).itemsize)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows, COLUMNS))
    rng = np.random.default_rng(0)
    for first in range(0, rows, BLOCK):
        block = X[first : first + BLOCK]
        block[:] = rng.standard_normal(block.shape, np.float32)
    X.flush()


def watch_run(path: Path) -> None:
    """Filter the file's rows for some phases, and print a row of the table."""
    X = np.load(path, mmap_mode="r")
    rng = np.random.default_rng(1)
    direction = rng.standard_normal(COLUMNS).astype(np.float32)
    y = np.empty(len(X), np.int8)
    for first in range(0, len(X), BLOCK):
        values = np.asarray(X[first : first + BLOCK], np.float32) @ direction
        y[first : first + BLOCK] = values + 10 * rng.standard_normal(len(values)) > 0
    before = peak = read_anonymous_memory()
    over, phases = threading.Event(), []

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.02):
            peak = max(peak, read_anonymous_memory())

    def count(phase: debias.Phase) -> None:
        phases.append(phase)
        if len(phases) == PHASES:
            raise EnoughPhasesError

    threading.Thread(target=watch, daemon=True).start()
    began = time.perf_counter()
    try:
        debias.aflite(X, y, ids=range(len(X)), on_phase=count)
    except EnoughPhasesError:
        over.set()
    seconds = time.perf_counter() - began
    print(
        f"| {X.dtype.name} | {len(X):,} | {X.nbytes / 1e9:.1f} | {peak - before:,.0f} "
        f"| {seconds - sum(p.seconds for p in phases):.0f} | {phases[-1].seconds:.1f} |",
        flush=True,
    )
    if peak - before >= LIMIT:
        sys.exit(f"memory grew by more than {LIMIT} MB")


def main() -> None:
    """Write each file, and measure a run over it in a separate process."""
    parser = argparse.ArgumentParser(description="AFLite over a file larger than memory")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.file is not None:
        watch_run(chosen.file)
        return
    print("| X | rows | GB | memory used (MB) | s to rotate | s a phase |")
    print("|---|-----:|---:|-----------------:|------------:|----------:|", flush=True)
    for kind in ("float32", "float16"):
        with tempfile.TemporaryDirectory(prefix="winosmith-trial-") as folder:
            path = Path(folder) / "X.npy"
            write_rows(path, kind, chosen.gigabytes)
            subprocess.run([sys.executable, __file__, "--file", path], check=True)


if __name__ == "__main__":
    main()
