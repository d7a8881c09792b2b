"""Filter one data set into a folder: what was kept, what was dropped and why, and the report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import report
from winosmith.dataset import Dataset, Filtered
from winosmith.formats import format_named
from winosmith.outputs import OutputFolder, sha256
from winosmith.records import canonical, problem_record
from winosmith.release._filter import NAMES, FilterRun, run_filter
from winosmith.release._measure import Measures, measure
from winosmith.release._progress import Step, silent
from winosmith.release._recipe import EmbedRecipe, FilterRecipe
from winosmith.release._record import problems_digest, signature_of
from winosmith.release._report_filter import filter_sections, key_figures
from winosmith.release._vectors import embedded

__all__ = ["Debiased", "debias_to_folder"]

VECTORS, PHASES = "embeddings.npy", "phases.npz"


@dataclass(frozen=True, eq=False)
class Debiased:
    """What filtering made.

    Attributes:
        folder: where everything is.
        filtered: the kept and the dropped problems.
        run: the filter's.
        measures: its figures.
    """

    folder: Path
    filtered: Filtered
    run: FilterRun
    measures: Measures


def debias_to_folder(
    dataset: Dataset,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    seed: int = 0,
    force: bool = False,
    step: Step | None = None,
) -> Debiased:
    """Filter a data set and write `kept.jsonl`, `dropped.jsonl`, `report.json`, `report.html`.

    An unfinished run of the same parameters on the same data is taken up where it was.

    Raises:
        InputError: data or parameters that can't be used.
        OutputError: the folder can't be taken or written.
    """
    parameters = {"embed": asdict(embed), "filter": asdict(chosen), "seed": seed}
    if embed.array is not None:
        parameters["array"] = sha256(embed.array)
    folder = OutputFolder.open(out, {"data": dataset.digest, **parameters}, force=force)
    with folder.or_nothing():
        done = _carried_out(folder, dataset, embed, chosen, seed, step or silent)
    _write(folder, done, parameters)
    return done


def _carried_out(
    folder: OutputFolder,
    dataset: Dataset,
    embed: EmbedRecipe,
    chosen: FilterRecipe,
    seed: int,
    step: Step,
) -> Debiased:
    if not folder.finished(VECTORS):
        with step("embedding", len(dataset)) as advance:
            made = embedded(
                embed,
                dataset,
                collected_ids=dataset.ids,
                tuning=None,
                work=folder.path,
                seed=seed,
                on_progress=advance,
            )
        with folder.write(VECTORS, "wb") as file:
            np.save(file, made.X, allow_pickle=False)
    X = np.load(folder.path / VECTORS, allow_pickle=False)
    with step("filtering", len(dataset)) as advance, folder.scratch(PHASES) as checkpoint:
        run = run_filter(
            dataset,
            X,
            chosen,
            seed=seed,
            on_phase=lambda p: advance(len(dataset) - p.size + p.removed, f"phase {p.number + 1}"),
            checkpoint=checkpoint,
        )
    with step("measuring", None):
        digest = problems_digest(dataset)
        measures = measure(
            run,
            signature=signature_of(embed, run, digest=digest, n=len(dataset), seed=seed),
            seed=seed,
            null_draws=chosen.null_draws,
            shown=range(len(dataset)),
        )
    return Debiased(folder.path, dataset.drop(run.reasons, chosen.method), run, measures)


def _write(folder: OutputFolder, done: Debiased, parameters: dict[str, Any]) -> None:
    ours = format_named("winosmith")
    with folder.write("kept.jsonl") as file:
        if ours.write is not None:
            ours.write(done.filtered.kept.problems, file)
    with folder.write("dropped.jsonl") as file:
        for entry in done.filtered.dropped:
            record = {
                **problem_record(entry.problem), "stage": entry.stage, "reason": entry.reason
            }  # fmt: skip
            file.write(canonical(record) + "\n")
    record = {
        "kept": len(done.filtered.kept),
        "dropped": len(done.filtered.dropped),
        "aflite": done.run.aflite and done.run.aflite.record(),
        "measures": done.measures.record(),
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
        signature=done.measures.signature,
    )
    with folder.write("report.html") as file:
        file.write(page)
