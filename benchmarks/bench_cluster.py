"""Compare AFLite on two threads with two workers of a Dask cluster on the same machine.

    python benchmarks/bench_cluster.py

The cluster's cost is the additional time per phase, and once before the first phase. With the time
of a phase on one thread, it determines the number of workers from which a cluster pays.
"""

from __future__ import annotations

import contextlib
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from bench_aflite import EnoughPhasesError, make_rows  # noqa: E402 - the limits come first

from winosmith import cluster, debias  # noqa: E402

SIZES = [(2_558, 512, 544), (20_000, 256, 4_255), (47_000, 1_024, 10_000)]
PHASES = 6


def time_phases(X: object, y: object, train_size: int, executor: object) -> tuple[float, float]:
    """Return the seconds before the first phase, in the first phase, and in a later phase."""
    seconds: list[float] = []

    def count(phase: debias.Phase) -> None:
        seconds.append(phase.seconds)
        if len(seconds) == PHASES:
            raise EnoughPhasesError

    began = time.perf_counter()
    with contextlib.suppress(EnoughPhasesError):
        debias.aflite(
            X, y, train_size=train_size, cutoff=train_size // 20, executor=executor, on_phase=count
        )
    later = seconds[1:]
    return time.perf_counter() - began - sum(later), sum(later) / len(later)


def main() -> None:
    """Print the table."""
    from distributed import LocalCluster

    print("| N | d | m | threads: first, later (s) | cluster: first, later (s) | moved (MB) |")
    print("|--:|--:|--:|--:|--:|--:|")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        cluster.connect(local.scheduler_address) as executor,
    ):
        for rows, columns, train_size in SIZES:
            X, y = make_rows(rows, columns, 0)
            time_phases(X[:2_000], y[:2_000], 200, executor)  # the workers load the compiled code
            here = time_phases(X, y, train_size, None)
            there = time_phases(X, y, train_size, executor)
            moved = 2 * 4 * rows * (columns + 17) / 1e6
            print(
                f"| {rows:,} | {columns:,} | {train_size:,} | {here[0]:.2f}, {here[1]:.3f} "
                f"| {there[0]:.2f}, {there[1]:.3f} | {moved:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
