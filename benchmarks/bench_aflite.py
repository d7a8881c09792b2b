"""Compare AFLite with scikit-learn: seconds, ratio, peak memory and equality of the votes.

    python benchmarks/bench_aflite.py                 8,000 rows of 256 numbers
    python benchmarks/bench_aflite.py --paper         47,000 x 1,024, n=64, m=10,000, k=500
    python benchmarks/bench_aflite.py --grid          a table over rows, columns and classifiers
    python benchmarks/bench_aflite.py --rows 5000 --columns 64 --ensemble 16

The rival is a tuned `LogisticRegression`: one process per processor, one BLAS thread each, over
centred rows. "converged" (L-BFGS, float64, tolerance 1e-7) gives the votes of the optimum, like
winosmith; "quick" (float32, default tolerance) is untuned. Both get the same partitions. Because
they are slow, they are timed on a few phases of the run (`--against`) or, in the table, on a few
classifiers of one phase; the time of the whole run is extrapolated.

`--exact` compares every vote of those phases with the optimum (Newton-Cholesky in float64,
tolerance 1e-10). The printed limit is the time for only the multiplications, at the speed of a
float32 matrix product on the same processors.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one BLAS thread per process; both distribute the classifiers instead

import numpy as np  # noqa: E402 - the limits come first
from aflite_rivals import MemoryMonitor, compare_votes, predict_held_out, time_phase, warm_up  # noqa: E402

from winosmith import debias  # noqa: E402

PROCESSORS = len(os.sched_getaffinity(0))

GRID = [
    # rows, columns, classifiers, training rows
    (2_000, 50, 64, 426),
    (5_000, 64, 64, 1_064),
    (5_000, 1_024, 64, 1_064),
    (20_000, 256, 16, 4_255),
    (20_000, 256, 64, 4_255),
    (20_000, 256, 256, 4_255),
    (20_000, 1_024, 64, 4_255),
    (47_000, 256, 64, 10_000),
    (47_000, 1_024, 64, 10_000),
    (100_000, 256, 64, 10_000),
    (200_000, 256, 64, 10_000),
    (200_000, 1_024, 64, 10_000),
]


class EnoughPhasesError(Exception):
    """Ends a timed run after enough phases."""


def make_rows(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated rows with a decaying spectrum; 90 % of them reveal their label.

    As in the paper, about a third of the rows is kept after some sixty phases.
    """
    rng = np.random.default_rng(seed)
    spread = np.arange(1, columns + 1) ** -0.3
    spread *= np.sqrt(columns / (spread**2).sum())
    mix = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    X = rng.standard_normal((rows, columns), np.float32)
    X *= spread.astype(np.float32)
    z = 2.0 * X @ rng.normal(size=columns) / np.sqrt(columns)
    X = X @ mix.astype(np.float32)
    X += rng.standard_normal(columns, np.float32)
    guessable = rng.random(rows) < 0.9
    y = np.where(guessable, z + 0.3 * rng.normal(size=rows) > 0, rng.random(rows) < 0.5)
    return X, y.astype(np.int8)


def measure_multiplications() -> float:
    """Return the number of float32 operations per second in a matrix product."""
    A = np.ones((1_536, 1_536), np.float32)
    A @ A
    began = time.perf_counter()
    A @ A
    return PROCESSORS * 2 * 1_536**3 / (time.perf_counter() - began)


def count_operations(
    phases: list[debias.Phase], columns: int, ensemble: int, train_size: int
) -> float:
    """Return the number of multiplications and additions in some phases."""
    passes = sum(phase.passes for phase in phases)
    votes = sum(phase.size for phase in phases)
    return ensemble * columns * (4.0 * passes * train_size + 2.0 * votes)


def main() -> None:
    """Run the chosen measurement."""
    parser = argparse.ArgumentParser(description="AFLite against scikit-learn")
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--ensemble", type=int, default=64)
    parser.add_argument("--train", type=int, help="default: the paper's fraction of rows")
    parser.add_argument("--cutoff", type=int, help="default: the paper's fraction of rows")
    parser.add_argument("--paper", action="store_true", help="use 47,000 rows of 1,024 numbers")
    parser.add_argument("--grid", action="store_true", help="print the table of sizes")
    parser.add_argument("--against", type=int, default=3, help="number of phases timed for rivals")
    parser.add_argument("--exact", action="store_true", help="compare every vote of those phases")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(f"{PROCESSORS} processors, load {os.getloadavg()[0]:.1f}")
    rate = measure_multiplications()
    compile_kernel()
    if chosen.grid:
        print_grid(chosen, rate)
        return
    if chosen.paper:
        chosen.rows, chosen.columns = 47_000, 1_024
    run_to_end(chosen, rate)


def compile_kernel() -> None:
    """Compile the kernel, and print the compilation time."""
    X, y = make_rows(200, 8, 0)
    began = time.perf_counter()
    debias.aflite(X, y, train_size=50, cutoff=100, ensemble_size=2)
    print(f"compiled, or loaded from the cache, in {time.perf_counter() - began:.1f} s")


