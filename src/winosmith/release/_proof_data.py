"""The problems of a release: each as it may be published, the same in every form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import ProblemError
from winosmith.formats import lines
from winosmith.humans import CANARY
from winosmith.problem import Problem
from winosmith.records import problem_of
from winosmith.release._columns import read_table, same_columns, table_of
from winosmith.release._content import Content
from winosmith.release._fault import AGAIN, Faults
from winosmith.release._ids import DIGITS, sight
from winosmith.release._parts import PARTS, TEST
from winosmith.release._provenance import OWN_KEYS
from winosmith.release._write import labels_of, metadata

__all__ = ["prove_forms", "prove_order", "read_parts"]


def read_parts(
    folder: Path, record: Mapping[str, Any], faults: Faults
) -> dict[str, Dataset] | None:
    """Return the problems by part, or None where a line is none that can be released."""
    before = len(faults)
    known: dict[str, Problem] = {}
    parts, first = {}, dict[str, tuple[str, Problem]]()
    for part in [one for one in PARTS if one in record["counts"]]:
        path = f"data/{part}.jsonl"
        problems = _problems(folder, path, known, faults)
        if problems is None:
            continue
        seen: dict[str, int] = {}
        for number, problem in enumerate(problems, start=1):
            if problem.id in seen:
                faults.add(path, f"the id {problem.id!r} is that of line {seen[problem.id]}, too",
                           line=number)  # fmt: skip
                continue
            seen[problem.id] = number
            place, other = first.setdefault(problem.id, (part, problem))
            if other != problem:
                faults.add(path, f"{problem.id!r} is another problem in {place}", line=number)
            if place == part:
                _prove(problem, part, record, path, number, faults)
        parts[part] = Dataset({p.id: p for p in problems}.values(), part)
        if not problems:
            faults.add(path, "it holds no problem")
    fatal = [f for f in faults.found[before:] if f.what.startswith(("it can't be read", "this is"))]
    return None if fatal or not parts else parts


def _problems(
    folder: Path, path: str, known: dict[str, Problem], faults: Faults
) -> list[Problem] | None:
    """Return a file's problems; a line is read once, however many files hold it."""
    try:
        held = (folder / path).read_text("utf-8").split("\n")
    except (OSError, ValueError) as error:
        faults.add(path, f"it can't be read ({getattr(error, 'strerror', None) or error})")
        return None
    if held.pop() != "":
        faults.add(path, "its last line is not ended", line=len(held) + 1)
    found = []
    for number, line in enumerate(held, start=1):
        if line not in known:
            try:
                known[line] = problem_of(json.loads(line))
            except (ValueError, ProblemError, TypeError, AttributeError) as error:
                faults.add(path, f"this is no problem: {error}", line=number)
                continue
            if line + "\n" not in {*lines([known[line]]), *lines([known[line]], marked=True)}:
                faults.add(path, "it is not written as winosmith writes it", line=number)
        found.append(known[line])
    return found


def _prove(
    problem: Problem, part: str, record: Mapping[str, Any], path: str, line: int, faults: Faults
) -> None:
    """Find what must not be in one published problem."""

    def add(what: str, do: str = AGAIN) -> None:
        faults.add(path, f"{problem.id!r} {what}", do, line=line)

    if problem.embargo:
        add("is under embargo", "take it out and release again")
    if problem.extra.get(CANARY) != record["canary"]:
        add("does not carry the canary")
    if part == TEST:
        if problem.answer is not None:
            add("has its answer, though it is of test", "take the answer out and release again")
        odd = [key for key in problem.extra if key not in OWN_KEYS]
        if odd:
            add(f"has {odd[0]!r}, which may tell its answer", "take it out and release again")
    elif problem.answer is None:
        add("has no answer, though it is not of test")
    author = problem.origin.author if problem.origin else None
    if author and "@" in author:
        add("names its contributor by what looks like an address", "put a pseudonym there")
    created = problem.origin.created if problem.origin else None
    if created and len(created) > 10:
        add("tells the hour at which it was written", "release again")
    if record["ids"] == "digest":
        stem = f"{record['about']['name']}-{sight(problem)[:DIGITS]}"
        if not (problem.id == stem or problem.id.startswith(f"{stem}-")):
            add("has an id that is not made from what a solver sees; it may tell the answer")


def prove_order(content: Content, faults: Faults) -> None:
    """Find a test set in an order of somebody's making, and sizes that are not nested."""
    test = content.parts.get(TEST, Dataset())
    seen = [(sight(problem), problem.id) for problem in test]
    wrong = next((row for row in range(1, len(seen)) if seen[row] < seen[row - 1]), None)
    if wrong is not None:
        faults.add(
            f"data/{TEST}.jsonl",
            "the order is not that of what a solver sees; it may tell the answers",
            "release again",
            line=wrong + 1,
        )
    sizes = [
        part for part in content.parts if part.startswith("train_") and part != "train_debiased"
    ]
    for small, large in pairwise(sizes):
        ids, more = content.parts[small].ids, content.parts[large].ids
        if more[: len(ids)] != ids:
            row = next((r for r, one in enumerate(ids) if more[r : r + 1] != (one,)), 0)
            faults.add(f"data/{small}.jsonl", f"it is not the beginning of {large}", line=row + 1)


def prove_forms(folder: Path, content: Content, faults: Faults) -> None:
    """Find labels and Parquet files that say something else than the JSON Lines."""
    for part, dataset in content.parts.items():
        if part != TEST:
            _labels(folder, f"data/{part}-labels.lst", labels_of(content, part), faults)
        path = f"data/{part}.parquet"
        try:
            table, told = read_table(folder / path)
        except (OSError, ValueError) as error:
            why = str(error).splitlines()[0]
            faults.add(path, f"it can't be read ({why})")
            continue
        _parquet(path, table, table_of(dataset), faults)
        for key, value in metadata(content).items():
            if told.get(key) != value:
                faults.add(path, f"its metadata do not carry the {key}")


def _labels(folder: Path, path: str, wanted: str, faults: Faults) -> None:
    try:
        told = (folder / path).read_text("utf-8")
    except (OSError, ValueError):
        faults.add(path, "it is missing or can't be read")
        return
    if told != wanted:
        lines, right = told.split("\n"), wanted.split("\n")
        pairs = enumerate(zip(lines, right, strict=False), start=1)
        number = next((n for n, (a, b) in pairs if a != b), min(len(lines), len(right)))
        faults.add(path, "it does not have the answers of the problems", line=number)


def _parquet(path: str, table: Any, wanted: Any, faults: Faults) -> None:
    if not same_columns(table):
        faults.add(path, "its columns are not those of a release")
    elif len(table) != len(wanted):
        faults.add(path, f"it has {len(table)} rows; the JSON Lines have {len(wanted)}")
    elif not table.equals(wanted):
        name = next(n for n in wanted.column_names if not table[n].equals(wanted[n]))
        pairs = zip(table[name].to_pylist(), wanted[name].to_pylist(), strict=True)
        row = next(row for row, (one, other) in enumerate(pairs) if one != other)
        faults.add(path, f"the {name} of row {row + 1} is not that of the JSON Lines")
