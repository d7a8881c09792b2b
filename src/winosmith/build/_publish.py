"""Write the files of a benchmark: what everybody may have, and what stays private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from winosmith import formats
from winosmith.build._anonymous import bare
from winosmith.build._filter import FilterRun
from winosmith.build._split import Split, nested_sizes
from winosmith.dataset import Dataset
from winosmith.debias import AfliteResult
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.problem import Problem
from winosmith.records import canonical, problem_record


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a problem is not among the kept.

    Attributes:
        stage: what dropped it.
        reason: why.
        copy_of: the row of the kept problem that it is a copy of; None where it is none.
    """

    stage: str
    reason: str
    copy_of: int | None = None


def publish(
    folder: OutputFolder,
    dataset: Dataset,
    old_ids: Sequence[str],
    parts: Split,
    verdicts: Mapping[int, Verdict],
    format_name: str,
) -> dict[str, int]:
    """Write every file of problems and labels; return how many problems each set holds.

    Public: train_xs … train_xl (whole twins, nested), train_debiased, dev, test without answers,
    labels apart, and dropped.jsonl with what no dev or test problem is tied to. Private: the
    answers of test; dev and test with what only their file's format knew (`extra`), which may tell
    an answer; what was withheld beside dev and test or is under embargo; and which new id was which
    old one.

    Args:
        folder: where to.
        dataset: everything that was collected, with its new ids.
        old_ids: the ids that it had, by row.
        parts: which rows are published where.
        verdicts: for each row that was dropped.
        format_name: of the public files of problems.
    """
    writer = formats.format_named(format_name)
    training = {f"train_{size}": rows for size, rows in nested_sizes(parts.train).items()}
    public = {**training, "train_debiased": parts.debiased, "dev": parts.dev}
    held_out = {*parts.dev, *parts.test}

    def problems(rows: Sequence[int]) -> list[Problem]:
        return [bare(dataset[row]) if row in held_out else dataset[row] for row in rows]

    def write_problems(name: str, chosen: Sequence[Problem]) -> None:
        with folder.write(name) as file:
            if writer.write is not None:
                writer.write(chosen, file)

    for name, rows in public.items():
        write_problems(f"{name}{writer.suffix}", problems(rows))
        with folder.write(f"{name}-labels.lst") as file:
            _write_labels(problems(rows), file)
    write_problems(f"test{writer.suffix}", [problem.blind() for problem in problems(parts.test)])
    with folder.write(f"{PRIVATE}/test-labels.lst") as file:
        _write_labels(problems(parts.test), file)
    write_problems(f"{PRIVATE}/test{writer.suffix}", [dataset[row] for row in parts.test])
    if any(dataset[row].extra for row in parts.dev) and "extra" in writer.keeps:
        write_problems(f"{PRIVATE}/dev{writer.suffix}", [dataset[row] for row in parts.dev])
    embargoed = {row for row, problem in enumerate(dataset) if problem.embargo}
    hidden = {*parts.withheld, *held_out, *embargoed}
    with folder.write("dropped.jsonl") as file:
        _write_dropped(
            dataset, [row for row in sorted(verdicts) if row not in hidden], verdicts, file
        )
    with folder.write(f"{PRIVATE}/withheld.jsonl") as file:
        _write_dropped(dataset, sorted({*parts.withheld, *embargoed}), verdicts, file)
    with folder.write(f"{PRIVATE}/ids.jsonl") as file:
        for new, old in sorted(zip(dataset.ids, old_ids, strict=True)):
            file.write(canonical({"id": new, "old_id": old}) + "\n")
    counts = {name: len(rows) for name, rows in public.items()}
    return {**counts, "test": len(parts.test), "withheld": len(parts.withheld)}


