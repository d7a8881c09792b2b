"""Build a debiased benchmark and its report from raw twins.

The steps are WinoGrande's (sections 2 and 3), in order: check the structure and the votes, set
aside the problems that fine-tune the encoder, embed the other problems, filter, split, write.

*Collected* problems have their original ids, and *renamed* problems have new ids. The *pool*
consists of the problems that passed the checks. The filter *keeps* some of them. *Judged* problems
are the renamed problems as published: those that judges found valid are no longer marked as
unvalidated.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith import validate
from winosmith.blocks import shuffle
from winosmith.build import _pool, _publish
from winosmith.build._filter import FilterRun
from winosmith.build._filtering import Filtering, Measures, check_vector_symmetry
from winosmith.build._pool import Stages
from winosmith.build._publish import LastBuild
from winosmith.build._recipe import Recipe
from winosmith.build._split import split
from winosmith.dataset import Dataset
from winosmith.errors import InputError, OutputError
from winosmith.finished import CHECKSUMS_NAME
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.parallel import Step, no_progress
from winosmith.response import Response

VECTORS = f"{PRIVATE}/embeddings.npy"
NOTES = f"{PRIVATE}/embeddings.json"
PHASES = f"{PRIVATE}/aflite.npz"


@dataclass(frozen=True, eq=False)
class BuildResult:
    """The result of building a benchmark.

    Attributes:
        recipe: the recipe.
        folder: the output folder.
        funnel: the number of problems that each stage kept.
        run: the run of the filter.
        measures: the measurements of the filter.
        counts: the number of problems in each published split.
        unvalidated: the number of generated problems that judges did not find valid, by split.
            Splits without such problems are omitted.
        embedding_notes: notes on the embedding, for example that the fine-tuned encoder is at
            chance.
        showable_rows: the rows of the pool that may be shown individually, because they share no
            block with a dev or test problem.
        sides: the numbers of problems that kept their previous split, are new, or are in a block
            with several previous splits; None if there is no last build.
        applied_rules: the problems to which the rules for authors were applied, and why.
        copies: the copies and how they were handled; empty if there are none.
        columns: the input's columns missing from the public files, and the files that have them.
        reader_notes: notes from the file reader, one sentence each.
    """

    recipe: Recipe
    folder: Path
    funnel: validate.Funnel
    run: FilterRun
    measures: Measures
    counts: Mapping[str, int]
    unvalidated: Mapping[str, int]
    embedding_notes: Mapping[str, Any]
    showable_rows: Sequence[int]
    sides: Mapping[str, Any] | None = None
    applied_rules: validate.AppliedRules | None = None
    copies: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    reader_notes: Sequence[str] = ()

    @property
    def report(self) -> Path:
        """Path of the HTML report."""
        return self.folder / "report.html"


@dataclass(frozen=True, eq=False)
class _BuildJob:
    """The inputs and the output folder that all build steps share.

    The problems are in shuffled order, and `order` contains their blocks as rows. `planted` is None
    if the planted artifacts are unknown.
    """

    recipe: Recipe
    votes: tuple[Response, ...]
    planted: Mapping[str, str] | None
    notes: tuple[str, ...]
    collected: Dataset
    order: list[list[int]]
    renamed: Dataset
    public_recipe: Mapping[str, Any]
    folder: OutputFolder
    last: LastBuild | None


def build(
    recipe: Recipe,
    out: str | Path,
    *,
    force: bool = False,
    step: Step | None = None,
    vectors_from: str | Path | None = None,
    last: str | Path | None = None,
    skip_bad: str | Path | None = None,
) -> BuildResult:
    """Build a benchmark from raw twins.

    The published files, `report.html` and `report.json` are written to the output folder. Data that
    would reveal test answers are written to its subfolder `private/`. If the folder contains an
    unfinished build of the same recipe, finished vectors and AFLite phases are reused, and the
    result has the same bytes.

    Args:
        recipe: all parameters that determine the result; see `read_recipe`.
        out: the output folder; see `winosmith.outputs` for the rules.
        force: whether to overwrite the results of another recipe, or a finished build.
        step: a function that shows progress.
        vectors_from: a folder with a build of the same recipe. Its vectors are reused, so that no
            encoder is needed.
        last: the folder of the last build. Problems that were in train, dev or test in that build
            or an earlier one stay there, with their blocks, so that no published answer is in test.
        skip_bad: path of a file to which bad records are moved; if None, they raise an error.

    Raises:
        InputError: data, votes, vectors, parameters or the last build can't be used.
        OutputError: the folder can't be used, or the vectors belong to another recipe.
    """
    started = time.monotonic()
    show = step or no_progress
    with show("reading", None):
        job = _open_job(recipe, out, force, last, skip_bad)
        if force and job.folder.is_complete(CHECKSUMS_NAME):
            job.folder.clear()
    if vectors_from is not None:
        source = Path(vectors_from)
        if not (source / PRIVATE).is_dir():
            raise OutputError(f"{source} contains no build with vectors")
        other = OutputFolder.open(source, job.public_recipe, secret=job.folder.secret)
        for name in (VECTORS, NOTES):
            if not other.is_finished(name):
                raise OutputError(
                    f"{source} contains no finished vectors: {name} is missing or was changed"
                )
            if not job.folder.is_finished(name):
                with job.folder.write(name, "wb") as file:
                    file.write((source / name).read_bytes())
    with job.folder.discard_on_error(), ExitStack() as checkpoints:
        built = _run_steps(job, show, checkpoints)
    _publish.write_run(job.folder, time.monotonic() - started)
    return built


def is_build_finished(
    recipe: Recipe,
    out: str | Path,
    last: str | Path | None = None,
    skip_bad: str | Path | None = None,
) -> bool:
    """Return whether a folder contains a finished build of a recipe, with unchanged files.

    Args:
        recipe: the recipe.
        out: the folder.
        last: the folder of the last build; see `build`.
        skip_bad: path of the file for bad records; see `build`.

    Raises:
        InputError: data, votes or the last build can't be read.
        OutputError: the folder contains the results of another recipe.
    """
    if not (Path(out) / CHECKSUMS_NAME).is_file():
        return False
    return _open_job(recipe, out, False, last, skip_bad).folder.is_complete(CHECKSUMS_NAME)


def _open_job(
    recipe: Recipe,
    out: str | Path,
    force: bool,
    last: str | Path | None,
    skip_bad: str | Path | None,
) -> _BuildJob:
    if last is not None and Path(last).resolve() == Path(out).resolve():
        raise InputError(f"{out} is both the output and the last build; choose a new output folder")
    check_vector_symmetry(recipe.embed, recipe.filter)
    before = None if last is None else _publish.read_last_build(last)
    read, notes = _pool.read_files(recipe, skip_bad)
    votes, planted = _pool.read_pool_votes(recipe), _pool.read_planted_artifacts(recipe)
    collected, order = shuffle(read, recipe.seed)
    renamed = _publish.assign_new_ids(collected, recipe.name)
    shown = _publish.make_public_recipe(
        recipe, _publish.digest_problems(renamed), before.digest if before else None
    )
    secret = _publish.digest_secret_inputs(recipe, collected)
    folder = OutputFolder.open(out, shown, secret=secret, force=force)
    return _BuildJob(
        recipe, votes, planted, notes, collected, order, renamed, shown, folder, before
    )


def _run_steps(job: _BuildJob, step: Step, checkpoints: ExitStack) -> BuildResult:
    recipe, old_ids, new_ids = job.recipe, job.collected.ids, job.renamed.ids
    previous = job.last.previous if job.last else ()
    filtering = Filtering(
        recipe.embed,
        recipe.filter,
        recipe.measure.splits,
        recipe.seed,
        job.folder,
        step,
        vectors_file=VECTORS,
        phases_file=PHASES,
        notes_file=NOTES,
        checkpoints=checkpoints,
    )
    with step("checking", None):
        stages = Stages(job.collected)
        _pool.drop_invalid(stages, recipe, job.votes)
        _pool.drop_copies(stages, recipe, {one.problem.id for one in previous if one.split})
        tuning = _pool.set_aside_for_tuning(stages, recipe, job.order)
        stages.check_not_empty()
        pool = stages.find_remaining_rows()
    run, notes = filtering.run(stages.remaining, job.renamed.select(pool), old_ids, tuning)
    stages.results[recipe.filter.method] = stages.remaining.drop(run.reasons, recipe.filter.method)
    parts = split(
        job.collected,
        job.order,
        pool=pool,
        kept=stages.find_remaining_rows(),
        dev=recipe.split.dev,
        test=recipe.split.test,
        disjoint=recipe.split.disjoint,
        previous=previous,
    )
    tied = {*parts.dev, *parts.test, *parts.withheld}
    loose = [at for at, row in enumerate(pool) if row not in tied]
    new_of, planted = dict(zip(old_ids, new_ids, strict=True)), job.planted
    measures = filtering.measure(
        run,
        digest=job.public_recipe["problems"],
        n=len(job.renamed),
        shown=loose,
        copies=recipe.copies,
        planted=planted and {new_of[old]: kind for old, kind in planted.items() if old in new_of},
    )
    with step("writing", None):
        judged = validate.remove_unvalidated(job.renamed, {new_of[old] for old in stages.valid})
        compared = stages.compared
        copy_of = stages.copies.copy_of if recipe.copies == "once" else {}
        counts = _publish.publish(
            job.folder,
            judged,
            old_ids,
            parts,
            stages.map_dropped_by_row(),
            {compared[row]: compared[of] for row, of in copy_of.items()},
            recipe.files.format,
        )
        unvalidated = {
            name: validate.count_unvalidated(judged[row] for row in rows)
            for name, rows in parts.published.items()
        }
        _publish.write_splits(job.folder, job.collected, parts, job.last)
        _publish.write_scores(job.folder, run, dict(zip(new_ids, old_ids, strict=True)))
        funnel = validate.make_funnel(stages.results)
        built = BuildResult(
            recipe,
            job.folder.path,
            funnel,
            run,
            measures,
            counts,
            {name: count for name, count in unvalidated.items() if count},
            notes,
            loose,
            _publish.make_sides_record(parts, new_ids, job.last) if job.last else None,
            stages.applied_rules,
            _pool.make_copies_record(
                stages.copies,
                recipe.copies,
                [new_ids[row] for row in compared],
                {new_ids[row] for row, side in parts.sides.items() if side == "train"},
            ),
            _publish.make_columns_record(judged, parts, recipe.files.format),
            job.notes,
        )
        _publish.write_reports(job.folder, built, job.public_recipe)
    return built
