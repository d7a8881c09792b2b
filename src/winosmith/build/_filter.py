"""Run the chosen filter and its comparison runs: baselines, other seeds and separate halves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias
from winosmith.blocks import find_blocks, find_whole_twins
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.options import FilterRecipe
from winosmith.parallel import count_processors
from winosmith.report import percent

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FilterRun:
    """The problems that a filter and its baselines kept.

    Attributes:
        pool: the problems before the filter.
        X: (n, d) vectors; (n, K, d), one per option, if a problem has more than two options.
        y: (n,) answers: 0 or 1, or the 0-based index of the correct option.
        method: the chosen method.
        subsets: the rows that each method kept, in ascending order, by the method's name in
            `METHOD_NAMES`. With the method "none", the only name is "all".
        aflite: the result of AFLite; None if it was not run.
        mirror: the result of the mirror filter and its units; None if it was not run.
        overlaps: the overlap with each comparison run, by the run's name (`OTHER_RUNS`); empty if
            there are no such runs.
        pmi_label: the option that is correct if y = 1 in PMI filtering.
        separability: the number of units whose vectors depend on the answer; None if it was not
            counted.
    """

    pool: Dataset
    X: NDArray[Any]
    y: NDArray[Any]
    method: str
    subsets: Mapping[str, Rows]
    aflite: debias.AfliteResult | None
    overlaps: Mapping[str, debias.RunOverlap] = field(default_factory=dict)
    mirror: tuple[debias.MirrorResult, debias.TwinUnits] | None = None
    pmi_label: debias.PmiLabel = "first-mentioned"
    separability: debias.Separability | None = None

    @property
    def vector_fault(self) -> str:
        """The reason why the vectors can't be used to filter or predict, or ""."""
        found = self.separability
        if found is None or not found.is_blind:
            return ""
        return (
            f"not measured: for {found.units - found.separable:,} of {found.units:,} twins and "
            "singles the vectors don't depend on the answer, so no model can predict it; use an "
            "encoder that supports these texts"
        )

    @property
    def options(self) -> Rows | None:
        """Number of options of each problem; None if both options share one vector."""
        if self.X.ndim == 2:
            return None
        return np.array([len(problem.options) for problem in self.pool], np.intp)

    @property
    def chosen_subset(self) -> str:
        """Name of the subset that the chosen method kept."""
        return METHOD_NAMES[self.method]

    @property
    def kept(self) -> Rows:
        """The rows that the chosen method kept, in ascending order."""
        return self.subsets[self.chosen_subset]

    @cached_property
    def blocks(self) -> list[list[int]]:
        """The blocks of rows, which are never split; see `winosmith.blocks`."""
        return find_blocks(self.pool)

    @cached_property
    def reasons(self) -> dict[int, str]:
        """The reason why each dropped row was dropped, by row."""
        gone: list[int] = np.setdiff1d(self.subsets["all"], self.kept).tolist()
        if self.method == "aflite" and self.aflite is not None:
            phases, scores = self.aflite.removal_phase, self.aflite.scores
            return {
                row: f"guessed: predicted by {percent(scores[row], 0)} of the ensemble in phase "
                f"{phases[row] + 1}"
                for row in gone
            }
        if self.mirror is not None:
            found, units = self.mirror
            unit_of = {row: unit for unit, rows in enumerate(units.rows) for row in rows}
            return {row: _describe_margin(found, unit_of[row]) for row in gone}
        if self.method == "pmi":
            singles = set(self.pool.singles)
            return {
                row: "random: singles have no score; they are removed at random, as often as twins"
                if row in singles
                else "association: the twin's words predict its answers"
                for row in gone
            }
        return dict.fromkeys(gone, "random: selected by the random seed")


def _describe_margin(found: debias.MirrorResult, unit: int) -> str:
    if found.threshold is None:
        removed = percent(found.removal_probability[unit], 0)
        rule = f"{removed} of these problems are removed at random"
    else:
        rule = f"the threshold is {found.threshold:.2f}"
    margin = f"a margin of {found.margins[unit]:.2f} by models trained on other problems"
    return f"guessed: predicted with {margin}; {rule}"


