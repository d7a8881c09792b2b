"""The ensemble of a run: set up once, asked for its votes in every phase."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._basis import Basis, basis_of, ridge
from winosmith.debias._loops import bound
from winosmith.debias._rows import Rows
from winosmith.debias._scratch import scratch_folder
from winosmith.debias._settings import Settings
from winosmith.debias._share import Share, Votes, train_and_vote
from winosmith.debias._shared import Held, needs_file, shared
from winosmith.debias._start import Measured, Start, first_start, start_at
from winosmith.parallel import Holder, ordered_map, workers_of
from winosmith.threads import one_thread

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Classifiers over one data set, spread over an executor.

    Attributes:
        basis: the rows, in canonical order.
        y: (N,) float32 labels.
        groups: (N,) group numbers, or None.
        settings: the run's parameters.
        penalty: (D,) the ridge of each weight.
        held: where the workers find basis and labels.
        executor: who does the work.
        threads: who does the work that is done here in any case.
        relabelled: the labels are not those that the workers find, but travel with the work.
    """

    basis: Basis
    y: NDArray[np.float32]
    groups: NDArray[np.intp] | None
    settings: Settings
    penalty: Floats
    held: Held
    executor: Executor
    threads: Executor
    relabelled: bool = False

    def first_start(self, left: NDArray[np.int32]) -> Start:
        """Return where the solver starts in the first phase; `left` are the rows left."""
        return first_start(self._measured(), left)

    def start_at(self, weights: Floats, left: NDArray[np.int32]) -> Start:
        """Return the start at these (D,) weights, with the Hessian measured there."""
        return start_at(weights, self._measured(), left)

    def _measured(self) -> Measured:
        return Measured(
            loops=bound(self.settings.kernel, self.basis.matrix, self.y),
            ridge=self.penalty,
            intercept=self.basis.columns,
            train_size=self.settings.train_size,
            threads=self.threads,
        )

    def vote(self, left: NDArray[np.int32], phase: int, start: Start) -> Votes:
        """Train the classifiers of a phase on the rows left and gather their votes."""
        everyone = Share(
            held=self.held,
            labels=self.y if self.relabelled else None,
            kernel=self.settings.kernel,
            rows=left,
            groups=None if self.groups is None else self.groups[left],
            ridge=self.penalty,
            intercept=self.basis.columns,
            train_size=self.settings.train_size,
            seed=self.settings.seed,
            phase=phase,
            classifiers=range(self.settings.ensemble_size),
            start=start,
        )
        edges = _edges(len(everyone.classifiers), self._shares())
        with _handed(everyone, self.executor) as (share, arrays):
            parts = [(share, arrays, range(*part)) for part in itertools.pairwise(edges)]
            votes = ordered_map(
                _part_of,
                parts,
                self.executor,
                ahead=len(parts),
                resume=f"{phase} phases are complete; with a checkpoint, the same call with a new "
                "executor goes on from there",
            )
            return _gathered(list(votes))

    def _shares(self) -> int:
        """Return how many parts to cut the classifiers into."""
        if self.executor is self.threads and self.settings.kernel != "numba":
            return 1  # torch has threads of its own
        return workers_of(self.executor) or 2 * (os.cpu_count() or 1)

    def with_labels(self, y: NDArray[np.float32]) -> Ensemble:
        """Return the same ensemble over the same rows with other labels."""
        return replace(self, y=y, relabelled=True)


@contextlib.contextmanager
def assembled(
    rows: Rows,
    settings: Settings,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
) -> Iterator[Ensemble]:
    """Set up the ensemble of a data set while the block runs; for `scratch` see `aflite`.

    BLAS runs on one thread in the meantime: below threads of our own, more make it slower.
    """
    folder = scratch_folder(rows.X, scratch)
    if folder is None and executor is not None and needs_file(executor):
        folder = Path(tempfile.gettempdir())
    with threads() as own, one_thread(), basis_of(rows, own, folder) as basis:
        workers = executor or own
        with shared(basis, rows.y, workers) as held:
            penalty = ridge(basis, settings.C)
            yield Ensemble(basis, rows.y, rows.groups, settings, penalty, held, workers, own)


@contextlib.contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    """Open a thread for each processor that this process may use.

    The compiled loops and BLAS let go of Python's lock, so that threads are all it takes.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pool = ThreadPoolExecutor(count or 1, thread_name_prefix="aflite")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _handed(share: Share, executor: Executor) -> Iterator[tuple[Any, Any]]:
    """Hand over what all parts of a phase need; yield what stands for it, and for the arrays."""
    if not isinstance(executor, Holder):
        yield share, None
        return
    with executor.hold(replace(share, held=replace(share.held, arrays=None))) as token:
        yield token, share.held.arrays


def _part_of(part: tuple[Share, Any, range]) -> Votes:
    """Do some classifiers' part of a phase, at a worker."""
    share, arrays, classifiers = part
    held = share.held if arrays is None else replace(share.held, arrays=arrays)
    return train_and_vote(replace(share, held=held, classifiers=classifiers))


def _edges(count: int, shares: int) -> list[int]:
    """Return where to cut the classifiers: at even numbers, as `count_votes` takes them in twos."""
    pairs = -(-count // 2)
    cuts = 2 * np.linspace(0, pairs, min(pairs, shares) + 1).astype(int)
    return sorted({min(int(cut), count) for cut in cuts})


def _gathered(parts: list[Votes]) -> Votes:
    return Votes(
        correct=np.sum([part.correct for part in parts], axis=0, dtype=np.int32),
        total=np.sum([part.total for part in parts], axis=0, dtype=np.int32),
        close=sum(part.close for part in parts),
        weights=np.concatenate([part.weights for part in parts]),
        one_class=np.concatenate([part.one_class for part in parts]),
        polished=np.concatenate([part.polished for part in parts]),
        passes=np.concatenate([part.passes for part in parts]),
    )
