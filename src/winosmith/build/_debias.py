"""Filter a data set and write the result and its report to a folder."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winosmith import formats, report
from winosmith.build import _filtering, _publish
from winosmith.build._filter import METHOD_NAMES, FilterRun
from winosmith.build._filtering import Filtering, Measures
from winosmith.build._pool import USED_FOR_TUNING, read_tuning_ids
from winosmith.build._report_filter import (
    make_figures,
    make_filter_record,
    make_filter_sections,
    write_verdict,
)
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe
from winosmith.outputs import OutputFolder, sha256
from winosmith.parallel import Step, no_progress

REPORT_PAGE = "report.html"
"""The HTML report, which is written last to mark a finished run."""

MEMORY_MAP_BYTES = 1 << 26
"""Size in bytes above which vectors are memory-mapped instead of read."""


@dataclass(frozen=True, eq=False)
class DebiasResult:
    """The result of filtering a data set.

    Attributes:
        folder: the output folder.
        filtered: the kept and the dropped problems.
        run: the run of the filter.
        measures: the measurements of the filter.
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
    filter_recipe: FilterRecipe,
    splits: int = 5,
    seed: int = 0,
    force: bool = False,
    step: Step | None = None,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
) -> DebiasResult:
    """Filter a data set and write its kept and dropped problems and its reports to a folder.

    The files are `kept.jsonl`, `dropped.jsonl`, `report.json` and `report.html`. An unfinished run
    with the same parameters and data is resumed. If vectors come from an array, the problems that
    fine-tuned its encoder are dropped first, as in `build`.

    Args:
        dataset: problems with answers, as a data set or any input of `formats.read`.
        out: the output folder; see `winosmith.outputs` for the rules.
        embed: the `[embed]` table of a recipe.
        filter_recipe: the `[filter]` table of a recipe.
        splits: number of splits into halves that are filtered separately, to measure which answers
            models can still predict (see `debias.verify`); 0 for none.
        seed: random seed.
        force: whether to overwrite the results of another run, or a finished run of this one.
        step: a function that shows progress.
        executor: see `debias.aflite`.
        scratch: see `debias.aflite`.

    Raises:
        InputError: data or parameters can't be used.
        OutputError: the folder can't be used.
    """
    dataset = formats.as_dataset(dataset)
    _filtering.check_vector_symmetry(embed, filter_recipe)
    _filtering.check_option_counts(dataset, embed, filter_recipe)
    parameters = _make_parameters(embed, filter_recipe, splits, seed)
    folder = OutputFolder.open(out, {"data": dataset.digest, **parameters}, force=force)
    if force and folder.is_complete(REPORT_PAGE):
        folder.clear()
    work = Filtering(
        embed,
        filter_recipe,
        splits,
        seed,
        folder,
        step or no_progress,
        memory_map_bytes=MEMORY_MAP_BYTES,
        execution={"executor": executor, "scratch": scratch},
    )
    with folder.discard_on_error(), work.checkpoints:
        tuned = set() if embed.array is None else read_tuning_ids(embed.array)
        rows = [row for row, problem in enumerate(dataset) if problem.id not in tuned]
        pool = dataset.select(rows)
        run, _ = work.run(pool, pool, dataset.ids)
        measures = work.measure(
            run, digest=_publish.digest_problems(dataset), n=len(dataset), shown=range(len(pool))
        )
        gone = dict.fromkeys({*range(len(dataset))} - {*rows}, USED_FOR_TUNING)
        gone |= {rows[at]: (run.method, reason) for at, reason in run.reasons.items()}
        filtered = Filtered(
            dataset.select(row for row in range(len(dataset)) if row not in gone),
            tuple(Dropped(dataset[row], *gone[row], row) for row in sorted(gone)),
        )
        done = DebiasResult(folder.path, filtered, run, measures)
        _write_results(folder, done, parameters)
    return done


def is_filter_finished(
    dataset: Dataset,
    out: str | Path,
    *,
    embed: EmbedRecipe,
    filter_recipe: FilterRecipe,
    splits: int = 5,
    seed: int = 0,
) -> bool:
    """Return whether a folder contains a finished run with these parameters and unchanged files.

    Raises:
        OutputError: the folder contains the results of another run.
    """
    if not (Path(out) / REPORT_PAGE).is_file():
        return False
    parameters = _make_parameters(embed, filter_recipe, splits, seed)
    recipe = {"data": dataset.digest, **parameters}
    return OutputFolder.open(out, recipe).is_complete(REPORT_PAGE)


def _make_parameters(
    embed: EmbedRecipe, filter_recipe: FilterRecipe, splits: int, seed: int
) -> dict[str, Any]:
    return {
        "embed": asdict(embed),
        "filter": asdict(filter_recipe),
        "measure": asdict(MeasureRecipe(splits)),
        "seed": seed,
        **({} if embed.array is None else {"array": sha256(embed.array)}),
    }


def _write_results(folder: OutputFolder, result: DebiasResult, parameters: dict[str, Any]) -> None:
    folder.write_lines("kept.jsonl", formats.to_lines(result.filtered.kept))
    folder.write_lines("dropped.jsonl", (one.to_json_line() for one in result.filtered.dropped))
    record = {
        "kept": len(result.filtered.kept),
        "dropped": len(result.filtered.dropped),
        "signature": str(result.measures.signature),
        **make_filter_record(result.run, result.measures),
        "parameters": parameters,
    }
    folder.write_json("report.json", record)
    name = result.filtered.kept.name or "the data set"
    page = report.render_page(
        f"{name}, filtered by {METHOD_NAMES[result.run.method]}",
        [
            report.Section("In short", [report.Cards(make_figures(result.run, result.measures))]),
            *make_filter_sections(result.run, result.measures, range(len(result.run.pool))),
        ],
        subtitle=write_verdict(result.run, result.measures),
        signature=result.measures.signature,
    )
    folder.write_lines(REPORT_PAGE, [page])