METHOD_NAMES = {
    "none": "all",
    "random": "random",
    "pmi": "PMI",
    "aflite": "AFLite",
    "mirror": "mirror",
}
"""The display names of the methods in reports."""


def run_filter(
    pool: Dataset,
    X: NDArray[Any],
    filter_recipe: FilterRecipe,
    *,
    seed: int,
    on_phase: Callable[[debias.Phase], object] | None = None,
    on_draw: Callable[[int, int], object] | None = None,
    on_run: Callable[[int, int], object] | None = None,
    checkpoint: Path | None = None,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
    baselines: bool = True,
) -> FilterRun:
    """Filter a pool of problems, using their vectors and answers.

    As baselines, random reduction and PMI filtering keep as many problems as the chosen method.

    Args:
        pool: the problems.
        X: (n, d) vectors of the problems; (n, K, d), one per option, if a problem has more than two
            options.
        filter_recipe: the `[filter]` table of a recipe.
        seed: random seed.
        on_phase: see `debias.aflite`.
        on_draw: see `debias.aflite`.
        on_run: see `debias.mirror`.
        checkpoint: see `debias.aflite`.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.
        baselines: whether to also run random reduction and, for two options, PMI filtering.

    Raises:
        DataError: the problems can't be filtered; see `debias.aflite`.
        OutputError: the checkpoint belongs to another run.
    """
    y = debias.get_problem_labels(pool) if X.ndim == 2 else debias.get_choice_keys(pool)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    subsets = {"all": np.arange(len(pool))}
    result, mirror, size = None, None, filter_recipe.keep or 0
    if filter_recipe.method == "none":
        return FilterRun(pool, X, y, filter_recipe.method, subsets, None)
    if filter_recipe.method == "mirror":
        units = (
            debias.make_twin_units(pool, X) if X.ndim == 2 else debias.make_option_units(pool, X)
        )
        found = debias.mirror(
            units.V,
            items=None if units.items is None else units.items.tolist(),
            key=units.key,
            blocks=units.blocks,
            kinds=units.kinds,
            ids=units.ids,
            aim=filter_recipe.aim,
            error=filter_recipe.error,
            folds=filter_recipe.folds,
            repeats=filter_recipe.repeats,
            C=filter_recipe.C,
            seed=seed,
            executor=executor,
            on_run=on_run,
        )
        mirror, subsets["mirror"] = (found, units), units.get_rows(found.kept)
        size = len(subsets["mirror"])
    elif filter_recipe.method == "aflite" or filter_recipe.keep is None:
        result = debias.aflite(
            X,
            y,
            **_make_aflite_arguments(pool, filter_recipe),
            seed=seed,
            executor=executor,
            on_phase=on_phase,
            on_draw=on_draw,
            checkpoint=checkpoint,
            scratch=scratch,
        )
        size = filter_recipe.keep or len(result.kept)
    if size > len(pool):
        raise DataError(f"filter.keep is {size}, but the pool has only {len(pool)} problems")
    if baselines or filter_recipe.method == "random":
        subsets["random"] = debias.subsample(len(pool), size, seed=seed)
    if (baselines and X.ndim == 2) or filter_recipe.method == "pmi":
        subsets["PMI"] = debias.pmi(
            pool, size=size, variant=filter_recipe.pmi, label=filter_recipe.pmi_label, seed=seed
        ).kept
    if result is not None:
        subsets["AFLite"] = result.kept
    return FilterRun(
        pool,
        X,
        y,
        filter_recipe.method,
        subsets,
        result,
        mirror=mirror,
        pmi_label=filter_recipe.pmi_label,
    )


OTHER_RUNS = ("another seed", "perturbed vectors")
"""The names of the other runs with which a filter's run is compared."""


