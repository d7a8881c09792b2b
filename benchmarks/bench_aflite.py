"""AFLite against scikit-learn: seconds, ratio, peak memory, and whether the same rows go.

    python benchmarks/bench_aflite.py                 8,000 rows of 256 numbers
    python benchmarks/bench_aflite.py --paper         47,000 x 1,024, n=64, m=10,000, k=500
    python benchmarks/bench_aflite.py --rows 5000 --columns 64 --ensemble 16

The rival is `LogisticRegression` as its users could tune it: L-BFGS over centred rows, as many
processes as processors with one BLAS thread each. "converged" (float64, tolerance 1e-7) is what
gives the votes of the optimum, as winosmith does; "quick" (float32, the default tolerance) is what
comes out without care. They get the same partitions and, being slow, are timed on a few phases of
the run only (`--against`), each on the rows that were left then; their time for the whole run is
their mean over those.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one BLAS thread a process; both sides spread the classifiers instead

import numpy as np  # noqa: E402 - the limits come first

from winosmith import debias  # noqa: E402
from winosmith.debias._selection import select  # noqa: E402


def made(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated rows with a decaying spectrum; nine in ten give their label away.

    About a third of them is kept then, after some sixty phases, as of the paper's 47,000.
    """
    rng = np.random.default_rng(seed)
    spread = np.arange(1, columns + 1) ** -0.3
    spread *= np.sqrt(columns / (spread**2).sum())
    mix = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    X = rng.standard_normal((rows, columns), np.float32) * spread.astype(np.float32)
    z = 2.0 * X @ rng.normal(size=columns) / np.sqrt(columns)
    X = (X @ mix.astype(np.float32)) + rng.standard_normal(columns, np.float32)
    guessable = rng.random(rows) < 0.9
    y = np.where(guessable, z + 0.3 * rng.normal(size=rows) > 0, rng.random(rows) < 0.5)
    return X, y.astype(np.int8)


RIVALS = {"converged": (np.float64, 1e-7), "quick": (np.float32, 1e-4)}


