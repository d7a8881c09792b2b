"""Embed, filter and measure the filter, for `winosmith build` and `winosmith debias`.

The filter is compared with baselines and with runs with other seeds. It is verified across halves
that are filtered separately. Interrupted work can be resumed.
"""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, embed, models, practice
from winosmith.build import _filter
from winosmith.build._recipe import Copies, get_embedder_input, has_many_options
from winosmith.dataset import Dataset
from winosmith.errors import DataError, RecipeError
from winosmith.options import EmbedRecipe, FilterRecipe
from winosmith.outputs import OutputFolder, sha256
from winosmith.parallel import Advance, Step
from winosmith.records import parse_json
from winosmith.report import Signature
from winosmith.results import IF_ANY, Result, computed

Vectors = NDArray[Any]
"""Shape (n, d), or (n, K, d) with one vector per option if a problem has more than two options."""


def check_option_counts(
    dataset: Dataset, embedding: EmbedRecipe, filter_recipe: FilterRecipe
) -> None:
    many = [problem for problem in dataset if len(problem.options) > 2]
    if not many:
        return
    what = (
        f"{len(many)} of {len(dataset)} problems have more than two options, such as "
        f"{many[0].id!r}; "
    )
    drawn = filter_recipe.method == "random" and filter_recipe.keep is not None
    if filter_recipe.method not in ("mirror", "none") and not drawn:
        raise DataError(
            what + f"{filter_recipe.method} filters only problems with two options; choose the "
            "method 'mirror', or 'random' with `keep`"
        )
    if embedding.array is not None:
        raise DataError(
            what + "a file of vectors has only one vector per problem; name an encoder, or pass "
            "the options' vectors to `winosmith.debias.mirror`"
        )
    if embedding.encoder == "light" and embedding.reads == "sentence":
        raise DataError(
            what
            + "the light embedder reads only sentences with two options; name an encoder, or use "
            'reads = "options"'
        )
    if embedding.finetune_train:
        raise DataError(what + "an encoder can only be fine-tuned on problems with two options")


def check_vector_symmetry(embedding: EmbedRecipe, filter_recipe: FilterRecipe) -> None:
    if filter_recipe.method == "mirror" and get_combination(embedding) != "difference":
        raise RecipeError(
            "the mirror filter needs vectors that change sign when options are swapped: set "
            'combine = "difference", or use a file that `winosmith embed` wrote with combine = '
            '"difference". For other arrays, use `winosmith.debias.mirror`'
        )


def get_combination(embed_recipe: EmbedRecipe) -> str:
    """Return "difference", "concat", or "" if unknown.

    For a file of vectors, the combination is known only if `winosmith embed` wrote the file.
    """
    if embed_recipe.array is None:
        return embed_recipe.combine
    if not zipfile.is_zipfile(embed_recipe.array):
        return ""
    with np.load(embed_recipe.array, allow_pickle=False) as arrays:
        written = str(arrays["signature"]) if "signature" in arrays.files else "{}"
    try:
        return str(parse_json(written)["parameters"]["combine"])
    except (ValueError, KeyError, TypeError):
        return ""


def convert_to_differences(X: NDArray[Any], combination: str) -> NDArray[Any]:
    """Convert concatenated vectors to differences, whose sign flips if options are swapped."""
    if combination != "concat" or X.ndim != 2:
        return X
    width = X.shape[1] // 2
    return np.asarray(X[:, :width] - X[:, width:])


@dataclass(frozen=True, eq=False)
class Measures(Result):
    """Measurements of a filter and its baselines.

    Attributes:
        signature: the signature of all parameters that determine the measurements.
        assessment: PCA and KL divergence of each subset; None if a problem has more than two
            options, or if the vectors are blind.
        before: the cross-validated accuracy of a linear model on the pool; None for blind vectors,
            or with fewer than two blocks (nothing can be held out).
        verification: accuracies before and after the filter, across halves that were filtered
            separately; or the reason why they were not measured.
        threshold_null: the number of rows at the threshold in the first phase, and its null when
            the answers of whole blocks are flipped; None if AFLite was not run.
        recalls: the recall of planted artifacts by subset; None if no artifacts were planted.
    """

    signature: Signature
    assessment: debias.Assessment | None
    before: debias.Probe | None
    threshold_null: debias.NullTest | None = field(metadata={"key": "excess"})
    recalls: Mapping[str, practice.FilterRecall] | None = field(metadata={"key": "found"})
    verification: debias.Verification | str = field(
        metadata={"key": "verified", "json": lambda of: None if isinstance(of, str) else of}
    )

    @property
    @computed(**IF_ANY)
    def not_verified(self) -> str:
        """The reason why the accuracy after the filter was not measured, or ""."""
        return self.verification if isinstance(self.verification, str) else ""


