"""Embed, filter and measure: in a build, and of one data set into a folder of its own."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, embed, formats, models, report
from winosmith.build._filter import (
    NAMES,
    FilterRun,
    Measures,
    antisymmetric,
    filtered,
    measure,
    verified,
)
from winosmith.build._pool import DISCARDED, tuned_on
from winosmith.build._publish import is_finished, problems_digest, signature_of
from winosmith.build._recipe import Copies, many_options, reading
from winosmith.build._report_filter import filter_record, filter_sections, key_figures, verdict
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.errors import DataError, RecipeError
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe
from winosmith.outputs import OutputFolder, sha256
from winosmith.parallel import Step, silent
from winosmith.records import canonical, parsed, problem_record


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors, and what making them has to say.

    Attributes:
        X: (n, d), in the order of the problems; (n, K, d), a vector an option, where a problem has
            more than two.
        notes: the embedder's parameters, and how fine-tuning went.
    """

    X: NDArray[Any]
    notes: dict[str, Any] = field(default_factory=dict)


def embedded(
    chosen: EmbedRecipe,
    pool: Dataset,
    *,
    collected_ids: Sequence[str],
    tuning: tuple[Dataset, Dataset] | None,
    work: Path,
    seed: int,
    on_progress: Callable[[int, str], None],
) -> Embedded:
    """Return the vectors of the pool.

    Args:
        chosen: the recipe's table.
        pool: the problems.
        collected_ids: the ids of everything that was collected: what the rows of an array without
            ids are.
        tuning: the problems that fine-tune the encoder, for training and for development.
        work: a folder for what fine-tuning keeps.
        seed: of fine-tuning.
        on_progress: is called with how much is done, and a note.
    """
    if chosen.array is not None:
        array = embed.load_array(chosen.array, ids=collected_ids)
        return Embedded(array.embed(pool), {"embedder": "array"})
    alone = reading(chosen, pool) == "options"
    if chosen.encoder == "light" and not alone:
        light = embed.LightEmbedder(chosen.dimensions, combine=chosen.combine)
        return Embedded(light.embed(pool), light.parameters)
    if tuning is None:
        embedder = (
            embed.OptionsEmbedder(chosen.dimensions, combine=chosen.combine)
            if chosen.encoder == "light"
            else embed.EncoderEmbedder(
                chosen.encoder,
                pooling=chosen.pooling or "mean",
                combine=chosen.combine,
                reads="options" if alone else "sentence",
                on_progress=lambda done, _: on_progress(done, ""),
            )
        )
        X = embedder.embed_options(pool) if many_options(pool) else embedder.embed(pool)
        return Embedded(X, embedder.parameters)
    tuner, tuned = embed.finetuned_embedder(
        *tuning,
        model=chosen.encoder,
        out=work,
        settings=models.TrainingSettings(
            seed=seed,
            weight_decay=chosen.finetune_weight_decay,
            dropout=chosen.finetune_dropout,
        ),
        pooling=chosen.pooling or "cls",
        combine=chosen.combine,
        on_step=lambda done, of, note: on_progress(0, f"fine-tuning: step {done} of {of} {note}"),
    )
    tuning_notes = {"finetuned": tuned.message, "at_chance": tuned.at_chance}
    return Embedded(tuner.embed(pool), {**tuner.parameters, **tuning_notes})


def turning(chosen: EmbedRecipe) -> bool:
    """Return whether swapping the options of a problem turns its vector around: by difference."""
    return combining(chosen) == "difference"


def refuse_many_options(dataset: Dataset, embedding: EmbedRecipe, chosen: FilterRecipe) -> None:
    """Refuse to filter problems with more than two options by what knows two alone.

    Raises:
        DataError: and what to do instead.
    """
    many = [problem for problem in dataset if len(problem.options) > 2]
    if not many:
        return
    told = (
        f"{len(many)} of {len(dataset)} problems have more than two options (first: "
        f"{many[0].id!r}); "
    )
    drawn = chosen.method == "random" and chosen.keep is not None
    if chosen.method not in ("mirror", "none") and not drawn:
        raise DataError(
            told + f"{chosen.method} takes those with two, mirror all (and random, if it is told "
            "how many to keep)"
        )
    if embedding.array is not None:
        raise DataError(
            told + "a file of vectors has one for each problem; name an encoder, or give the "
            "options' vectors to `winosmith.debias.mirror`"
        )
    if embedding.encoder == "light" and embedding.reads == "sentence":
        raise DataError(
            told + "the light embedder reads sentences of two; name an encoder, or let the options "
            "be read alone"
        )
    if embedding.finetune_train:
        raise DataError(told + "an encoder is fine-tuned on problems with two")


def refuse_unturned(embedding: EmbedRecipe, chosen: FilterRecipe) -> None:
    """Refuse the mirror filter on vectors that stay as they are when options are swapped.

    Raises:
        RecipeError: and what to do instead.
    """
    if chosen.method == "mirror" and not turning(embedding):
        raise RecipeError(
            "the mirror filter needs vectors that turn round when options are swapped: "
            '"difference" as combine, or a file that `winosmith embed` wrote so; of other vectors '
            "nobody knows, and `winosmith.debias.mirror` takes arrays"
        )


