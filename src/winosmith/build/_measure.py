"""What a filter did, in figures: what is still guessed, the assessment, the null, the planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, embed, practice
from winosmith.build._filter import FilterRun, kept_apart
from winosmith.build._recipe import FilterRecipe
from winosmith.errors import DataError
from winosmith.parallel import Step
from winosmith.report import Signature

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
        assessment: PCA and KL of each subset; None where a problem has more than two options.
        before: what a linear model guesses of the problems that went in, cross-validated; None
            where there are fewer than two blocks, so that nothing can be held out.
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
    verified: debias.Verification | str

    def record(self) -> dict[str, Any]:
        """Return the figures as JSON can hold them, unrounded."""
        known = isinstance(self.verified, debias.Verification)
        return {
            "signature": str(self.signature),
            "assessment": self.assessment and self.assessment.to_json(),
            "before": self.before and asdict(self.before),
            "verified": asdict(self.verified) if known else None,  # type: ignore[arg-type]
            **({} if known else {"not_verified": self.verified}),
            "excess": self.excess and asdict(self.excess),
            "found": self.found and {name: asdict(found) for name, found in self.found.items()},
        }


STRANGER = "stranger"
"""What the report calls the guesser that reads hashed words, see `embed.HashedEmbedder`; of
questions, and of problems with more options, it reads the letters of the options alone."""


def by_letters(run: FilterRun) -> bool:
    """Tell whether the stranger reads letters of options: there are no words around a blank."""
    return run.options is not None or any(problem.blank is None for problem in run.pool)


NOT_ASKED = "not measured, as the recipe says: measure.splits is 0"
"""What is told in place of a figure that nobody asked for."""


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

    Args:
        run: the filter's.
        chosen: the recipe's table, by which it ran.
        splits: how often problems are dealt to halves; 0 for never.
        seed: of every draw.
        combined: how the embedder combines options; see `_vectors.combining`.
        step: shows progress.
        how: the executor and the scratch folder of `run_filter`.
    """
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
                _antisymmetric(run.X) if turned else run.X,
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


def _antisymmetric(X: NDArray[Any]) -> NDArray[Any]:
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
        signature: of the figures.
        seed: of the nulls and the probes.
        null_draws: of twin-flipped labels.
        shown: the rows of the pool that may stand in a picture, one by one.
        turns: whether swapping the options of a problem turns its vector around.
        planted: the artifact of each planted problem, by its id in the pool.
        how: the executor and the scratch folder of `debias.threshold_null`.
        guessed: what `verified` found.
    """
    assessment = None
    if run.options is None:
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
        before=_probe(run, seed, turns),
        verified=guessed,
        excess=_excess(run, seed, null_draws, how or {}),
        found=_found(run, planted),
    )


def _probe(run: FilterRun, seed: int, turns: bool) -> debias.Probe | None:
    """Probe what went in, or a draw of its blocks when it is large; None where that can't be."""
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