def run_variant(
    run: FilterRun,
    filter_recipe: FilterRecipe,
    variant: str,
    *,
    seed: int,
    scratch: str | Path | None = None,
    **arguments: Any,
) -> FilterRun:
    """Return `run` with the overlap between its removed problems and those of a variant.

    `variant` is one of `OTHER_RUNS`. Filters without vectors (random reduction, PMI) are not run on
    perturbed vectors.
    """
    by_vectors = run.method in ("aflite", "mirror")
    if run.method == "none" or (not by_vectors and variant == OTHER_RUNS[1]):
        return run
    if not len(run.kept) or (run.aflite is not None and not run.aflite.phases):
        return run  # no problem could be removed
    keep = filter_recipe.keep if by_vectors else len(run.kept)
    # the null takes long and has no effect
    settings = replace(filter_recipe, keep=keep, null="off")
    more: dict[str, Any] = {"scratch": scratch, "baselines": False, **arguments}
    if variant == OTHER_RUNS[1]:
        with debias.perturb_vectors(run.X, run.pool.ids, seed=seed, scratch=scratch) as X:
            found = run_filter(run.pool, X, settings, seed=seed, **more)
    else:
        found = run_filter(run.pool, run.X, settings, seed=seed + 1, **more)
    compared = debias.compare_runs(run.kept, found.kept, len(run.pool))
    return replace(run, overlaps={**run.overlaps, variant: compared})


def make_row_filter(
    run: FilterRun, filter_recipe: FilterRecipe, *, seed: int, **arguments: Any
) -> Callable[[Rows], Rows]:
    """Return a function that filters rows of the pool, for `debias.verify`.

    The function uses only the given rows. Numbers of problems in the recipe, and the size of a
    reduction, are scaled to the number of rows.
    """

    def filter_rows(rows: Rows) -> Rows:
        if filter_recipe.method == "none":
            return rows
        settings = _scale_settings(run, filter_recipe, len(rows))
        half = run.pool.select(rows.tolist())
        # Halves are filtered at the same time, so each gets its share of the processors.
        processors = count_processors() // debias.CONCURRENT_HALVES
        with ThreadPoolExecutor(max(1, processors)) as threads:
            local = {**arguments, "executor": arguments.get("executor") or threads}
            found = run_filter(half, run.X[rows], settings, seed=seed, baselines=False, **local)
        return rows[found.kept]

    return filter_rows


def _scale_settings(run: FilterRun, filter_recipe: FilterRecipe, rows: int) -> FilterRecipe:
    def scale(value: int | None, minimum: int = 1) -> int | None:
        return None if value is None else max(minimum, round(value * rows / len(run.pool)))

    size = len(run.kept) if filter_recipe.method in ("random", "pmi") else filter_recipe.keep
    cutoff = filter_recipe.cutoff
    return replace(
        filter_recipe,
        train_size=scale(filter_recipe.train_size, 2),
        cutoff=scale(cutoff) if isinstance(cutoff, int) else cutoff,
        target_size=scale(filter_recipe.target_size),
        keep=scale(size),
        null="off",  # the null takes long and has no effect
    )


def _make_aflite_arguments(pool: Dataset, filter_recipe: FilterRecipe) -> dict[str, Any]:
    train_size, cutoff = debias.suggest_sizes(len(pool))
    whole, null = filter_recipe.remove == "twins", filter_recipe.null != "off"
    same = ("ensemble_size", "threshold", "C", "target_size", "null", "null_draws")
    return {
        **{name: getattr(filter_recipe, name) for name in same},
        "train_size": filter_recipe.train_size or train_size,
        "cutoff": filter_recipe.cutoff or cutoff,
        "ids": pool.ids,
        "groups": _number_groups(find_whole_twins(pool), len(pool)) if whole else None,
        "remove": "groups" if whole else "rows",
        "twins": _number_groups(find_blocks(pool), len(pool)) if null else None,
    }


def _number_groups(groups: Sequence[Sequence[int]], rows: int) -> list[int | None]:
    numbers: list[int | None] = [None] * rows
    for number, group in enumerate(groups):
        for row in group if len(group) > 1 else ():
            numbers[row] = number
    return numbers
