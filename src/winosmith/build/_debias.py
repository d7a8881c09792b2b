"""Filter one data set into a folder: what was kept, what was dropped and why, and the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import formats, report
from winosmith.build._filter import NAMES, FilterRun, filtered
from winosmith.build._measure import Measures, measure, verified
from winosmith.build._pool import DISCARDED, tuned_on
from winosmith.build._publish import is_finished, problems_digest, signature_of
from winosmith.build._recipe import (
    ConsensusRecipe,
    EmbedRecipe,
    FilterRecipe,
    MeasureRecipe,
    refuse_vote,
)
from winosmith.build._report_filter import again_record, filter_sections, key_figures, verdict
from winosmith.build._vectors import (
    Panel,
    combining,
    embedded,
    embedders,
    place_of,
    refuse_many_options,
    refuse_unturned,
    turning,
)
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.errors import gone
from winosmith.outputs import OutputFolder, sha256
from winosmith.progress import Step, silent
from winosmith.records import canonical, problem_record

VECTORS, PHASES, PAGE = "embeddings.npy", "phases.npz", "report.html"
"""The page is written last."""

LARGE = 1 << 26
"""Bytes of vectors from which on they stay in their file."""


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


VOTES_GONE = "nothing in a filter hangs on people's votes; leave them out"


@gone(votes=VOTES_GONE)
def debias_to_folder(
    dataset: Dataset,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    vote: ConsensusRecipe | None = None,
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
        dataset: problems with answers.
        out: the folder; see `winosmith.outputs` for which folders are taken.
        embed: how they become vectors.
        chosen: how they are filtered.
        vote: the embedders that vote on what is dropped; None for no vote.
        splits: into halves that are filtered apart, so that it is known what can still be
            guessed (see `debias.verify`); 0 for none.
        seed: of every draw.
        force: replace the results of another run, and those of this one when it is finished.
        step: shows progress.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.

    Raises:
        InputError: data or parameters that can't be used; a vote on another filter than AFLite.
        OutputError: the folder can't be taken or written.
    """
    refuse_unturned(embed, chosen)
    refuse_many_options(dataset, chosen)
    vote = vote or ConsensusRecipe()
    refuse_vote(vote, chosen)
    parameters = _parameters(embed, chosen, splits, seed, vote)
    folder = OutputFolder.open(out, {"data": dataset.digest, **parameters}, force=force)
    if force and is_finished(folder, PAGE):
        folder.clear()
    with folder.or_nothing():
        how = {"executor": executor, "scratch": scratch}
        done = _carried_out(folder, dataset, embed, chosen, vote, splits, seed, step or silent, how)
    _write(folder, done, parameters)
    return done


@gone(votes=VOTES_GONE)
def finished_filter(
    dataset: Dataset,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    vote: ConsensusRecipe | None = None,
    splits: int = 5,
    seed: int = 0,
) -> bool:
    """Tell whether a folder holds the finished run of these parameters, every file as written.

    Raises:
        OutputError: the folder holds the results of another run.
    """
    if not (Path(out) / PAGE).is_file():
        return False
    parameters = _parameters(embed, chosen, splits, seed, vote or ConsensusRecipe())
    recipe = {"data": dataset.digest, **parameters}
    return is_finished(OutputFolder.open(out, recipe), PAGE)


def _parameters(
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    splits: int,
    seed: int,
    vote: ConsensusRecipe,
) -> dict[str, Any]:
    array = {} if embed.array is None else {"array": sha256(embed.array)}
    told = {
        "embed": asdict(embed),
        "filter": asdict(chosen),
        "measure": asdict(MeasureRecipe(splits)),
        "seed": seed,
        **array,
    }
    if not vote:
        return told
    digests = [sha256(path) for path in vote.arrays]
    return {**told, "consensus": {**asdict(vote), "arrays": digests}}


def _carried_out(
    folder: OutputFolder,
    dataset: Dataset,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    vote: ConsensusRecipe,
    splits: int,
    seed: int,
    step: Step,
    how: Mapping[str, Any],
) -> Debiased:
    panel_of = embedders(embed, vote)
    arrays = [one.array for one in panel_of.values() if one.array is not None]
    tuned = {id_ for array in arrays for id_ in tuned_on(array)}
    rows = [row for row, problem in enumerate(dataset) if problem.id not in tuned]
    pool = dataset.select(rows)
    Xs = {
        name: _vectors(folder, place, pool, one, dataset.ids, seed, step)
        for place, (name, one) in enumerate(panel_of.items())
    }
    panel = Panel(vote, Xs) if vote else None
    X = next(iter(Xs.values()))
    run = filtered(
        pool, X, chosen, seed=seed, panel=panel, folder=folder, name=PHASES, step=step, how=how
    )
    guessed = verified(
        run,
        chosen,
        splits=splits,
        seed=seed,
        combined=[combining(one) for one in panel_of.values()],
        step=step,
        panel=panel,
        how=how,
    )
    with step("measuring", None):
        digest = problems_digest(dataset)
        measures = measure(
            run,
            signature=signature_of(
                embed,
                run,
                digest=digest,
                n=len(dataset),
                seed=seed,
                others=[*panel_of.values()][1:],
            ),
            seed=seed,
            null_draws=chosen.null_draws,
            shown=range(len(pool)),
            turns=[turning(one) for one in panel_of.values()],
            how=how,
            guessed=guessed,
        )
    return Debiased(folder.path, _filtered(dataset, rows, run), run, measures)


def _vectors(
    folder: OutputFolder,
    place: int,
    pool: Dataset,
    chosen: EmbedRecipe,
    ids: Sequence[str],
    seed: int,
    step: Step,
) -> NDArray[Any]:
    """Return the vectors of one embedder: those that are there, or new ones."""
    name = place_of(VECTORS, place)
    if not folder.finished(name):
        with step("embedding", len(pool)) as advance:
            made = embedded(
                chosen,
                pool,
                collected_ids=ids,
                tuning=None,
                work=folder.path,
                seed=seed,
                on_progress=advance,
            )
        with folder.write(name, "wb") as file:
            np.save(file, made.X, allow_pickle=False)
    return _mapped_if_large(folder.path / name)


def _mapped_if_large(path: Path) -> NDArray[Any]:
    """Load an array, or map one that had better stay in its file."""
    large = path.stat().st_size > LARGE
    array: NDArray[Any] = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    return array


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
        "figures": [asdict(figure) for figure in key_figures(done.run, done.measures)],
        "aflite": done.run.aflite and done.run.aflite.record(),
        "mirror": done.run.mirror and done.run.mirror[0].record(),
        "again": again_record(done.run),
        **({} if done.run.consensus is None else {"consensus": done.run.consensus.record()}),
        "measures": done.measures.record(),
        "parameters": parameters,
    }
    with folder.write("report.json") as file:
        json.dump(record, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    name = done.filtered.kept.name or "the data set"
    page = report.page(
        f"{name}, filtered by {_method(done.run)}",
        [
            report.Section("In short", [report.Cards(key_figures(done.run, done.measures))]),
            *filter_sections(done.run, done.measures, range(len(done.run.pool))),
        ],
        subtitle=verdict(done.run, done.measures),
        signature=done.measures.signature,
    )
    with folder.write(PAGE) as file:
        file.write(page)


def _method(run: FilterRun) -> str:
    if run.consensus is None or len(run.consensus.runs) == 1:
        return NAMES[run.method]
    return f"{NAMES[run.method]}, {run.consensus.least} of {len(run.consensus.runs)} embedders"
