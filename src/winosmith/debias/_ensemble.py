"""The ensemble of an AFLite run, which is set up once and votes in every phase.

A phase's classifiers are divided into shares, one per worker (Algorithm 1, lines 5 to 9, of
WinoGrande). `train_and_vote` trains each classifier on its partition and counts its votes on the
other rows. A classifier is the same whichever share contains it.

The rows are transferred once. Threads of this process read the array directly. An executor that
can store values for its workers (a `winosmith.parallel.Broadcaster`) stores the array. For any
other executor, the array is in a file, which the workers map into memory, so that all processes of
a machine share one copy. Workers without access to the file (on another machine, without a shared
disk) raise an error.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from winosmith import options, parallel
from winosmith.debias._rows import Rows, choose_scratch_folder, draw_training_rows
from winosmith.debias._solver import Basis, Start, minimize, minimize_by_newton, rotate_rows
from winosmith.errors import DataError
from winosmith.parallel import Broadcaster, ordered_map, use_one_thread

if TYPE_CHECKING:
    from winosmith.debias._kernel import Kernel

Floats = NDArray[np.float64]

Part = TypeVar("Part")

ACCURACY, FULL_ACCURACY_SIZE = 3e-4, 1000
"""The Newton decrement δ to reach is `ACCURACY`. With D < 1,000 columns (or m < 1,000 training
rows) it is multiplied by D/1000 (or m/1000). δ times the root of a row's leverage x · H⁻¹ x bounds
the error of that row's decision value. With many dimensions, the remaining error has no particular
direction, so its effect on a row is far smaller. The last step, which is still taken, reduces it
further. Tests check that the errors of decision values are below 1e-4."""

LEVERAGE_RANGE = (1.0, 400.0)
"""The range to which leverages are clipped; larger ones need more than float32 accuracy."""

PART_ROWS = 4096
"""The number of rows in each part of a sum over all rows."""

Remove = Literal["rows", "groups"]
"""The unit that is kept or removed as a whole: a row or a group of rows."""

NullMode = Literal["off", "report"]
"""Whether the null distribution of every phase is omitted or reported."""

DRAWS = 20
"""The default number of draws for a null distribution; the smallest possible p-value is 1/21."""


@options.declaration
class Settings:
    """The parameters that the result of `debias.aflite` depends on, except the arrays."""

    ensemble_size: options.Count
    train_size: options.TwoOrMore
    cutoff: options.Count | options.Part
    threshold: options.Fraction
    C: options.Positive
    seed: options.Seed
    target_size: options.OrFalse[options.Count] = None
    remove: Remove = "rows"
    null: NullMode = "off"
    null_draws: options.Draws = DRAWS

    def compute_cutoff(self, size: int) -> int:
        """Return the maximum number of rows that a phase removes from `size` remaining rows.

        >>> Settings(64, 100, 0.01, 0.75, 1.0, 0).compute_cutoff(2_345)
        23
        """
        if isinstance(self.cutoff, int):
            return self.cutoff
        return max(1, round(self.cutoff * size))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The classifiers for one data set, trained by an executor.

    Attributes:
        basis: The rows, in canonical order.
        penalty: (D,) the ridge penalty of each weight.
        matrix: The basis, as tasks contain it; see `share_matrix`.
        threads: The threads for work that always runs in this process.
    """

    basis: Basis
    y: NDArray[np.float32]
    groups: NDArray[np.intp] | None
    settings: Settings
    penalty: Floats
    matrix: Any
    executor: Executor
    threads: Executor

    def compute_starting_point(self, rows: NDArray[np.int32]) -> Start:
        """Return the starting point given by a classifier trained on all remaining rows."""
        kernel = make_kernel(self.basis.matrix, self.y)
        fraction = self.settings.train_size / len(rows)
        origin = np.zeros((1, len(self.penalty)))
        flat = self.compute_start_at(origin[0], rows)

        def sum_part(W: Floats, part: NDArray[np.int32]) -> Floats:
            every = np.arange(len(part), dtype=np.int32)
            return kernel.make_gradient(part, [every])(W, np.zeros(1, np.intp))

        def compute_gradient(W: Floats, _: NDArray[np.intp]) -> Floats:
            loss = np.asarray(sum(self._map_parts(partial(sum_part, W), rows)))
            return loss + self.penalty / fraction * W

        fit = minimize(compute_gradient, origin, flat.diagonal / fraction, 1e-2)
        return self.compute_start_at(fit.weights[0], rows)

    def compute_start_at(self, weights: Floats, rows: NDArray[np.int32]) -> Start:
        from scipy.special import expit

        X, size, w = self.basis.matrix, self.settings.train_size, weights.astype(np.float32)

        def sum_curvature(part: NDArray[np.int32]) -> list[NDArray[np.float32]]:
            chunk = X[part]
            z = chunk @ w
            p = expit(z)
            v = p * (1 - p)
            return [(v * z) @ chunk, v @ np.square(chunk, out=chunk)]

        def find_leverage(part: NDArray[np.int32]) -> float:
            return float((np.square(X[part]) @ (1 / diagonal).astype(np.float32)).max())

        sums = np.array(self._map_parts(sum_curvature, rows)).sum(axis=0, dtype=np.float64)
        product = self.penalty * weights + size / len(rows) * sums[0]
        diagonal = self.penalty + size / len(rows) * sums[1]
        diagonal[diagonal == 0] = 1.0  # the padding, and constant columns without a penalty
        leverage = max(self._map_parts(find_leverage, rows))
        factor = min(1.0, len(weights) / FULL_ACCURACY_SIZE, size / FULL_ACCURACY_SIZE)
        tolerance = ACCURACY * factor / float(np.clip(leverage, *LEVERAGE_RANGE)) ** 0.5
        return Start(weights, diagonal, product, tolerance)

    def _map_parts(
        self, function: Callable[[NDArray[np.int32]], Part], rows: NDArray[np.int32]
    ) -> list[Part]:
        parts = [rows[first : first + PART_ROWS] for first in range(0, len(rows), PART_ROWS)]
        return list(ordered_map(function, parts, self.threads, max_pending=len(parts)))

    def collect_votes(self, rows: NDArray[np.int32], phase: int, start: Start) -> Votes:
        """Train a phase's classifiers on the remaining rows, and collect their votes."""
        shares = parallel.get_worker_count(self.executor) or 2 * parallel.count_processors()
        count = self.settings.ensemble_size
        pairs = -(-count // 2)  # the kernel computes two classifiers at a time
        bounds = 2 * np.linspace(0, pairs, min(pairs, shares) + 1).astype(int)
        edges = np.unique(np.minimum(bounds, count)).tolist()
        groups = None if self.groups is None else self.groups[rows]
        jobs = [
            TrainingJob(
                labels=self.y,
                rows=rows,
                groups=groups,
                ridge=self.penalty,
                intercept=self.basis.columns,
                settings=self.settings,
                phase=phase,
                classifiers=range(*part),
                start=start,
            )
            for part in itertools.pairwise(edges)
        ]
        advice = (
            f"{phase} phases are complete; with a checkpoint, the same call with a new executor "
            "continues from there"
        )
        tasks = [(job, self.matrix) for job in jobs]
        parts = list(
            ordered_map(train_and_vote, tasks, self.executor, max_pending=len(tasks), advice=advice)
        )
        return Votes(
            correct=np.sum([part.correct for part in parts], axis=0, dtype=np.int32),
            total=np.sum([part.total for part in parts], axis=0, dtype=np.int32),
            close=sum(part.close for part in parts),
            weights=np.concatenate([part.weights for part in parts]),
            one_class=np.concatenate([part.one_class for part in parts]),
            polished=np.concatenate([part.polished for part in parts]),
            passes=np.concatenate([part.passes for part in parts]),
        )


def make_kernel(X: NDArray[np.float32], y: NDArray[np.float32]) -> Kernel:
    from winosmith.debias._kernel import Kernel  # here, because it imports numba

    return Kernel(X, y)


@contextlib.contextmanager
def open_ensemble(
    rows: Rows,
    settings: Settings,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
) -> Iterator[Ensemble]:
    """Open the ensemble of a data set; see `aflite` for `scratch`.

    BLAS is limited to one thread while the ensemble is open, because our own threads use all
    processors.
    """
    folder = choose_scratch_folder(rows.X, scratch)
    if folder is None and not isinstance(executor, ThreadPoolExecutor | Broadcaster | None):
        folder = Path(tempfile.gettempdir())
    # Threads suffice, because compiled loops and BLAS release the GIL.
    pool = ThreadPoolExecutor(parallel.count_processors(), thread_name_prefix="aflite")
    with pool, use_one_thread(), rotate_rows(rows, pool, folder) as basis:
        workers = executor or pool
        penalty = np.zeros(basis.matrix.shape[1])
        penalty[: basis.columns] = basis.scale**2 / settings.C
        with share_matrix(basis, workers) as matrix:
            yield Ensemble(basis, rows.y, rows.groups, settings, penalty, matrix, workers, pool)


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """Some of the classifiers of an ensemble, and the data to train them.

    Attributes:
        labels: (N,) float32 labels, 0 or 1.
        rows: (size,) int32, the rows left, in canonical order.
        groups: (size,) the groups of these rows, or None.
        ridge: (D,) the penalty of each weight.
        intercept: The column of the intercept in the basis.
        classifiers: The numbers of the classifiers.
    """

    labels: NDArray[np.float32]
    rows: NDArray[np.int32]
    groups: NDArray[np.intp] | None
    ridge: Floats
    intercept: int
    settings: Settings
    phase: int
    classifiers: range
    start: Start


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of all or some classifiers of an ensemble.

    Attributes:
        correct, total: (size,) int32 numbers of correct predictions and of all predictions for each
            row.
        close: The number of predictions with a decision value below 1e-4 in magnitude.
        weights: (classifiers, D) weights.
        one_class: (classifiers,) whether the training set had only one class.
        polished: (classifiers,) whether the training was finished in float64.
        passes: (classifiers,) the number of passes over the training rows.
    """

    correct: NDArray[np.int32]
    total: NDArray[np.int32]
    close: int
    weights: Floats
    one_class: NDArray[np.bool_]
    polished: NDArray[np.bool_]
    passes: NDArray[np.intp]


def train_and_vote(task: tuple[TrainingJob, NDArray[np.float32] | str]) -> Votes:
    """Train a share of the classifiers, and count their votes on held-out rows.

    The second part of a task comes from `share_matrix`.
    """
    job, matrix = task
    kernel = make_kernel(load_matrix(matrix) if isinstance(matrix, str) else matrix, job.labels)
    partitions = [
        draw_training_rows(
            len(job.rows),
            job.settings.train_size,
            seed=job.settings.seed,
            phase=job.phase,
            classifier=classifier,
            groups=job.groups,
        )
        for classifier in job.classifiers
    ]
    ones = np.array([job.labels[job.rows[part]].mean(dtype=np.float64) for part in partitions])
    one_class = (ones == 0) | (ones == 1)
    weights = np.zeros((len(partitions), len(job.start.weights)))
    # With one class, the optimum is weights of 0 and an infinite intercept; only its sign matters.
    weights[one_class, job.intercept] = 2 * ones[one_class] - 1
    polished, passes = np.zeros(len(partitions), np.bool_), np.zeros(len(partitions), np.intp)
    both = np.flatnonzero(~one_class)
    if both.size:
        mixed = [partitions[column] for column in both]
        weights[both], polished[both], passes[both] = _train_classifiers(job, kernel, mixed)
    correct, total, close = kernel.count_votes(job.rows, partitions, weights)
    return Votes(correct, total, close, weights, one_class, polished, passes)


def _train_classifiers(
    job: TrainingJob, kernel: Kernel, partitions: list[NDArray[np.int32]]
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    start = job.start
    starts = np.repeat(start.weights[None], len(partitions), axis=0)
    sum_losses = kernel.make_gradient(job.rows, partitions)

    def compute_gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
        return sum_losses(W, columns) + job.ridge * W

    fit = minimize(
        compute_gradient,
        starts,
        start.diagonal,
        start.tolerance,
        known_pair=(start.weights, start.product),
    )
    weights, slow = fit.weights, ~fit.converged
    for column in np.flatnonzero(slow):
        part = job.rows[partitions[column]]
        with use_one_thread():
            weights[column] = minimize_by_newton(
                kernel.X[part], kernel.y[part], job.ridge, weights[column]
            )
    return weights, slow, fit.passes


@contextlib.contextmanager
def share_matrix(basis: Basis, executor: Executor) -> Iterator[Any]:
    """Share the basis with the executor's workers while the block runs.

    The yielded value is a part of each task. It is the matrix for threads, the token of a
    `Broadcaster`, or, for other executors, the path of the file.
    """
    if isinstance(executor, Broadcaster):
        with executor.broadcast(basis.matrix) as token:
            yield token
    elif basis.file is None or isinstance(executor, ThreadPoolExecutor):
        yield basis.matrix
    else:
        yield str(basis.file)


@lru_cache(maxsize=1)  # a worker needs the matrix of only one run at a time
def load_matrix(file: str) -> NDArray[np.float32]:
    try:
        # copy-on-write, so that compiled code sees the same type of array as in a thread
        return np.asarray(np.load(file, mmap_mode="c", allow_pickle=False))
    except OSError as error:
        raise DataError(
            f"a worker can't read {file}; run the executor's workers on this machine, or "
            "set scratch to a folder that all of them can access (winosmith.cluster needs neither)"
        ) from error