def run_to_end(chosen: argparse.Namespace, rate: float) -> None:
    """Run AFLite to the end, then scikit-learn on some of its phases, and print both."""
    sizes = debias.suggest_sizes(chosen.rows)
    train_size, cutoff = chosen.train or sizes[0], chosen.cutoff or sizes[1]
    X, y = make_rows(chosen.rows, chosen.columns, chosen.seed)
    print(
        f"N={chosen.rows:,} d={chosen.columns:,} n={chosen.ensemble} m={train_size:,} k={cutoff:,}"
    )
    memory, began = MemoryMonitor(), time.perf_counter()
    result = debias.aflite(
        X,
        y,
        ids=range(chosen.rows),
        ensemble_size=chosen.ensemble,
        train_size=train_size,
        cutoff=cutoff,
        seed=chosen.seed,
    )
    ours, phases = time.perf_counter() - began, result.phases
    least = count_operations(list(phases), chosen.columns, chosen.ensemble, train_size) / rate
    print(
        f"  winosmith: {ours:.1f} s, {len(phases)} phases of {result.seconds / len(phases):.3f} s, "
        f"passes {min(p.passes for p in phases)}-{max(p.passes for p in phases)}, "
        f"{sum(p.polished for p in phases)} of {len(phases) * chosen.ensemble} fits polished; "
        f"{chosen.rows - len(result.kept):,} rows removed"
    )
    print(
        f"  limit: {least:.1f} s for the multiplications at {rate / 1e9:.0f} GFLOP/s, "
        f"{100 * least / ours:.0f} % of the time"
    )
    print(
        f"  memory: {memory.stop() / 2**20:,.0f} MiB beyond X at the peak "
        f"(RssAnon; X is {X.nbytes / 2**20:,.0f})"
    )
    if chosen.against:
        time_rivals(X, y, result, chosen, ours)


def time_rivals(
    X: np.ndarray,
    y: np.ndarray,
    result: debias.AfliteResult,
    chosen: argparse.Namespace,
    ours: float,
) -> None:
    """Time scikit-learn on some phases, and compare the rows that it would remove."""
    phases = result.phases
    numbers = sorted(set(np.linspace(0, len(phases) - 1, chosen.against).astype(int).tolist()))
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(PROCESSORS, mp_context=get_context("spawn")) as pool,
    ):
        np.save(Path(folder) / "X.npy", X - X.mean(axis=0))
        np.save(Path(folder) / "y.npy", y)
        for number in numbers:
            left = (result.removal_phase < 0) | (result.removal_phase >= number)
            np.save(Path(folder) / f"left{number}.npy", np.flatnonzero(left))
        warm_up(pool, folder, PROCESSORS)
        for kind in ("converged", "quick"):
            seconds, same = [], 0
            for number in numbers:
                taken, equal = time_phase(pool, folder, kind, number, result)
                seconds.append(taken)
                same += equal
                print(
                    f"  phase {number:>3}: scikit-learn ({kind}) {taken:.2f} s, winosmith "
                    f"{phases[number].seconds:.3f} s: {taken / phases[number].seconds:.0f} times; "
                    f"{equal} of {phases[number].removed} rows removed are the same"
                )
            whole = float(np.mean(seconds)) * len(phases)
            print(
                f"  scikit-learn ({kind}), whole run: about {whole:,.0f} s in {PROCESSORS} "
                f"processes, {whole / ours:.0f} times winosmith's; "
                f"{same} of {sum(phases[n].removed for n in numbers)} rows removed are the same"
            )
        if chosen.exact:
            for number in numbers:
                print(f"  phase {number:>3}: {compare_votes(pool, folder, number, X, y, result)}")


def print_grid(chosen: argparse.Namespace, rate: float) -> None:
    """Print a table of the time for one phase with winosmith and scikit-learn, by size."""
    print("|       N |     d |   n |      m | s a phase | of limit | scikit-learn | ratio | MiB |")
    print("|--------:|------:|----:|-------:|----------:|---------:|-------------:|------:|----:|")
    for rows, columns, ensemble, train_size in GRID:
        X, y = make_rows(rows, columns, chosen.seed)
        phases: list[debias.Phase] = []

        def count(phase: debias.Phase, into: list[debias.Phase] = phases) -> None:
            into.append(phase)
            if len(into) == 5:
                raise EnoughPhasesError

        memory = MemoryMonitor()
        with contextlib.suppress(EnoughPhasesError):
            debias.aflite(
                X,
                y,
                ids=range(rows),
                ensemble_size=ensemble,
                train_size=train_size,
                cutoff=debias.suggest_sizes(rows)[1],
                on_phase=count,
            )
        peak = memory.stop()
        later = phases[1:]
        ours = float(np.mean([phase.seconds for phase in later]))
        least = count_operations(later, columns, ensemble, train_size) / rate / len(later)
        theirs = time_one_phase(X, y, ensemble, train_size)
        print(
            f"| {rows:>7,} | {columns:>5,} | {ensemble:>3} | {train_size:>6,} | {ours:>9.3f} "
            f"| {100 * least / ours:>6.0f} % | {theirs:>12.2f} | {theirs / ours:>5.0f} "
            f"| {peak / 2**20:>3,.0f} |",
            flush=True,
        )


def time_one_phase(X: np.ndarray, y: np.ndarray, ensemble: int, train_size: int) -> float:
    """Estimate scikit-learn's seconds for a phase from a few converged classifiers."""
    few = min(ensemble, 4 * PROCESSORS)
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(PROCESSORS, mp_context=get_context("spawn")) as pool,
    ):
        np.save(Path(folder) / "X.npy", X - X.mean(axis=0))
        np.save(Path(folder) / "y.npy", y)
        np.save(Path(folder) / "left0.npy", np.arange(len(y)))
        warm_up(pool, folder, PROCESSORS)
        began = time.perf_counter()
        tasks = [(folder, "converged", 0, j, train_size, 0) for j in range(few)]
        list(pool.map(predict_held_out, tasks))
        return (time.perf_counter() - began) * ensemble / few


if __name__ == "__main__":
    main()
