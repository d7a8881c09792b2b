"""The run of the chosen filter, and what it is measured by: baselines, other seeds, halves apart.

It shows how far it is, and is taken up where it was. `Measures` are what it did, in figures: what
is still guessed, the assessment, the null, the planted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, embed, practice
from winosmith.blocks import blocks, whole_twins
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.options import FilterRecipe
from winosmith.outputs import OutputFolder
from winosmith.parallel import Advance, Step
from winosmith.report import Signature, percent
from winosmith.results import IF_ANY, Result, computed

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FilterRun:
    """What a filter and its baselines kept of the problems that went in.

    Attributes:
        pool: the problems that went in.
        X: (n, d) their vectors; (n, K, d), one an option, where a problem has more than two.
        y: (n,) their answers, 0 or 1; or places of the right option, from 0.
        method: the one that was chosen.
        subsets: the ascending rows that each way of reducing kept: "all", "random", "PMI" and
            "AFLite"; only "all" with the method "none".
        aflite: what AFLite did; None when it was not run.
        mirror: what the mirror filter did, and the units that it counts; None when not run.
        again: how much of what the chosen method removed other runs of it remove too, by what is
            other about them (`OTHERS`); empty if none was run.
        pmi_label: the correct option that y = 1 of PMI filtering stands for.
        separability: how many units have vectors that differ; None if that was not counted.
    """

    pool: Dataset
    X: NDArray[Any]
    y: NDArray[Any]
    method: str
    subsets: Mapping[str, Rows]
    aflite: debias.AfliteResult | None
    again: Mapping[str, debias.RunOverlap] = field(default_factory=dict)
    mirror: tuple[debias.MirrorResult, debias.TwinUnits] | None = None
    pmi_label: debias.PmiLabel = "first-mentioned"
    separability: debias.Separability | None = None

    @property
    def blind(self) -> str:
        """Why the vectors can't be filtered or guessed by; "" if they can."""
        found = self.separability
        if found is None or not found.is_blind:
            return ""
        return (
            f"not measured: for {found.units - found.seen:,} of {found.units:,} twins and singles "
            "the vectors are the same whichever answer is right, so no model can guess it; use an "
            "encoder that reads these texts"
        )

    @property
    def options(self) -> Rows | None:
        """How many options each problem has, where there are vectors of each; otherwise None."""
        if self.X.ndim == 2:
            return None
        return np.array([len(problem.options) for problem in self.pool], np.intp)

    @property
    def chosen(self) -> str:
        """The subset that the chosen method kept, by its name in `subsets`."""
        return NAMES[self.method]

    @property
    def kept(self) -> Rows:
        """The ascending rows that the chosen method kept."""
        return self.subsets[self.chosen]

    @cached_property
    def blocks(self) -> list[list[int]]:
        """The rows that are never parted where something is held out; see `winosmith.blocks`."""
        return blocks(self.pool)

    @cached_property
    def reasons(self) -> dict[int, str]:
        """Why each dropped row was dropped."""
        gone = np.setdiff1d(self.subsets["all"], self.kept)
        return {int(row): self._reason(int(row)) for row in gone}

    def _reason(self, row: int) -> str:
        if self.method == "aflite" and self.aflite is not None:
            phase, score = self.aflite.removed_in[row], self.aflite.scores[row]
            return f"guessed: by {percent(score, 0)} of the ensemble in phase {phase + 1}"
        if self.mirror is not None:
            return _by_margin(self.mirror[0], self._unit_of[row])
        if self.method == "pmi" and row not in self._halves:
            return "random: drawn by the seed, as a single has no score, at the rate of the twins"
        if self.method == "pmi":
            return "association: the words of the twin lean to its answers"
        return "random: drawn by the seed"

    @cached_property
    def _unit_of(self) -> dict[int, int]:
        units = self.mirror[1].rows if self.mirror is not None else ()
        return {row: unit for unit, rows in enumerate(units) for row in rows}

    @cached_property
    def _halves(self) -> frozenset[int]:
        return frozenset(row for twin in self.pool.twins for row in twin)


NAMES = {"none": "all", "random": "random", "pmi": "PMI", "aflite": "AFLite", "mirror": "mirror"}
"""The methods, as the report calls what they keep."""


def _by_margin(found: debias.MirrorResult, unit: int) -> str:
    margin = f"guessed: with a margin of {found.margins[unit]:.2f} by models that never saw it"
    if found.threshold is not None:
        return f"{margin}; the threshold is {found.threshold:.2f}"
    return f"{margin}; of those {percent(found.leaving[unit], 0)} are too many, and go by lot"