def combining(chosen: EmbedRecipe) -> str:
    """Return how options are combined, "difference" or "concat"; "" where nobody knows.

    Of a file of vectors it is known where `winosmith embed` wrote it.
    """
    if chosen.array is None:
        return chosen.combine
    if not zipfile.is_zipfile(chosen.array):
        return ""
    with np.load(chosen.array, allow_pickle=False) as held:
        written = str(held["signature"]) if "signature" in held.files else "{}"
    try:
        told = parsed(written)["parameters"]["combine"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(told)


PAGE = "report.html"
"""It is written last."""

LARGE = 1 << 26
"""Bytes of vectors from which on they stay in their file."""


@dataclass(frozen=True, eq=False)
class Filtering:
    """How problems become vectors, are filtered, and what is measured of that.

    A build does it after its checks, and `debias_to_folder` does nothing else.

    Attributes:
        embed, filter: tables of a recipe.
        splits: into halves that are filtered apart; 0 for none.
        seed: of every draw.
        folder: where vectors stay, and checkpoints in the meantime.
        step: shows progress.
        vectors: the file of the vectors.
        phases: the file of the filter's checkpoint.
        notes: the file of what the embedder has to say; None keeps none.
        large: bytes of vectors from which on they stay in their file; None for never.
        how: the executor and the scratch folder of `debias.aflite`.
    """

    embed: EmbedRecipe
    filter: FilterRecipe
    splits: int
    seed: int
    folder: OutputFolder
    step: Step
    vectors: str = "embeddings.npy"
    phases: str = "phases.npz"
    notes: str | None = None
    large: int | None = None
    how: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        collected: Dataset,
        pool: Dataset,
        collected_ids: Sequence[str],
        tuning: tuple[Dataset, Dataset] | None = None,
    ) -> tuple[FilterRun, Mapping[str, Any]]:
        """Embed the pool and filter it; vectors that are there are not computed again.

        The embedder's notes come with the run. `pool` is `collected` with the ids that the problems
        are filtered by, which settle ties; `tuning` is what fine-tunes an encoder, for training and
        for development.

        Raises:
            DataError: problems with more options than the filter or the embedder takes.
        """
        refuse_many_options(collected, self.embed, self.filter)
        vectors = self._embedded(collected, collected_ids, tuning)
        combined = combining(self.embed)
        turned = combined == "concat" and vectors.X.ndim == 2
        X = antisymmetric(vectors.X) if turned else vectors.X
        run = filtered(
            pool,
            vectors.X,
            self.filter,
            seed=self.seed,
            folder=self.folder,
            name=self.phases,
            step=self.step,
            how=self.how,
            separability=debias.measure_separability(pool, X, turns=bool(combined)),
        )
        return run, vectors.notes

    def _embedded(
        self,
        collected: Dataset,
        collected_ids: Sequence[str],
        tuning: tuple[Dataset, Dataset] | None,
    ) -> Embedded:
        """Return the vectors: those that are there, or new ones."""
        folder, name, notes_in = self.folder, self.vectors, self.notes
        if not (folder.finished(name) and (notes_in is None or folder.finished(notes_in))):
            with self.step("embedding", len(collected)) as advance:
                made = embedded(
                    self.embed,
                    collected,
                    collected_ids=collected_ids,
                    tuning=tuning if self.embed.finetune_train else None,
                    work=(folder.path / name).parent / "encoder",
                    seed=self.seed,
                    on_progress=advance,
                )
            if notes_in is not None:
                with folder.write(notes_in) as file:
                    json.dump(made.notes, file, indent=1)
            with folder.write(name, "wb") as file:
                np.save(file, made.X, allow_pickle=False)
        notes = {} if notes_in is None else parsed((folder.path / notes_in).read_text("utf-8"))
        path = folder.path / name
        mapped = self.large is not None and path.stat().st_size > self.large
        return Embedded(np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False), notes)

    def measured(
        self,
        run: FilterRun,
        *,
        digest: str,
        n: int,
        shown: Sequence[int],
        copies: Copies = "once",
        planted: Mapping[str, str] | None = None,
    ) -> Measures:
        """Measure what a filter did, and what it left to guess.

        Args:
            run: the filter's.
            digest: of all problems that were collected.
            n: how many these are.
            shown: the rows of the pool that may appear in a picture, one by one.
            copies: what became of copies.
            planted: the artifact of each planted problem, by its id in the pool.
        """
        guessed = verified(
            run,
            self.filter,
            splits=self.splits,
            seed=self.seed,
            combined=combining(self.embed),
            step=self.step,
            how=self.how,
        )
        with self.step("measuring", None):
            signature = signature_of(
                self.embed,
                run,
                digest=digest,
                n=n,
                seed=self.seed,
                copies=copies,
            )
            return measure(
                run,
                signature=signature,
                seed=self.seed,
                null_draws=self.filter.null_draws,
                shown=shown,
                turns=turning(self.embed),
                how=self.how,
                guessed=guessed,
                planted=planted,
            )


