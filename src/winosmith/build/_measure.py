"""What a filter did, in figures: the assessment, the probes, the nulls, the planted artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, practice
from winosmith.build._filter import FilterRun, Rows
from winosmith.report import Signature

__all__ = ["Measures", "measure"]

PROBE_ROWS = 10_000
"""The most problems that a probe is given: more make it slower, and its interval hardly narrower
(at 10,000 it is one per cent to either side)."""


FOLDS = 5
"""Parts that a probe is cross-validated in; as many as there are blocks where these are fewer."""


@dataclass(frozen=True, eq=False)
class Measures:
    """The figures of a filter and its baselines.

    Attributes:
        signature: what they depend on.
        assessment: PCA and KL of each subset.
        probes: for each subset, what a linear model can guess of it; None where it has fewer than
            two blocks, so that nothing can be held out.
        removed_to_kept: what a linear model trained on the removed guesses of the kept; None when
            too few were removed, or all is one block.
        excess: rows at the threshold in the first phase, and how many there are when the answers
            of whole blocks are flipped; None without AFLite.
        panel: for each embedder that voted, what a linear model of its vectors guesses before and
            after the vote; None without one.
        found: for each subset, what it found of what was planted; None when nothing is known.
    """

    signature: Signature
    assessment: debias.Assessment
    probes: Mapping[str, debias.Probe | None]
    removed_to_kept: debias.Probe | None
    excess: debias.Null | None
    found: Mapping[str, practice.Found] | None
    panel: Mapping[str, tuple[debias.Probe | None, debias.Probe | None]] | None = None

    def record(self) -> dict[str, Any]:
        """Return the figures as JSON can hold them, unrounded."""
        panel = {
            name: {"before": before and asdict(before), "after": after and asdict(after)}
            for name, (before, after) in (self.panel or {}).items()
        }
        return {
            "signature": str(self.signature),
            "assessment": self.assessment.to_json(),
            "probes": {name: probe and asdict(probe) for name, probe in self.probes.items()},
            "removed_to_kept": self.removed_to_kept and asdict(self.removed_to_kept),
            "excess": self.excess and asdict(self.excess),
            "found": self.found and {name: asdict(found) for name, found in self.found.items()},
            **({"panel": panel} if panel else {}),
        }


def measure(
    run: FilterRun,
    *,
    signature: Signature,
    seed: int,
    null_draws: int,
    shown: Sequence[int],
    turns: Sequence[bool],
    planted: Mapping[str, str] | None = None,
    how: Mapping[str, Any] | None = None,
) -> Measures:
    """Measure what a filter did.

    Args:
        run: the filter's.
        signature: of the figures.
        seed: of the nulls and the probes.
        null_draws: of twin-flipped labels.
        shown: the rows of the pool that may stand in a picture, one by one.
        turns: for each embedder, that of `run.X` first, whether swapping the options of a problem
            turns its vector around.
        planted: the artifact of each planted problem, by its id in the pool.
        how: the executor and the scratch folder of `debias.threshold_null`.
    """
    assessment = debias.assess(
        run.X,
        run.y,
        run.subsets,
        groups=run.pool.groups,
        blocks=run.blocks,
        turns=turns[0],
        settings=debias.AssessmentSettings(seed=seed),
        shown=shown,
    )
    return Measures(
        signature=signature,
        assessment=assessment,
        probes={
            name: _probe(run, run.X, rows, seed, turns[0]) for name, rows in run.subsets.items()
        },
        removed_to_kept=_removed_to_kept(run, seed, turns[0]),
        excess=_excess(run, seed, null_draws, how or {}),
        found=_found(run, planted),
        panel={
            name: (
                _probe(run, X, run.subsets["all"], seed, turn),
                _probe(run, X, run.kept, seed, turn),
            )
            for turn, (name, X) in zip(turns, run.Xs.items(), strict=False)
        }
        or None,
    )


def _probe(
    run: FilterRun, X: NDArray[Any], rows: Rows, seed: int, turns: bool
) -> debias.Probe | None:
    """Probe a subset, or a draw of its blocks when it is large; None where fewer than two fit."""
    there = set(rows.tolist())
    within = [[row for row in block if row in there] for block in run.blocks]
    groups = [block for block in within if block]
    chosen: list[int] = []
    drawn: list[range] = []
    for number in np.random.default_rng([seed, len(groups)]).permutation(len(groups)):
        if len(chosen) + len(groups[number]) <= PROBE_ROWS:
            drawn.append(range(len(chosen), len(chosen) + len(groups[number])))
            chosen += groups[number]
    if len(drawn) < 2:
        return None
    folds = min(FOLDS, len(drawn))
    return debias.probe(X[chosen], run.y[chosen], drawn, turns=turns, folds=folds, seed=seed)


def _removed_to_kept(run: FilterRun, seed: int, turns: bool) -> debias.Probe | None:
    removed = np.setdiff1d(run.subsets["all"], run.kept)[:PROBE_ROWS]
    if len(np.unique(run.y[removed])) < 2 or not len(run.kept) or len(run.blocks) < 2:
        return None
    return debias.probe_across(run.X, run.y, removed, run.kept, run.blocks, turns=turns, seed=seed)


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
        classifier=parameters["classifier"],
        kernel=parameters["kernel"],
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