def columns_record(dataset: Dataset, parts: Split, format_name: str) -> dict[str, Any]:
    """Return which columns of the input are not in the public sets, and which files have them.

    Args:
        dataset: everything that was collected.
        parts: which rows are published where.
        format_name: of the public files.
    """
    writer = formats.format_named(format_name)
    sets = {"dev": parts.dev, "test": parts.test}
    if "extra" not in writer.keeps:
        sets |= {"train_xl": parts.train, "train_debiased": parts.debiased}
    keys = {
        name: {key for row in rows for key in dataset[row].extra} for name, rows in sets.items()
    }
    without = [name for name, found in keys.items() if found]
    held = [f"{PRIVATE}/{name}{writer.suffix}" for name in without]
    return {
        "columns": sorted(set[str]().union(*keys.values())),
        "not_in": without,
        "but_in": held if "extra" in writer.keeps else [],
    }


def columns_told(record: Mapping[str, Any] | None) -> list[str]:
    """Return what a build says of the columns that are not in its public sets.

    >>> columns_told({"columns": ["x.gender"], "not_in": ["dev"], "but_in": ["private/dev.jsonl"]})
    ['The column x.gender is not in dev, where it may tell answers; private/dev.jsonl has it']
    """
    if not record or not record["columns"]:
        return []
    one = len(record["columns"]) == 1
    named = f"column{'' if one else 's'} {', '.join(record['columns'])}"
    *others, last = record["not_in"]
    where = f"{', '.join(others)} and {last}" if others else last
    start = f"The {named} {'is' if one else 'are'} not in {where}"
    it, they = ("it", "it") if one else ("them", "they")
    if not record["but_in"]:
        return [f"{start}: the format of the files has no room for {it}"]
    held = " and ".join(record["but_in"])
    have = "has" if len(record["but_in"]) == 1 else "have"
    return [f"{start}, where {they} may tell answers; {held} {have} {it}"]


def write_scores(folder: OutputFolder, run: FilterRun, old_ids: Mapping[str, str]) -> None:
    """Write how well AFLite guessed each problem that went into it, the kept ones too: private.

    Nothing is written for other methods. Where several embedders vote, the score of a problem is
    the highest among those whose run removed it, and without any that of the first embedder.

    Args:
        folder: where to.
        run: the filter's.
        old_ids: the id that each problem of the pool had.
    """
    found = run.aflite
    if found is None or run.method != "aflite":
        return
    runs = [found] if run.consensus is None else [*run.consensus.runs.values()]
    clearest = [_clearest(runs, row) for row in range(len(run.pool))]
    kept = set(run.kept.tolist())
    of = {
        id_: {
            "score": float(own.scores[row]) if own.votes[row] else None,
            "votes": int(own.votes[row]),
            "phase": None if row in kept else int(own.removed_in[row]) + 1,
        }
        for row, (id_, own) in enumerate(zip(run.pool.ids, clearest, strict=True))
    }
    with folder.write(f"{PRIVATE}/scores.jsonl") as file:
        for id_ in sorted(of):
            file.write(canonical({"id": id_, "old_id": old_ids[id_], **of[id_]}) + "\n")


def _clearest(runs: Sequence[AfliteResult], row: int) -> AfliteResult:
    """Return the run that removed a row with the highest score, or the first run."""
    removed = [run for run in runs if run.removed_in[row] >= 0]
    return max(removed, key=lambda run: float(run.scores[row]), default=runs[0])


def _write_labels(problems: Sequence[Problem], file: IO[str]) -> None:
    formats.write_labels([p.answer for p in problems if p.answer is not None], file)


def _write_dropped(
    dataset: Dataset, rows: Sequence[int], verdicts: Mapping[int, Verdict], file: IO[str]
) -> None:
    """Write the records in the order of their new ids, not in that of the input."""
    for row in sorted(rows, key=dataset.ids.__getitem__):
        verdict = verdicts[row]
        record: dict[str, Any] = problem_record(dataset[row])
        record |= {"stage": verdict.stage, "reason": verdict.reason}
        if verdict.copy_of is not None:
            record["copy_of"] = dataset.ids[verdict.copy_of]
        file.write(canonical(record) + "\n")
