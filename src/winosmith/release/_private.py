"""What must not be published, compared with what is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.outputs import sha256
from winosmith.problem import Problem
from winosmith.records import dropped_problem
from winosmith.release._checks import tells
from winosmith.release._ids import sight
from winosmith.release._parts import TEST

__all__ = ["Secrets", "leaked", "read_secrets"]


@dataclass(frozen=True, eq=False)
class Secrets:
    """What must not be published.

    Attributes:
        told: the test problems with their answers.
        withheld: what a solver would see of the problems that are held back, by it their ids.
        old_ids: the ids that problems had before they got those of the build.
        digests: of the private files.
    """

    told: Dataset
    withheld: Mapping[str, str]
    old_ids: frozenset[str]
    digests: frozenset[str]


def read_secrets(folder: str | Path) -> Secrets:
    """Read the folder private/ of a build, or the one beside a release.

    Raises:
        InputError: it holds no test.jsonl, or a file can't be read.
    """
    folder = Path(folder)
    if not (folder / "test.jsonl").is_file():
        raise InputError(f"{folder} holds no test.jsonl; name the folder private/ of the build")
    told = formats.read(folder / "test.jsonl", as_written=True)
    names = sorted(path for path in folder.iterdir() if path.is_file())
    return Secrets(
        told,
        dict(_withheld(folder / "withheld.jsonl", {*told.ids})),
        frozenset(_old_ids(folder / "ids.jsonl")),
        frozenset(sha256(path) for path in names),
    )


def _withheld(path: Path, test: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what is held back; a copy of what is in dev tells nothing that dev does not."""
    records = list(_lines(path))
    secret = {*test, *(record["id"] for record in records)}
    for record in records:
        if "copy_of" not in record or record["copy_of"] in secret:
            problem = dropped_problem(record)
            yield sight(problem), problem.id


def _old_ids(path: Path) -> Iterator[str]:
    for record in _lines(path):
        yield record["old_id"]


def _lines(path: Path) -> Iterator[dict[str, str]]:
    if path.is_file():
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}:{number}: {error}") from error


def leaked(
    parts: Mapping[str, Dataset], secrets: Secrets
) -> Iterator[tuple[str, int | None, str, str]]:
    """Yield what a release gives away: the part, the row (None for all), what, what to do."""
    published = {sight(p) for p in secrets.told}
    for part, dataset in parts.items():
        for row, problem in enumerate(dataset):
            seen = sight(problem)
            if seen in secrets.withheld and seen not in published:
                yield (
                    part,
                    row,
                    f"{problem.id!r} is withheld: it tells of a test answer, or is under embargo",
                    "take it out and release again",
                )
            if problem.answer is not None and seen in published:
                yield part, row, f"{problem.id!r} is a test problem, with its answer", "take it out"
            old = next((one for one in _names(problem) if one in secrets.old_ids), None)
            if old is not None:
                yield (
                    part,
                    row,
                    f"{problem.id!r} shows {old!r}, an id from before the build",
                    "take it out",
                )
    if TEST in parts:
        for tell in tells(parts[TEST], secrets.told):
            yield TEST, None, tell, "release again with --ids digest"


def _names(problem: Problem) -> Iterator[str]:
    yield problem.id
    if problem.twin_id:
        yield problem.twin_id
    if problem.lineage:
        yield from (problem.lineage.root, problem.lineage.parent)
    yield from (value for value in problem.extra.values() if isinstance(value, str))