def rival_fit(task: tuple[str, str, int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Train scikit-learn's classifier on one partition; return what it held out and got right."""
    from sklearn.linear_model import LogisticRegression

    folder, kind, phase, classifier, train_size, seed = task
    number, tolerance = RIVALS[kind]
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy")
    left = np.load(Path(folder) / f"left{phase}.npy")
    T = debias.training_rows(len(left), train_size, seed=seed, phase=phase, classifier=classifier)
    held = np.ones(len(left), bool)
    held[T] = False
    model = LogisticRegression(tol=tolerance, max_iter=2000)
    model.fit(X[left[T]].astype(number, copy=False), y[left[T]])
    return held, held & (model.predict(X[left]) == y[left])


class Memory(threading.Thread):
    """Watches the anonymous memory of this process, which the kernel keeps no peak of."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = self.start_at = self.now("RssAnon")
        self.over = threading.Event()
        self.start()

    @staticmethod
    def now(field: str) -> int:
        """Return a field of the process's status in bytes."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

    def run(self) -> None:
        """Look twenty times a second."""
        while not self.over.wait(0.05):
            self.peak = max(self.peak, self.now("RssAnon"))


def main() -> None:
    """Run AFLite, then the rivals on some of its phases, and print both."""
    parser = argparse.ArgumentParser(description="AFLite against scikit-learn")
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--ensemble", type=int, default=64)
    parser.add_argument("--train", type=int, help="default: the paper's share of the rows")
    parser.add_argument("--cutoff", type=int, help="default: the paper's share of the rows")
    parser.add_argument("--paper", action="store_true", help="47,000 rows of 1,024 numbers")
    parser.add_argument("--against", type=int, default=3, help="phases that rivals are timed on")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.paper:
        chosen.rows, chosen.columns = 47_000, 1_024
    sizes = debias.suggested_sizes(chosen.rows)
    train_size, cutoff = chosen.train or sizes[0], chosen.cutoff or sizes[1]
    X, y = made(chosen.rows, chosen.columns, chosen.seed)
    print(
        f"N={chosen.rows:,} d={chosen.columns:,} n={chosen.ensemble} m={train_size:,} "
        f"k={cutoff:,}; {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f}"
    )
    began = time.perf_counter()
    debias.aflite(X[:200], y[:200], train_size=50, cutoff=100, ensemble_size=2)
    print(f"  compiled, or loaded from the cache, in {time.perf_counter() - began:.1f} s")

    memory, began = Memory(), time.perf_counter()
    result = debias.aflite(
        X,
        y,
        ids=range(chosen.rows),
        ensemble_size=chosen.ensemble,
        train_size=train_size,
        cutoff=cutoff,
        seed=chosen.seed,
    )
    ours = time.perf_counter() - began
    memory.over.set()
    phases = result.phases
    print(
        f"  winosmith: {ours:.2f} s, {len(phases)} phases of {result.seconds / len(phases):.3f} s, "
        f"passes {min(p.passes for p in phases)}-{max(p.passes for p in phases)}, "
        f"{sum(p.polished for p in phases)} of {len(phases) * chosen.ensemble} fits polished; "
        f"{chosen.rows - len(result.kept):,} rows removed"
    )
    print(
        f"  memory: {(memory.peak - memory.start_at) / 2**20:,.0f} MiB beyond X at the peak "
        f"(RssAnon; X is {X.nbytes / 2**20:,.0f}), {memory.now('VmHWM') / 2**20:,.0f} MiB in all"
    )
    if chosen.against:
        rivals(X, y, result, chosen, ours)


def rivals(
    X: np.ndarray,
    y: np.ndarray,
    result: debias.AfliteResult,
    chosen: argparse.Namespace,
    ours: float,
) -> None:
    """Time scikit-learn on some phases, and compare what it would have removed in them."""
    phases = result.phases
    numbers = sorted(set(np.linspace(0, len(phases) - 1, chosen.against).astype(int).tolist()))
    processes = len(os.sched_getaffinity(0))
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool,
    ):
        np.save(Path(folder) / "X.npy", X - X.mean(axis=0))
        np.save(Path(folder) / "y.npy", y)
        for number in numbers:
            left = (result.removed_in < 0) | (result.removed_in >= number)
            np.save(Path(folder) / f"left{number}.npy", np.flatnonzero(left))
        list(pool.map(rival_fit, [(folder, "quick", 0, i, 100, 1) for i in range(2 * processes)]))
        for kind in RIVALS:
            seconds, same = [], 0
            for number in numbers:
                taken, equal = rival_phase(pool, folder, kind, number, result)
                seconds.append(taken)
                same += equal
                print(
                    f"  phase {number:>3}: scikit-learn ({kind}) {taken:.2f} s, winosmith "
                    f"{phases[number].seconds:.3f} s: {taken / phases[number].seconds:.0f} times; "
                    f"{equal} of {phases[number].removed} rows removed are the same"
                )
            whole = float(np.mean(seconds)) * len(phases)
            print(
                f"  scikit-learn ({kind}), whole run: about {whole:,.0f} s in {processes} "
                f"processes, {whole / ours:.0f} times winosmith's; "
                f"{same} of {sum(phases[n].removed for n in numbers)} rows removed are the same"
            )


def rival_phase(
    pool: ProcessPoolExecutor, folder: str, kind: str, number: int, result: debias.AfliteResult
) -> tuple[float, int]:
    """Return the seconds that the rival takes for a phase, and how many rows go in both."""
    parameters = result.parameters
    left = np.load(Path(folder) / f"left{number}.npy")
    seed = parameters["seed"]
    tasks = [
        (folder, kind, number, classifier, parameters["train_size"], seed)
        for classifier in range(parameters["ensemble_size"])
    ]
    began = time.perf_counter()
    correct, total = np.zeros((2, len(left)), np.int32)
    for held, right in pool.map(rival_fit, tasks):
        total += held
        correct += right
    removed = select(
        correct,
        total,
        threshold=parameters["threshold"],
        cutoff=parameters["cutoff"],
        seed=seed,
        phase=number,
    ).removed
    taken = time.perf_counter() - began
    return taken, int(np.isin(left[removed], result.removed[number]).sum())


if __name__ == "__main__":
    main()