@dataclass(frozen=True, eq=False)
class Debiased:
    """What filtering made.

    Attributes:
        folder: where everything is.
        filtered: the kept and the dropped problems, together what came in.
        run: the filter's.
        measures: its figures.
    """

    folder: Path
    filtered: Filtered
    run: FilterRun
    measures: Measures


def debias_to_folder(
    dataset: Dataset | formats.Readable,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    splits: int = 5,
    seed: int = 0,
    force: bool = False,
    step: Step | None = None,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
) -> Debiased:
    """Filter a data set and write `kept.jsonl`, `dropped.jsonl`, `report.json`, `report.html`.

    An unfinished run of the same parameters on the same data is taken up where it was. Problems
    that fine-tuned the encoder of an array are dropped first, as `build` does.

    Args:
        dataset: problems with answers, as a data set or as `formats.read` takes them.
        out: the folder; see `winosmith.outputs` for which folders are taken.
        embed: how they become vectors.
        chosen: how they are filtered.
        splits: into halves that are filtered apart, so that it is known what can still be
            guessed (see `debias.verify`); 0 for none.
        seed: of every draw.
        force: replace the results of another run, and those of this one when it is finished.
        step: shows progress.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.

    Raises:
        InputError: data or parameters that can't be used.
        OutputError: the folder can't be taken or written.
    """
    dataset = formats.dataset_of(dataset)
    refuse_unturned(embed, chosen)
    refuse_many_options(dataset, embed, chosen)
    parameters = _parameters(embed, chosen, splits, seed)
    folder = OutputFolder.open(out, {"data": dataset.digest, **parameters}, force=force)
    if force and is_finished(folder, PAGE):
        folder.clear()
    how = {"executor": executor, "scratch": scratch}
    work = Filtering(embed, chosen, splits, seed, folder, step or silent, large=LARGE, how=how)
    with folder.or_nothing():
        done = _carried_out(work, dataset)
    _write(folder, done, parameters)
    return done


def finished_filter(
    dataset: Dataset,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    splits: int = 5,
    seed: int = 0,
) -> bool:
    """Return whether a folder holds the finished run of these parameters, every file as written.

    Raises:
        OutputError: the folder holds the results of another run.
    """
    if not (Path(out) / PAGE).is_file():
        return False
    parameters = _parameters(embed, chosen, splits, seed)
    recipe = {"data": dataset.digest, **parameters}
    return is_finished(OutputFolder.open(out, recipe), PAGE)


def _parameters(embed: EmbedRecipe, chosen: FilterRecipe, splits: int, seed: int) -> dict[str, Any]:
    array = {} if embed.array is None else {"array": sha256(embed.array)}
    return {
        "embed": asdict(embed),
        "filter": asdict(chosen),
        "measure": asdict(MeasureRecipe(splits)),
        "seed": seed,
        **array,
    }


def _carried_out(work: Filtering, dataset: Dataset) -> Debiased:
    tuned = set() if work.embed.array is None else tuned_on(work.embed.array)
    rows = [row for row, problem in enumerate(dataset) if problem.id not in tuned]
    pool = dataset.select(rows)
    run, _ = work.run(pool, pool, dataset.ids)
    measures = work.measured(
        run, digest=problems_digest(dataset), n=len(dataset), shown=range(len(pool))
    )
    return Debiased(work.folder.path, _filtered(dataset, rows, run), run, measures)


def _filtered(dataset: Dataset, rows: Sequence[int], run: FilterRun) -> Filtered:
    """Return what the filter kept and dropped, and what fine-tuned the encoder."""
    gone = dict.fromkeys({*range(len(dataset))} - {*rows}, DISCARDED)
    gone |= {rows[at]: (run.method, reason) for at, reason in run.reasons.items()}
    return Filtered(
        dataset.drop({row: reason for row, (_, reason) in gone.items()}, run.method).kept,
        tuple(Dropped(dataset[row], *gone[row], row) for row in sorted(gone)),
    )


def _write(folder: OutputFolder, done: Debiased, parameters: dict[str, Any]) -> None:
    with folder.write("kept.jsonl") as file:
        file.writelines(formats.lines(done.filtered.kept))
    with folder.write("dropped.jsonl") as file:
        for entry in done.filtered.dropped:
            record = {
                **problem_record(entry.problem), "stage": entry.stage, "reason": entry.reason
            }  # fmt: skip
            file.write(canonical(record) + "\n")
    record = {
        "kept": len(done.filtered.kept),
        "dropped": len(done.filtered.dropped),
        "signature": str(done.measures.signature),
        **filter_record(done.run, done.measures),
        "parameters": parameters,
    }
    with folder.write("report.json") as file:
        json.dump(record, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    name = done.filtered.kept.name or "the data set"
    page = report.page(
        f"{name}, filtered by {NAMES[done.run.method]}",
        [
            report.Section("In short", [report.Cards(key_figures(done.run, done.measures))]),
            *filter_sections(done.run, done.measures, range(len(done.run.pool))),
        ],
        subtitle=verdict(done.run, done.measures),
        signature=done.measures.signature,
    )
    with folder.write(PAGE) as file:
        file.write(page)