INDEPENDENT = "independent"
"""The key in `report.json` of the independent model, which reads hashed words
(`embed.HashedEmbedder`). For questions or more than two options, it reads only the letters of the
options."""


def independent_model_reads_letters(run: _filter.FilterRun) -> bool:
    """Return whether the independent model reads letters of options instead of words."""
    return run.options is not None or any(problem.blank is None for problem in run.pool)


NOT_MEASURED = "not measured: measure.splits is 0 in the recipe"
"""Reason given for a measurement that was turned off."""


@dataclass(frozen=True, eq=False)
class Filtering:
    """The parameters for embedding, filtering and measuring.

    Attributes:
        splits: number of splits into halves that are filtered separately; 0 for none.
        notes_file: the file of the embedder's notes; None to skip the notes.
        memory_map_bytes: size in bytes above which vectors are memory-mapped instead of read; None
            to always read them.
        execution: the arguments `executor` and `scratch` of `debias.aflite`.
        checkpoints: the stack of the filter's checkpoints; when the results are written, the caller
            closes the stack, which removes the checkpoints.
    """

    embed: EmbedRecipe
    filter: FilterRecipe
    splits: int
    seed: int
    folder: OutputFolder
    step: Step
    vectors_file: str = "embeddings.npy"
    phases_file: str = "phases.npz"
    notes_file: str | None = None
    memory_map_bytes: int | None = None
    execution: Mapping[str, Any] = field(default_factory=dict)
    checkpoints: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def run(
        self,
        collected: Dataset,
        pool: Dataset,
        collected_ids: Sequence[str],
        tuning: tuple[Dataset, Dataset] | None = None,
    ) -> tuple[_filter.FilterRun, Mapping[str, Any]]:
        """Embed and filter the pool, reusing computed vectors; also return the embedder's notes.

        `collected` and `pool` are the same problems: `collected` has the original ids, and `pool`
        has the ids that decide ties in the filter. `collected_ids` are the ids of all collected
        problems, in the row order of an array without ids. `tuning` is the training and the dev set
        for fine-tuning an encoder.
        """
        check_option_counts(collected, self.embed, self.filter)
        folder, name, notes_in = self.folder, self.vectors_file, self.notes_file
        if not (folder.is_finished(name) and (notes_in is None or folder.is_finished(notes_in))):
            with self.step("embedding", len(collected)) as advance:
                X, notes = self._embed_pool(collected, collected_ids, tuning, advance)
            if notes_in is not None:
                with folder.write(notes_in) as file:
                    json.dump(notes, file, indent=1)
            with folder.write(name, "wb") as file:
                np.save(file, X, allow_pickle=False)
        notes = {} if notes_in is None else parse_json((folder.path / notes_in).read_text("utf-8"))
        path = folder.path / name
        mapped = self.memory_map_bytes is not None and path.stat().st_size > self.memory_map_bytes
        return self._run_filters(
            pool, np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        ), notes

    def _embed_pool(
        self,
        pool: Dataset,
        collected_ids: Sequence[str],
        tuning: tuple[Dataset, Dataset] | None,
        advance: Advance,
    ) -> tuple[Vectors, dict[str, Any]]:
        recipe = self.embed
        if recipe.array is not None:
            array = embed.load_array(recipe.array, ids=collected_ids)
            return array.embed(pool), {"embedder": "array"}
        alone = get_embedder_input(recipe, pool) == "options"
        if recipe.encoder == "light" and not alone:
            light = embed.LightEmbedder(recipe.dimensions, combine=recipe.combine)
            return light.embed(pool), light.parameters
        if tuning is None or not recipe.finetune_train:
            embedder = (
                embed.OptionsEmbedder(recipe.dimensions, combine=recipe.combine)
                if recipe.encoder == "light"
                else embed.EncoderEmbedder(
                    recipe.encoder,
                    pooling=recipe.pooling or "mean",
                    combine=recipe.combine,
                    reads="options" if alone else "sentence",
                    on_progress=lambda done, _: advance(done, ""),
                )
            )
            X = embedder.embed_options(pool) if has_many_options(pool) else embedder.embed(pool)
            return X, embedder.parameters
        tuner, tuned = embed.finetune_embedder(
            *tuning,
            model=recipe.encoder,
            out=(self.folder.path / self.vectors_file).parent / "encoder",
            settings=models.TrainingSettings(
                seed=self.seed,
                weight_decay=recipe.finetune_weight_decay,
                dropout=recipe.finetune_dropout,
            ),
            pooling=recipe.pooling or "cls",
            combine=recipe.combine,
            on_step=lambda done, of, note: advance(0, f"fine-tuning: step {done} of {of} {note}"),
        )
        notes = {"finetuned": tuned.message, "at_chance": tuned.at_chance}
        return tuner.embed(pool), {**tuner.parameters, **notes}

    def _run_filters(self, pool: Dataset, X: Vectors) -> _filter.FilterRun:
        """Run the filter and, unless turned off, its comparison runs.

        If the vectors are blind, a filter that depends on them removes nothing. Each run has its
        own checkpoint, which is kept until the results are written, so that no run is repeated.
        """
        recipe, combined = self.filter, get_combination(self.embed)
        separability = debias.measure_separability(
            pool, convert_to_differences(X, combined), flips_sign=bool(combined)
        )
        by_vectors = recipe.method in ("aflite", "mirror") or (
            recipe.method != "none" and recipe.keep is None
        )  # the vectors determine the removals or their number
        if separability.is_blind and by_vectors:
            run = _filter.run_filter(pool, X, replace(recipe, method="none"), seed=self.seed)
            subsets = {**run.subsets, _filter.METHOD_NAMES[recipe.method]: run.kept}
            return replace(run, method=recipe.method, subsets=subsets, separability=separability)
        stem, dot, suffix = self.phases_file.rpartition(".")
        with self.step("filtering", len(pool)) as advance:
            run = _filter.run_filter(
                pool,
                X,
                recipe,
                checkpoint=self.checkpoints.enter_context(self.folder.scratch(self.phases_file)),
                **self._make_callbacks(advance, len(pool)),
            )
        run = replace(run, separability=separability)
        files = zip(_filter.OTHER_RUNS, ("seed", "perturbed"), strict=True) if recipe.again else ()
        for other, name in files:
            scratch = self.folder.scratch(f"{stem}-{name}{dot}{suffix}")
            checkpoint = self.checkpoints.enter_context(scratch)
            with self.step(f"again, {other}", len(pool)) as advance:
                more = self._make_callbacks(advance, len(pool))
                run = _filter.run_variant(run, recipe, other, checkpoint=checkpoint, **more)
        return run

    def _make_callbacks(self, advance: Advance, problems: int) -> dict[str, Any]:
        gone = 0

        def on_phase(phase: debias.Phase) -> None:
            nonlocal gone
            gone = problems - phase.size + phase.removed
            advance(gone, f"removed, phase {phase.number + 1}")

        def on_draw(phase: int, done: int) -> None:
            advance(gone, f"removed, phase {phase + 1}, draw {done} of its null")

        def on_run(done: int, runs: int) -> None:
            permuted = "" if runs == 1 else f", {runs - 1} of them with permuted keys"
            repeats = self.filter.repeats
            partitions = "" if repeats == 1 else f", {repeats} partitions into folds each"
            advance(problems * done // runs, f"run {done} of {runs}{permuted}{partitions}")

        calls = {"on_phase": on_phase, "on_draw": on_draw, "on_run": on_run}
        return {"seed": self.seed, **self.execution, **calls}

    def measure(
        self,
        run: _filter.FilterRun,
        *,
        digest: str,
        n: int,
        shown: Sequence[int],
        copies: Copies = "once",
        planted: Mapping[str, str] | None = None,
    ) -> Measures:
        """Measure the effect of a filter, and the accuracy of models on the kept problems.

        `digest` and `n` are the digest and the number of all collected problems. `shown` are the
        rows of the pool that charts may show individually. `planted` maps problem ids to artifacts.
        """
        guessed = self._measure_accuracies(run)
        flips_sign = get_combination(self.embed) == "difference"
        assessment, threshold_null = None, None
        ids = run.pool.ids
        with self.step("measuring", None):
            if run.options is None and not run.vector_fault:
                assessment = debias.assess(
                    run.X,
                    run.y,
                    run.subsets,
                    groups=run.pool.groups,
                    blocks=run.blocks,
                    flips_sign=flips_sign,
                    settings=debias.AssessmentSettings(seed=self.seed),
                    shown=shown,
                )
            if run.aflite is not None:
                phases, parameters = run.aflite.phases, run.aflite.parameters
                if phases and phases[0].chance is not None:
                    threshold_null = phases[0].chance
                elif parameters["train_size"] < len(run.y):
                    names = ("ensemble_size", "train_size", "threshold", "C")
                    threshold_null = debias.compute_threshold_null(
                        run.X,
                        run.y,
                        run.blocks,
                        **{name: parameters[name] for name in names},
                        seed=self.seed,
                        ids=ids,
                        draws=self.filter.null_draws,
                        **self.execution,
                    )
            return Measures(
                signature=self._make_signature(run, digest, n, copies),
                assessment=assessment,
                before=None if run.vector_fault else _probe_pool(run, self.seed, flips_sign),
                verification=guessed,
                threshold_null=threshold_null,
                recalls=None
                if planted is None
                else {
                    name: practice.measure_recall(planted, ids, {*ids} - {ids[row] for row in rows})
                    for name, rows in run.subsets.items()
                },
            )

    def _make_signature(
        self, run: _filter.FilterRun, digest: str, n: int, copies: Copies
    ) -> Signature:
        embed = self.embed
        if embed.array is not None:
            parameters: dict[str, Any] = {"array": sha256(embed.array)[:12]}
        elif embed.encoder == "light":
            parameters = {"encoder": "light", "d": embed.dimensions, "combine": embed.combine}
        else:
            parameters = {"encoder": Path(embed.encoder).name, "combine": embed.combine}
            parameters |= {"pooling": embed.pooling} if embed.pooling else {}
        if (read := get_embedder_input(embed, run.pool)) != "sentence" or run.options is not None:
            parameters |= {"reads": read}
        if run.options is not None:
            del parameters["combine"]
        parameters["method"] = run.method
        if run.aflite is not None:
            used = run.aflite.parameters
            names = {"ensemble": "ensemble_size", "m": "train_size", "k": "cutoff"}
            names |= {"tau": "threshold", "C": "C"}
            parameters |= {short: used[name] for short, name in names.items()}
            parameters |= {"groups": "twins"} if used["groups"] else {}
            if (target := used["target_size"]) is not None:
                parameters["target"] = target  # from here on, parameters that Algorithm 1 lacks
            parameters |= {"remove": "twins"} if used["remove"] != "rows" else {}
        if run.mirror is not None:
            parameters |= run.mirror[0].parameters
            del parameters["seed"]
        parameters |= {"copies": copies} if copies != "once" else {}
        return Signature(digest, n, parameters, self.seed)

    def _measure_accuracies(self, run: _filter.FilterRun) -> debias.Verification | str:
        """Return the accuracies, or the reason why they could not be measured."""
        if run.vector_fault:
            return run.vector_fault
        if not self.splits:
            return NOT_MEASURED
        combined = get_combination(self.embed)
        letters = embed.OptionsEmbedder(features="letters")
        if run.options is not None:
            independent = letters.embed_options(run.pool)
        else:
            embedder = letters if independent_model_reads_letters(run) else embed.HashedEmbedder()
            independent = embedder.embed(run.pool)
        with self.step("filtering halves separately", 4 * self.splits) as advance:
            try:
                return debias.verify(
                    convert_to_differences(run.X, combined),
                    run.y,
                    _filter.make_row_filter(run, self.filter, seed=self.seed, **self.execution),
                    blocks=run.blocks,
                    ids=run.pool.ids,
                    options=run.options,
                    others={INDEPENDENT: independent},
                    flips_sign=bool(combined),
                    splits=self.splits,
                    seed=self.seed,
                    on_step=lambda done, _: advance(done, ""),
                )
            except DataError as error:
                return f"not measured: {error}"


PROBE_ROWS = 10_000
"""Maximum number of problems for a probe. With more problems, a probe would take longer, and its
interval (±1 % with 10,000) would hardly be narrower."""


FOLDS = 5
"""Maximum number of folds for the cross-validation of a probe."""


def _probe_pool(run: _filter.FilterRun, seed: int, flips_sign: bool) -> debias.Probe | None:
    """Probe the pool, or random blocks of a large pool; return None if there is only one block."""
    chosen: list[int] = []
    drawn: list[range] = []
    for number in np.random.default_rng([seed, len(run.blocks)]).permutation(len(run.blocks)):
        block = run.blocks[number]
        if len(chosen) + len(block) <= PROBE_ROWS:
            drawn.append(range(len(chosen), len(chosen) + len(block)))
            chosen += block
    if len(drawn) < 2:
        return None
    return debias.probe(
        run.X[chosen],
        run.y[chosen],
        drawn,
        options=None if run.options is None else run.options[chosen],
        flips_sign=flips_sign,
        folds=min(FOLDS, len(drawn)),
        seed=seed,
    )
