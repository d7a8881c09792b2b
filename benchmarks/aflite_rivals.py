"""The scikit-learn classifiers that bench_aflite.py compares with, each in its own process."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from winosmith import debias
from winosmith.debias._ensemble import Settings, open_ensemble
from winosmith.debias._rows import check_rows
from winosmith.debias._selection import select

KINDS = {
    "converged": (np.float64, {"solver": "lbfgs", "tol": 1e-7, "max_iter": 2000}),
    "quick": (np.float32, {"solver": "lbfgs", "tol": 1e-4, "max_iter": 2000}),
    "optimum": (np.float64, {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 200}),
}
"""The type of the rows, and the classifier's settings."""

Task = tuple[str, str, int, int, int, int]
"""Folder, kind, phase, classifier, training size, seed."""


def fit_classifier(task: Task) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train one classifier; return its held-out rows, all decision values, and the labels."""
    from sklearn.linear_model import LogisticRegression

    folder, kind, phase, classifier, train_size, seed = task
    number, settings = KINDS[kind]
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy")
    left = np.load(Path(folder) / f"left{phase}.npy")
    T = debias.draw_training_rows(
        len(left), train_size, seed=seed, phase=phase, classifier=classifier
    )
    held = np.ones(len(left), bool)
    held[T] = False
    model = LogisticRegression(**settings)
    model.fit(X[left[T]].astype(number, copy=False), y[left[T]])
    return held, model.decision_function(X[left]), y[left]


def predict_held_out(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Train one classifier; return its held-out rows and its correct predictions."""
    held, values, labels = fit_classifier(task)
    return held, held & ((values > 0) == labels)


def warm_up(pool: ProcessPoolExecutor, folder: str, processes: int) -> None:
    """Let every process import its libraries before timing starts."""
    list(
        pool.map(predict_held_out, [(folder, "quick", 0, i, 100, 1) for i in range(2 * processes)])
    )


def time_phase(
    pool: ProcessPoolExecutor, folder: str, kind: str, number: int, result: debias.AfliteResult
) -> tuple[float, int]:
    """Return scikit-learn's seconds for a phase, and the number of rows that both remove."""
    parameters = result.parameters
    left = np.load(Path(folder) / f"left{number}.npy")
    seed, size = parameters["seed"], parameters["train_size"]
    tasks = [(folder, kind, number, j, size, seed) for j in range(parameters["ensemble_size"])]
    began = time.perf_counter()
    correct, total = np.zeros((2, len(left)), np.int32)
    for held, right in pool.map(predict_held_out, tasks):
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


def compare_votes(
    pool: ProcessPoolExecutor,
    folder: str,
    number: int,
    X: np.ndarray,
    y: np.ndarray,
    result: debias.AfliteResult,
) -> str:
    """Report the votes of a phase that differ from the optimum's, and the largest difference."""
    parameters = result.parameters
    size, count, seed = (parameters[n] for n in ("train_size", "ensemble_size", "seed"))
    left = np.load(Path(folder) / f"left{number}.npy").astype(np.int32)
    settings = Settings(count, size, 1, 0.75, parameters["C"], seed)
    with open_ensemble(check_rows(X, y, range(len(y)), None), settings) as ensemble:
        weights = ensemble.collect_votes(
            left, number, ensemble.compute_starting_point(left)
        ).weights
        matrix = ensemble.basis.matrix
        votes = wrong = close = 0
        worst = 0.0
        tasks = [(folder, "optimum", number, j, size, seed) for j in range(count)]
        for w, (held, wanted, _) in zip(weights, pool.map(fit_classifier, tasks), strict=True):
            values = matrix[left].astype(np.float64) @ w
            turned, sure = held & ((values > 0) != (wanted > 0)), np.abs(wanted) > 1e-4
            votes += int(held.sum())
            wrong += int((turned & sure).sum())
            close += int((held & ~sure).sum())
            worst = max(worst, float(np.abs(values - wanted).max()))
    return (
        f"{wrong} of {votes:,} votes are not the optimum's where that is 1e-4 or more from zero "
        f"({close} are nearer); decision values are within {worst:.1e}"
    )


class MemoryMonitor(threading.Thread):
    """Monitors this process's anonymous memory, for which the kernel records no peak."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = self.begin = self.read()
        self.over = threading.Event()
        self.start()

    @staticmethod
    def read() -> int:
        """Return the current anonymous memory in bytes."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

    def run(self) -> None:
        """Read the memory twenty times per second."""
        while not self.over.wait(0.05):
            self.peak = max(self.peak, self.read())

    def stop(self) -> int:
        """Stop monitoring, and return the maximum growth in bytes."""
        self.over.set()
        return self.peak - self.begin
