"""Write the public files, private files and reports of a build, and read the last build."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winosmith import answers, formats, records
from winosmith._version import __version__
from winosmith.build._filter import FilterRun
from winosmith.build._recipe import Recipe, format_rebuild_recipe, list_paths, tabulate_recipe
from winosmith.build._report import render_report
from winosmith.build._report_filter import make_filter_record
from winosmith.build._split import Split, make_nested_sets
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import FormatError, InputError, ProblemError
from winosmith.finished import CHECKSUMS_NAME, DROPPED, IDS, RECIPE, SCORES, WITHHELD, BuildFiles
from winosmith.outputs import PRIVATE, OutputFolder, sha256
from winosmith.problem import Extra, Problem
from winosmith.splits import SPLITS, PreviousProblem, SplitName

if TYPE_CHECKING:
    from winosmith.build._build import BuildResult


SIDES_FILE = f"{PRIVATE}/sides.jsonl"
"""The private file with the split of each problem in this and earlier builds."""


def assign_new_ids(dataset: Dataset, prefix: str) -> Dataset:
    """Assign new ids to problems, twins and families, numbered by row.

    The rows should be in the shuffled order, so that ids reveal nothing. This order depends only on
    sentences and options.

    >>> old = Dataset([Problem("3QHITW-2", "The _ fell.", ("cup", "jug"), 1, "3QHITW")])
    >>> new = assign_new_ids(old, "mine")[0]
    >>> new.id, new.twin_id
    ('mine-0', 'mine-t0')
    """
    width = len(str(max(len(dataset) - 1, 0)))
    ids = {problem.id: f"{prefix}-{row:0{width}d}" for row, problem in enumerate(dataset)}
    twins: dict[str, str] = {}
    for problem in dataset:
        if problem.twin_id is not None:
            twins.setdefault(problem.twin_id, f"{prefix}-t{len(twins):0{width}d}")
    outside: dict[str, str] = {}

    def get_new_id(old: str) -> str:
        return ids.get(old) or outside.setdefault(old, f"{prefix}-x{len(outside)}")

    twin_of = twins.__getitem__
    return Dataset((problem.with_new_ids(get_new_id, twin_of, ids) for problem in dataset), prefix)


def publish(
    folder: OutputFolder,
    dataset: Dataset,
    old_ids: Sequence[str],
    parts: Split,
    dropped: Mapping[int, Dropped],
    copy_of: Mapping[int, int],
    format_name: str,
) -> dict[str, int]:
    """Write the files of problems and labels; return the number of problems in each split.

    The public files are train_xs … train_xl (nested sets of whole twins), train_debiased, dev, test
    without answers, separate labels, and dropped.jsonl, which contains the dropped problems outside
    the blocks of dev and test.

    The private files are the answers to test; dev and test with `extra`, which may reveal answers;
    the problems withheld because of dev, test or an embargo; and the old id of each new id.

    `old_ids`, `dropped` and `copy_of` refer to the rows of `dataset`, which is all collected
    problems with new ids.
    """
    writer = formats.get_writer(format_name)
    training = {f"train_{size}": rows for size, rows in make_nested_sets(parts.train).items()}
    public = {**training, "train_debiased": parts.debiased, "dev": parts.dev}
    held_out = {*parts.dev, *parts.test}

    def write_problems(name: str, chosen: Sequence[Problem]) -> None:
        with folder.write(f"{name}{writer.suffix}") as file:
            writer.write(chosen, file)

    def write_labels(name: str, rows: Sequence[int]) -> None:
        labels = [answer for row in rows if (answer := dataset[row].answer) is not None]
        with folder.write(f"{name}-labels.lst") as file:
            answers.write_labels(labels, file)

    without_extra = {row: replace(dataset[row], extra=Extra()) for row in held_out}
    for name, rows in public.items():
        write_problems(name, [without_extra.get(row, dataset[row]) for row in rows])
        write_labels(name, rows)
    write_problems("test", [dataset[row].blind() for row in parts.test])
    write_labels(f"{PRIVATE}/test", parts.test)
    write_problems(f"{PRIVATE}/test", [dataset[row] for row in parts.test])
    if any(dataset[row].extra for row in parts.dev) and "extra" in writer.kept_fields:
        write_problems(f"{PRIVATE}/dev", [dataset[row] for row in parts.dev])
    embargoed = {row for row, problem in enumerate(dataset) if problem.embargo}
    hidden = {*parts.withheld, *held_out, *embargoed}
    for name, chosen in (
        (DROPPED, dropped.keys() - hidden),
        (WITHHELD, {*parts.withheld, *embargoed}),
    ):
        with folder.write(name) as file:
            for row in sorted(chosen, key=dataset.ids.__getitem__):  # not in input order
                record = replace(dropped[row], problem=dataset[row]).record()
                if row in copy_of:
                    record["copy_of"] = dataset.ids[copy_of[row]]
                file.write(records.dump_json(record) + "\n")
    with folder.write(IDS) as file:
        for new, old in sorted(zip(dataset.ids, old_ids, strict=True)):
            file.write(records.dump_json({"id": new, "old_id": old}) + "\n")
    counts = {name: len(rows) for name, rows in public.items()}
    return {**counts, "test": len(parts.test), "withheld": len(parts.withheld)}


def make_columns_record(dataset: Dataset, parts: Split, format_name: str) -> dict[str, Any]:
    """Return the columns missing from public files, these files, and the files with all columns."""
    writer = formats.get_writer(format_name)
    in_training = "extra" in writer.kept_fields
    keys = {
        name: {key for row in rows for key in dataset[row].extra}
        for name, rows in parts.published.items()
        if name in ("dev", "test") or not in_training
    }
    without = [name for name, found in keys.items() if found]
    return {
        "columns": sorted(set[str]().union(*keys.values())),
        "not_in": without,
        "but_in": [f"{PRIVATE}/{name}{writer.suffix}" for name in without if in_training],
    }


def write_scores(folder: OutputFolder, run: FilterRun, old_ids: Mapping[str, str]) -> None:
    found = run.aflite
    if found is None or run.method != "aflite":
        return
    kept = set(run.kept.tolist())
    with folder.write(SCORES) as file:
        for id_, row in sorted((id_, row) for row, id_ in enumerate(run.pool.ids)):
            record = {
                "id": id_,
                "old_id": old_ids[id_],
                "score": float(found.scores[row]) if found.votes[row] else None,
                "votes": int(found.votes[row]),
                "phase": None if row in kept else int(found.removal_phase[row]) + 1,
            }
            file.write(records.dump_json(record) + "\n")


def write_splits(
    folder: OutputFolder, collected: Dataset, parts: Split, last: LastBuild | None
) -> None:
    """Write the split of each problem in this and earlier builds, for the next build."""
    now = []
    for row, problem in enumerate(collected):
        side: SplitName | None = parts.sides[row]
        if problem.embargo and side == "train" and row not in parts.old:
            side = None  # it was not published, so it has no split yet
        now.append(PreviousProblem(problem, side))
    current = {_make_content_key(one.problem) for one in now}
    before = last.previous if last else ()
    gone = [one for one in before if _make_content_key(one.problem) not in current]
    with folder.write(SIDES_FILE) as file:
        for previous in (*sorted(now, key=lambda one: one.problem.id), *gone):
            record = records.make_problem_record(previous.problem.blind())
            file.write(records.dump_json({**record, "side": previous.split}) + "\n")


def _make_content_key(problem: Problem) -> tuple[str, str, tuple[str, ...]]:
    return problem.id, problem.sentence, problem.options


def make_sides_record(parts: Split, ids: Sequence[str], last: LastBuild) -> dict[str, Any]:
    sets: dict[SplitName, tuple[int, ...]] = {
        "train": parts.debiased,
        "dev": parts.dev,
        "test": parts.test,
    }
    published = {row for rows in sets.values() for row in rows}
    stayed = parts.old.difference(*(joint.rows for joint in parts.joined_blocks))
    return {
        "last": last.digest,
        "stayed": {side: sum(row in stayed for row in rows) for side, rows in sets.items()},
        "new": {side: sum(row not in parts.old for row in rows) for side, rows in sets.items()},
        "joined": [
            {
                "former": [side for side in SPLITS if side in joint.previous],
                "side": joint.split,
                "problems": [ids[row] for row in joint.rows if row in published],
            }
            for joint in parts.joined_blocks
        ],
    }


LIBRARIES = ("numpy", "scipy", "numba", "torch", "transformers")
"""Packages whose versions may affect a result."""


def make_public_recipe(recipe: Recipe, digest: str, last: str | None = None) -> dict[str, Any]:
    """Make the published recipe, without paths and with a digest of the problems.

    The digest does not cover answers or ids that depend on answers; otherwise, trial and error
    could reveal the answers. `last` is the digest of the last build.
    """
    shown = {**tabulate_recipe(recipe), "problems": digest, "version": __version__}
    return {**shown, "last": last} if last else shown


def digest_secret_inputs(recipe: Recipe, collected: Dataset) -> dict[str, str]:
    files = {"votes": recipe.votes_file, "planted": recipe.planted, "array": recipe.embed.array}
    digests = {name: " ".join(map(sha256, list_paths(named))) for name, named in files.items()}
    return {"collected": collected.digest, **{n: digest for n, digest in digests.items() if digest}}


def digest_problems(dataset: Dataset) -> str:
    """Return a digest that does not depend on answers, ids or the order of problems."""
    seen = sorted(json.dumps([p.sentence, *p.options]) for p in dataset)
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()


def write_reports(folder: OutputFolder, built: BuildResult, recipe: Mapping[str, Any]) -> None:
    record = {
        "signature": str(built.measures.signature),
        **({} if built.applied_rules is None else {"rules_used": built.applied_rules.record()}),
        **({"reading": list(built.reader_notes)} if built.reader_notes else {}),
        "funnel": built.funnel.record(),
        **make_filter_record(built.run, built.measures),
        "counts": built.counts,
        "unvalidated": dict(built.unvalidated),
        **({} if built.sides is None else {"sides": built.sides}),
        **({"copies": dict(built.copies)} if built.copies else {}),
        **({"columns": dict(built.columns)} if built.columns.get("columns") else {}),
        "embedding": built.embedding_notes,
        "recipe": recipe,
    }
    folder.write_lines(RECIPE, [format_rebuild_recipe(built.recipe, recipe)])
    folder.write_json("report.json", record)
    folder.write_lines("report.html", [render_report(built, recipe)])
    names = sorted(name for name in folder.files if not name.startswith(f"{PRIVATE}/"))
    folder.write_lines(
        CHECKSUMS_NAME, (f"{folder.files[n]}  {n}\n" for n in names if n != CHECKSUMS_NAME)
    )


def write_run(folder: OutputFolder, seconds: float) -> None:
    """Write the duration, the machine and the library versions to run.json, without a checksum."""
    versions = {}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    run = {
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }
    (folder.path / "run.json").write_text(json.dumps(run, indent=2) + "\n", "utf-8")


@dataclass(frozen=True, eq=False)
class LastBuild:
    """The last build, whose splits are kept.

    Attributes:
        digest: the digest of the build's checksums, which identifies the build.
        previous: the problems of this and earlier builds, with their splits.
    """

    digest: str
    previous: tuple[PreviousProblem, ...]


def read_last_build(folder: str | Path) -> LastBuild:
    """Read the problems and splits of a finished build.

    Dropped problems were published with their answers, so their split is train.

    Raises:
        InputError: the folder contains no finished build, or lacks its private files.
    """
    folder = Path(folder)
    for name in (CHECKSUMS_NAME, SIDES_FILE):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder} contains no finished build: {name} is missing; choose another folder, "
                "or draw new splits"
            )
    try:
        previous = tuple(map(_parse_previous, records.read_json_lines(folder / SIDES_FILE)))
    except (OSError, ValueError, KeyError, TypeError, ProblemError, FormatError) as error:
        raise InputError(f"{folder}: the splits of this build can't be read: {error}") from error
    return LastBuild(BuildFiles(folder).digest, previous)


def _parse_previous(record: dict[str, Any]) -> PreviousProblem:
    side = record.pop("side")
    if side is not None and side not in SPLITS:
        raise ValueError(f"{side!r} is not a split")
    return PreviousProblem(records.parse_problem(record), side)