def run_filter(
    pool: Dataset,
    X: NDArray[Any],
    chosen: FilterRecipe,
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
    """Filter a pool of problems by its vectors and answers.

    The random reduction and the PMI filter keep as many problems as the chosen method does, so
    that the comparison is fair.

    Args:
        pool: the problems.
        X: (n, d) their vectors; (n, K, d), one an option, where a problem has more than two.
        chosen: the recipe's table.
        seed: of every draw.
        on_phase: see `debias.aflite`.
        on_draw: see `debias.aflite`.
        on_run: see `debias.mirror`.
        checkpoint: see `debias.aflite`.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.
        baselines: whether the others are run, too; without them only what the method needs.

    Raises:
        DataError: problems that can't be filtered; see `debias.aflite`.
        OutputError: the checkpoint is of another run.
    """
    y = debias.problem_labels(pool) if X.ndim == 2 else debias.choice_keys(pool)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    everything = np.arange(len(pool))
    if chosen.method == "none":
        return FilterRun(pool, X, y, chosen.method, {"all": everything}, None)
    if chosen.method == "mirror":
        return _mirrored(pool, X, y, chosen, seed, executor, on_run, baselines)
    result = None
    if chosen.method == "aflite" or chosen.keep is None:
        result = debias.aflite(
            X,
            y,
            **_settings(pool, chosen),
            seed=seed,
            executor=executor,
            on_phase=on_phase,
            on_draw=on_draw,
            checkpoint=checkpoint,
            scratch=scratch,
        )
    size = chosen.keep or 0
    if result is not None and chosen.keep is None:
        size = len(result.kept)
    if size > len(pool):
        raise DataError(f"filter.keep is {size}, but only {len(pool)} problems went in")
    subsets = {"all": everything}
    if baselines or chosen.method == "random":
        subsets["random"] = debias.subsample(len(pool), size, seed=seed)
    if (baselines and X.ndim == 2) or chosen.method == "pmi":
        subsets["PMI"] = _by_pmi(pool, size, chosen, seed)
    if result is not None:
        subsets["AFLite"] = result.kept
    return FilterRun(pool, X, y, chosen.method, subsets, result, pmi_label=chosen.pmi_label)


def _mirrored(
    pool: Dataset,
    X: NDArray[Any],
    y: NDArray[Any],
    chosen: FilterRecipe,
    seed: int,
    executor: Executor | None,
    on_run: Callable[[int, int], object] | None,
    baselines: bool,
) -> FilterRun:
    """Run the mirror filter, which counts whole twins."""
    units = debias.twin_units(pool, X) if X.ndim == 2 else debias.option_units(pool, X)
    found = debias.mirror(
        units.V,
        items=None if units.items is None else units.items.tolist(),
        key=units.key,
        blocks=units.blocks,
        kinds=units.kinds,
        ids=units.ids,
        aim=chosen.aim,
        error=chosen.error,
        folds=chosen.folds,
        repeats=chosen.repeats,
        C=chosen.C,
        seed=seed,
        executor=executor,
        on_run=on_run,
    )
    kept = units.rows_of(found.kept)
    subsets = {"all": np.arange(len(pool)), NAMES["mirror"]: kept}
    if baselines:
        subsets["random"] = debias.subsample(len(pool), len(kept), seed=seed)
    if baselines and X.ndim == 2:
        subsets["PMI"] = _by_pmi(pool, len(kept), chosen, seed)
    return FilterRun(
        pool,
        X,
        y,
        chosen.method,
        subsets,
        None,
        mirror=(found, units),
        pmi_label=chosen.pmi_label,
    )


def _by_pmi(pool: Dataset, size: int, chosen: FilterRecipe, seed: int) -> Rows:
    """Return the rows that PMI filtering keeps."""
    found = debias.pmi(pool, size=size, variant=chosen.pmi, label=chosen.pmi_label, seed=seed)
    return found.kept


OTHERS = ("another seed", "shaken vectors")
"""What another run of a filter may differ in."""


def run_again(
    run: FilterRun,
    chosen: FilterRecipe,
    other: str,
    *,
    seed: int,
    scratch: str | Path | None = None,
    **how: Any,
) -> FilterRun:
    """Return a run that also says how much of what it removed another one removes.

    Nothing else of it changes. What the vectors have no part in (a random reduction, PMI) is not
    run again on shaken ones, and what does not depend on the seed is told to be the same. `other`
    is one of `OTHERS`; another seed is the one after `seed`.
    """
    by_vectors = run.method in ("aflite", "mirror")
    if run.method == "none" or (not by_vectors and other == OTHERS[1]):
        return run
    if not len(run.kept) or (run.aflite is not None and not run.aflite.phases):
        return run  # there was nothing to choose
    size = None if by_vectors else len(run.kept)
    keep = chosen.keep if size is None else size
    asked = replace(chosen, keep=keep, null="off")  # a report costs, and changes nothing
    more: dict[str, Any] = {"scratch": scratch, "baselines": False, **how}
    if other == OTHERS[1]:
        with debias.perturb_vectors(run.X, run.pool.ids, seed=seed, scratch=scratch) as X:
            found = run_filter(run.pool, X, asked, seed=seed, **more)
    else:
        found = run_filter(run.pool, run.X, asked, seed=seed + 1, **more)
    compared = debias.compare_runs(run.kept, found.kept, len(run.pool))
    return replace(run, again={**run.again, other: compared})


def filtered(
    pool: Dataset,
    X: NDArray[Any],
    chosen: FilterRecipe,
    *,
    seed: int,
    folder: OutputFolder,
    name: str,
    step: Step,
    how: Mapping[str, Any] | None = None,
    separability: debias.Separability | None = None,
) -> FilterRun:
    """Run the chosen filter and, unless the recipe says no, its other runs.

    If the vectors are blind, a filter that depends on them removes nothing.

    Each has a checkpoint of its own. All stay until the last run is complete, so that after an
    interrupt none is done twice. `X` are the (n, d) vectors of the pool; `how` is the executor and
    the scratch folder of `debias.aflite`; `separability` counts the units
    whose vectors differ.
    """
    if separability is not None and separability.is_blind and _by_vectors(chosen):
        y = debias.problem_labels(pool) if X.ndim == 2 else debias.choice_keys(pool)
        everything = np.arange(len(pool))
        subsets = {"all": everything, NAMES[chosen.method]: everything}
        return FilterRun(pool, X, y, chosen.method, subsets, None, separability=separability)
    shared: dict[str, Any] = {"seed": seed, **(how or {})}
    with folder.scratch(name) as first:
        with step("filtering", len(pool)) as advance:
            more = {**shared, **_watched(advance, len(pool), chosen.repeats)}
            run = run_filter(pool, X, chosen, checkpoint=first, **more)
            run = replace(run, separability=separability)
        if not chosen.again:
            return run
        stem, dot, suffix = name.rpartition(".")
        with (
            folder.scratch(f"{stem}-seed{dot}{suffix}") as second,
            folder.scratch(f"{stem}-shaken{dot}{suffix}") as third,
        ):
            for other, checkpoint in zip(OTHERS, (second, third), strict=True):
                with step(f"again, {other}", len(pool)) as advance:
                    more = {**shared, **_watched(advance, len(pool), chosen.repeats)}
                    run = run_again(run, chosen, other, checkpoint=checkpoint, **more)
    return run


def _by_vectors(chosen: FilterRecipe) -> bool:
    """Return whether vectors decide what goes, or how many."""
    drawn = chosen.method in ("random", "pmi")
    return chosen.method in ("aflite", "mirror") or (drawn and chosen.keep is None)


def _watched(advance: Advance, problems: int, repeats: int) -> dict[str, Callable[..., Any]]:
    """Return what `run_filter` is to call, so that each phase, draw of a null, and run is shown.

    `repeats` is the deals of a run of mirror.
    """
    gone = 0

    def on_phase(phase: debias.Phase) -> None:
        nonlocal gone
        gone = problems - phase.size + phase.removed
        advance(gone, f"phase {phase.number + 1}")

    def on_draw(phase: int, done: int) -> None:
        advance(gone, f"phase {phase + 1}, draw {done} of its null")

    def on_run(done: int, runs: int) -> None:
        turned = "" if runs == 1 else f", {runs - 1} of them with turned keys"
        deals = "" if repeats == 1 else f", {repeats} deals each"
        advance(problems * done // runs, f"run {done} of {runs}{turned}{deals}")

    return {"on_phase": on_phase, "on_draw": on_draw, "on_run": on_run}


def kept_apart(
    run: FilterRun, chosen: FilterRecipe, *, seed: int, **how: Any
) -> Callable[[Rows], Rows]:
    """Return the filter as `debias.verify` runs it: rows of the pool in, those that it keeps out.

    It sees these rows and no others. What the recipe says in numbers of problems, and what a
    reduction kept of the whole pool, becomes the same share of fewer. `how` is as for `run_filter`.
    """

    def kept(rows: Rows) -> Rows:
        if chosen.method == "none":
            return rows
        asked = _of_fewer(run, chosen, len(rows))
        half = run.pool.select(rows.tolist())
        # halves are filtered at the same time, so each gets its part of the processors
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // debias.AT_ONCE)) as threads:
            given = {**how, "executor": how.get("executor") or threads}
            found = run_filter(half, run.X[rows], asked, seed=seed, baselines=False, **given)
        return rows[found.kept]

    return kept


def _of_fewer(run: FilterRun, chosen: FilterRecipe, rows: int) -> FilterRecipe:
    """Return a filter's table for a part of the pool, by the shares that it has of the whole."""

    def part(value: int | None, least: int = 1) -> int | None:
        return None if value is None else max(least, round(value * rows / len(run.pool)))

    size = len(run.kept) if chosen.method in ("random", "pmi") else chosen.keep
    cutoff = chosen.cutoff
    return replace(
        chosen,
        train_size=part(chosen.train_size, 2),
        cutoff=part(cutoff) if isinstance(cutoff, int) else cutoff,
        target_size=part(chosen.target_size),
        keep=part(size),
        null="off",  # a report costs, and changes nothing
    )


def _settings(pool: Dataset, chosen: FilterRecipe) -> dict[str, Any]:
    """Return what the recipe's table says, as `debias.aflite` takes it."""
    train_size, cutoff = debias.suggest_sizes(len(pool))
    whole = chosen.remove == "twins"
    held = None  # finding the blocks takes a second; only two settings need them
    if chosen.null != "off" or (chosen.whole_twins and not whole):
        held = _numbers(blocks(pool), len(pool))
    return {
        "ensemble_size": chosen.ensemble_size,
        "train_size": chosen.train_size or train_size,
        "cutoff": chosen.cutoff or cutoff,
        "threshold": chosen.threshold,
        "C": chosen.C,
        "ids": pool.ids,
        "groups": _numbers(whole_twins(pool), len(pool))
        if whole
        else (held if chosen.whole_twins else None),
        "target_size": chosen.target_size,
        "remove": "groups" if whole else "rows",
        "null": chosen.null,
        "null_draws": chosen.null_draws,
        "twins": held,
    }


def _numbers(groups: Sequence[Sequence[int]], rows: int) -> list[int | None]:
    """Return the number of each row's group; None for a row that is alone."""
    held: list[int | None] = [None] * rows
    for number, group in enumerate(groups):
        for row in group if len(group) > 1 else ():
            held[row] = number
    return held


PROBE_ROWS = 10_000
"""The most problems that a probe is given: more make it slower, and its interval hardly narrower
(at 10,000 it is one per cent to either side)."""


FOLDS = 5
"""Parts that a probe is cross-validated in; as many as there are blocks where these are fewer."""


@dataclass(frozen=True, eq=False)
class Measures(Result):
    """The numbers of a filter and its baselines.

    Attributes:
        signature: what they depend on.
        assessment: PCA and KL of each subset; None if a problem has more than two options, or the
            vectors are blind.
        before: what a linear model guesses of the problems that went in, cross-validated; None
            with fewer than two blocks, so that nothing can be held out, or with blind vectors.
        verified: what is guessed before and after the filter, across halves that were filtered
            apart; or why that is not known.
        excess: rows at the threshold in the first phase, and how many there are when the answers
            of whole blocks are flipped; None without AFLite.
        found: for each subset, what it found of what was planted; None when nothing is known.
    """

    signature: Signature
    assessment: debias.Assessment | None
    before: debias.Probe | None
    excess: debias.Null | None
    found: Mapping[str, practice.Found] | None
    verified: debias.Verification | str = field(
        metadata={"json": lambda of: None if isinstance(of, str) else of}
    )

    @property
    @computed(**IF_ANY)
    def not_verified(self) -> str:
        """Why it is not known what is guessed after the filter; empty if it is known."""
        return self.verified if isinstance(self.verified, str) else ""


STRANGER = "stranger"
"""What the report calls the guesser that reads hashed words, see `embed.HashedEmbedder`; of
questions, and of problems with more options, it reads the letters of the options alone."""


def by_letters(run: FilterRun) -> bool:
    """Return whether the stranger reads letters of options: there are no words around a blank."""
    return run.options is not None or any(problem.blank is None for problem in run.pool)


NOT_ASKED = "not measured, as the recipe says: measure.splits is 0"
"""What is reported in place of a figure that nobody asked for."""


def verified(
    run: FilterRun,
    chosen: FilterRecipe,
    *,
    splits: int,
    seed: int,
    combined: str,
    step: Step,
    how: Mapping[str, Any] | None = None,
) -> debias.Verification | str:
    """Return what is guessed across halves that are filtered apart, or why that is not known.

    `combined` is how the embedder combines options, see `_debias.combining`; `splits` is how often
    the problems are dealt to halves, 0 for never.
    """
    if run.blind:
        return run.blind
    if not splits:
        return NOT_ASKED
    turned = combined == "concat" and run.X.ndim == 2
    letters = embed.OptionsEmbedder(features="letters")
    if run.options is not None:
        stranger = letters.embed_options(run.pool)
    else:
        stranger = (letters if by_letters(run) else embed.HashedEmbedder()).embed(run.pool)
    with step("filtering halves apart", 4 * splits) as advance:
        try:
            return debias.verify(
                antisymmetric(run.X) if turned else run.X,
                run.y,
                kept_apart(run, chosen, seed=seed, **(how or {})),
                blocks=run.blocks,
                ids=run.pool.ids,
                options=run.options,
                others={STRANGER: stranger},
                turns=bool(combined),
                splits=splits,
                seed=seed,
                on_step=lambda done, _: advance(done, ""),
            )
        except DataError as error:
            return f"not measured: {error}"


def antisymmetric(X: NDArray[Any]) -> NDArray[Any]:
    """Return what of two vectors in a row turns around when these change places."""
    width = X.shape[1] // 2
    return np.asarray(X[:, :width] - X[:, width:])


def measure(
    run: FilterRun,
    *,
    signature: Signature,
    seed: int,
    null_draws: int,
    shown: Sequence[int],
    turns: bool,
    planted: Mapping[str, str] | None = None,
    how: Mapping[str, Any] | None = None,
    guessed: debias.Verification | str = NOT_ASKED,
) -> Measures:
    """Measure what a filter did.

    Args:
        run: the filter's.
        signature: of the numbers.
        seed: of the nulls and the probes.
        null_draws: of twin-flipped labels.
        shown: the rows of the pool that may appear in a picture, one by one.
        turns: whether swapping the options of a problem turns its vector around.
        planted: the artifact of each planted problem, by its id in the pool.
        how: the executor and the scratch folder of `debias.threshold_null`.
        guessed: what `verified` found.
    """
    assessment = None
    if run.options is None and not run.blind:
        assessment = debias.assess(
            run.X,
            run.y,
            run.subsets,
            groups=run.pool.groups,
            blocks=run.blocks,
            turns=turns,
            settings=debias.AssessmentSettings(seed=seed),
            shown=shown,
        )
    return Measures(
        signature=signature,
        assessment=assessment,
        before=None if run.blind else _probe(run, seed, turns),
        verified=guessed,
        excess=_excess(run, seed, null_draws, how or {}),
        found=_found(run, planted),
    )


def _probe(run: FilterRun, seed: int, turns: bool) -> debias.Probe | None:
    """Probe what went in, or a draw of its blocks when it is large; None if that can't be."""
    chosen: list[int] = []
    drawn: list[range] = []
    for number in np.random.default_rng([seed, len(run.blocks)]).permutation(len(run.blocks)):
        block = run.blocks[number]
        if len(chosen) + len(block) <= PROBE_ROWS:
            drawn.append(range(len(chosen), len(chosen) + len(block)))
            chosen += block
    if len(drawn) < 2:
        return None
    folds = min(FOLDS, len(drawn))
    options = None if run.options is None else run.options[chosen]
    return debias.probe(
        run.X[chosen], run.y[chosen], drawn, options=options, turns=turns, folds=folds, seed=seed
    )


def _excess(run: FilterRun, seed: int, draws: int, how: Mapping[str, Any]) -> debias.Null | None:
    if run.aflite is None:
        return None
    if run.aflite.phases and run.aflite.phases[0].chance is not None:
        return run.aflite.phases[0].chance
    parameters = run.aflite.parameters
    if parameters["train_size"] >= len(run.y):
        return None
    return debias.threshold_null(
        run.X,
        run.y,
        run.blocks,
        ensemble_size=parameters["ensemble_size"],
        train_size=parameters["train_size"],
        threshold=parameters["threshold"],
        C=parameters["C"],
        seed=seed,
        ids=run.pool.ids,
        draws=draws,
        **how,
    )


def _found(
    run: FilterRun, planted: Mapping[str, str] | None
) -> Mapping[str, practice.Found] | None:
    if planted is None:
        return None
    ids = run.pool.ids
    return {
        name: practice.found(planted, ids, set(ids) - {ids[row] for row in rows})
        for name, rows in run.subsets.items()
    }
