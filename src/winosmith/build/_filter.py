"""Run the chosen filter, and beside it the baselines that it is to be compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias
from winosmith.build._recipe import FilterRecipe
from winosmith.dataset import Dataset
from winosmith.errors import DataError

__all__ = ["FilterRun", "run_filter"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FilterRun:
    """What a filter and its baselines kept of the problems that went in.

    Attributes:
        pool: the problems that went in.
        X: (n, d) their vectors.
        y: (n,) their answers, 0 or 1.
        method: the one that was chosen.
        subsets: the ascending rows that each way of reducing kept: "all", "random", "PMI" and
            "AFLite" (only "all" with the method "none").
        aflite: what AFLite did; None when it was not run.
    """

    pool: Dataset
    X: NDArray[Any]
    y: NDArray[Any]
    method: str
    subsets: Mapping[str, Rows]
    aflite: debias.AfliteResult | None

    @property
    def kept(self) -> Rows:
        """The ascending rows that the chosen method kept."""
        return self.subsets[NAMES[self.method]]

    @cached_property
    def reasons(self) -> dict[int, str]:
        """Why each dropped row was dropped."""
        gone = np.setdiff1d(self.subsets["all"], self.kept)
        return {int(row): self._reason(int(row)) for row in gone}

    def _reason(self, row: int) -> str:
        if self.method == "aflite" and self.aflite is not None:
            phase, score = self.aflite.removed_in[row], self.aflite.scores[row]
            return f"guessed: by {score:.0%} of the ensemble in phase {phase + 1}"
        if self.method == "pmi":
            return "association: the words of the twin lean to its answers"
        return "random: drawn by the seed"


NAMES = {"none": "all", "random": "random", "pmi": "PMI", "aflite": "AFLite"}
"""The methods, as the report calls what they keep."""


def run_filter(
    pool: Dataset,
    X: NDArray[Any],
    chosen: FilterRecipe,
    *,
    seed: int,
    on_phase: Callable[[debias.Phase], object] | None = None,
    on_draw: Callable[[int, int], object] | None = None,
    checkpoint: Path | None = None,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
) -> FilterRun:
    """Filter a pool of problems by its vectors and answers.

    The random reduction and the PMI filter keep as many problems as the chosen method does, so
    that the comparison is fair.

    Args:
        pool: the problems.
        X: (n, d) their vectors.
        chosen: the recipe's table.
        seed: of every draw.
        on_phase: see `debias.aflite`.
        on_draw: see `debias.aflite`.
        checkpoint: see `debias.aflite`.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.

    Raises:
        DataError: problems that can't be filtered; see `debias.aflite`.
        OutputError: the checkpoint is of another run.
    """
    y = debias.problem_labels(pool)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    everything = np.arange(len(pool))
    if chosen.method == "none":
        return FilterRun(pool, X, y, chosen.method, {"all": everything}, None)
    result = None
    if chosen.method == "aflite" or chosen.keep is None:
        result = _aflite(
            pool,
            X,
            y,
            chosen,
            seed=seed,
            on_phase=on_phase,
            on_draw=on_draw,
            checkpoint=checkpoint,
            executor=executor,
            scratch=scratch,
        )
    size = len(result.kept) if result is not None and chosen.keep is None else chosen.keep or 0
    if size > len(pool):
        raise DataError(f"filter.keep is {size}, but only {len(pool)} problems went in")
    subsets = {
        "all": everything,
        "random": debias.subsample(len(pool), size, seed=seed),
        "PMI": debias.pmi(pool, size=size, variant=chosen.pmi, seed=seed).kept,
    }
    if result is not None:
        subsets["AFLite"] = result.kept
    return FilterRun(pool, X, y, chosen.method, subsets, result)


def _aflite(
    pool: Dataset, X: NDArray[Any], y: NDArray[Any], chosen: FilterRecipe, **run: Any
) -> debias.AfliteResult:
    train_size, cutoff = debias.suggested_sizes(len(pool))
    twins = [problem.twin_id for problem in pool]
    whole = chosen.remove == "twins"
    return debias.aflite(
        X,
        y,
        ensemble_size=chosen.ensemble_size,
        train_size=chosen.train_size or train_size,
        cutoff=chosen.cutoff or cutoff,
        threshold=chosen.threshold,
        C=chosen.C,
        ids=pool.ids,
        groups=twins if chosen.whole_twins or whole else None,
        target_size=chosen.target_size,
        remove="groups" if whole else "rows",
        null=chosen.null,
        null_draws=chosen.null_draws,
        twins=twins,
        classifier=chosen.classifier,
        kernel=chosen.kernel,
        **run,
    )
