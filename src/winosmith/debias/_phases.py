"""The phases of AFLite, one after the other: Algorithm 1, lines 2 to 16, of WinoGrande."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._chance import by_chance, chance, counted
from winosmith.debias._checkpoint import Progress
from winosmith.debias._ensemble import Ensemble, assembled
from winosmith.debias._null import Null
from winosmith.debias._result import Phase, Stopped
from winosmith.debias._rows import Rows
from winosmith.debias._selection import at_threshold, histogram, scores, select
from winosmith.debias._settings import Settings
from winosmith.debias._share import Votes
from winosmith.debias._start import Start

REFRESH = 4
"""Phases after which the solver's Hessian is measured again, on the rows that are then left."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run is about.

    Attributes:
        rows: with their labels and groups.
        settings: the parameters.
        twins: (N,) the rows whose labels a null flips together, as a number for each row.
        executor: who does the work; None for threads.
        scratch: the folder for what does not fit into memory; see `_basis.basis_of`.
        on_draw: is told the phase and how many draws of its null are done.
    """

    rows: Rows
    settings: Settings
    twins: NDArray[np.intp]
    executor: Executor | None
    scratch: str | Path | None
    on_draw: Callable[[int, int], object] | None


def begun(rows: Rows) -> Progress:
    """Return the progress of a run that has done nothing yet."""
    count = len(rows.y)
    return Progress(np.full(count, np.nan), np.zeros(count, np.int32), np.full(count, -1, np.int32))


def phases(run: Run, progress: Progress) -> Iterator[None]:
    """Bring the progress forward by a phase at a time, up to its end."""
    progress.stopped = _end(run, progress)
    if progress.stopped:
        return
    with assembled(run.rows, run.settings, run.executor, run.scratch) as ensemble:
        while not progress.stopped:
            _one_phase(run, ensemble, progress)
            progress.stopped = _end(run, progress)
            yield


def _end(run: Run, progress: Progress) -> Stopped | None:
    """Return why no other phase is to follow, or None."""
    settings, left = run.settings, progress.removed_in < 0
    size = int(left.sum())
    if settings.target_size is not None and size <= settings.target_size:
        return "target size"
    if progress.phases:
        last = progress.phases[-1]
        if last.candidates < last.cutoff:
            return "cutoff"
        if not last.removed:  # no group at the threshold fits into what may still go
            return "target size"
    if size <= settings.train_size:
        return "train size"
    return "one class" if len(np.unique(run.rows.y[left])) < 2 else None


def _one_phase(run: Run, ensemble: Ensemble, progress: Progress) -> None:
    began = time.perf_counter()
    settings, number = run.settings, len(progress.phases)
    left = np.flatnonzero(progress.removed_in < 0).astype(np.int32)
    groups = run.rows.groups[left] if run.rows.groups is not None else None
    start = _start(ensemble, left, progress)
    votes = ensemble.vote(left, number, start)
    correct, total = counted(ensemble, left, votes)
    candidates = at_threshold(correct, total, settings.threshold)
    null, drawn = _null(run, ensemble, left, number, candidates)
    most = _most(settings, len(left), groups)
    chosen = select(
        correct,
        total,
        threshold=settings.threshold,
        cutoff=most,
        seed=settings.seed,
        phase=number,
        groups=groups if settings.remove == "groups" else None,
    )
    removed = chosen.removed
    voted = total > 0
    progress.scores[left[voted]] = scores(correct, total)[voted]
    progress.votes[left[voted]] = total[voted]
    progress.removed_in[left[removed]] = number
    if not votes.one_class.all():
        progress.start = replace(start, weights=votes.weights[~votes.one_class].mean(axis=0))
    progress.phases.append(
        Phase(
            number=number,
            size=len(left),
            removed=len(removed),
            cutoff=most,
            candidates=chosen.candidates,
            accuracy=_accuracy(votes),
            histogram=histogram(correct, total),
            undefined=int((~voted).sum()),
            tied=chosen.tied,
            tied_removed=chosen.tied_removed,
            close=votes.close,
            one_class=int(votes.one_class.sum()),
            polished=int(votes.polished.sum()),
            passes=int(votes.passes.max()),
            chance=null,
            by_chance=by_chance(drawn, chosen) if null is not None else None,
            seconds=time.perf_counter() - began,
        )
    )


def _most(settings: Settings, left: int, groups: NDArray[np.intp] | None) -> int:
    """Return how many rows a phase may remove: the cutoff, if the target allows so many."""
    most = settings.cutoff_of(left)
    if settings.remove == "groups" and groups is not None:
        most = max(most, int(np.bincount(groups).max()))
    return most if settings.target_size is None else min(most, left - settings.target_size)


def _null(
    run: Run,
    ensemble: Ensemble,
    left: NDArray[np.int32],
    number: int,
    candidates: NDArray[np.bool_],
) -> tuple[Null | None, list[NDArray[np.float64]]]:
    """Return the null of a phase, and the scores of its draws; nothing where none is asked for."""
    if run.settings.null == "off":
        return None, []
    told = None if run.on_draw is None else partial(run.on_draw, number)
    return chance(ensemble, left, number, run.twins, int(candidates.sum()), told)


def _accuracy(votes: Votes) -> float | None:
    total = int(votes.total.sum())
    return float(votes.correct.sum() / total) if total else None


def _start(ensemble: Ensemble, left: NDArray[np.int32], progress: Progress) -> Start:
    """Return where the solver starts, and keep what later phases start from."""
    number = len(progress.phases)
    if progress.start is None:
        progress.start = ensemble.first_start(left)
    elif number % REFRESH == 0:
        progress.start = ensemble.start_at(progress.start.weights, left)
    return progress.start
