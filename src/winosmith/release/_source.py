"""What a release is made from, and what its problems tell of how they came about.

The source is a finished build, or files that are split already, or are not. What a released
problem tells of its origin stands under keys of its `extra`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winosmith import formats, validate
from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.humans import CANARY
from winosmith.outputs import PRIVATE, sha256
from winosmith.problem import Extra, Origin, Problem, Scalar
from winosmith.records import dropped_problem
from winosmith.release._parts import PARTS, PROBLEMS, TEST, part_named, sight

_LAST = "checksums.sha256"
"""The file that a build writes last."""

_KEPT = ("signature", "funnel", "figures", "unvalidated", "recipe")
"""What of a build's report goes into a release."""


@dataclass(frozen=True, eq=False)
class Source:
    """What a release is made from.

    Attributes:
        parts: the problems by part, as they are there; those of test may have answers.
        build: what the build reported; empty for files.
        removed: what removed a problem from the debiased set, by its id.
        private: the folder with what must not be published, where there is one.
        absent: problems of the build that are in no part, by its ids: what was dropped or withheld.
        old_ids: which id of the build was which one of the pool; empty where that is not known.
    """

    parts: Mapping[str, Dataset]
    build: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, Removed] = field(default_factory=dict)
    private: Path | None = None
    absent: Mapping[str, Problem] = field(default_factory=dict)
    old_ids: Mapping[str, str] = field(default_factory=dict)


def read_source(paths: Sequence[str | Path], format_name: str | None = None) -> Source:
    """Read what a release is made from.

    Args:
        paths: the folder of a finished build; a folder with files named after parts (train, dev or
            validation, test, …); such files; or one file of any name, which is not split.
        format_name: of files; found from their content when None.

    Raises:
        InputError: the build is not finished or was changed, or no file is one of a part.
        FormatError: a file can't be read.
    """
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if folders and len(paths) > 1:
        raise InputError(f"{folders[0]} is a folder; give it alone, or give files")
    if folders:
        folder = folders[0]
        if (folder / "report.json").exists() or (folder / _LAST).exists():
            return _build(folder)
        files = [path for path in sorted(folder.iterdir()) if part_named(path.stem)]
        if not [path for path in files if path.suffix != ".lst"]:
            raise InputError(
                f"{folder} is no finished build, and no file in it is named after a part "
                f"({', '.join(PARTS)}); name the files"
            )
        return _files([path for path in files if path.suffix != ".lst"], format_name)
    return _files([Path(path) for path in paths], format_name)


def _files(paths: Sequence[Path], format_name: str | None) -> Source:
    parts: dict[str, Dataset] = {}
    for path in paths:
        part = part_named(path.stem)
        if part is None and len(paths) == 1:
            part = PROBLEMS
        if part is None:
            raise InputError(
                f"{path} is not named after a part ({', '.join(PARTS)}); rename it, so that it is "
                "known what it is"
            )
        if part in parts:
            raise InputError(f"{path}: there is another file for {part}; give one of them")
        data = formats.read(path, format_name)
        parts[part] = Dataset(data, part)
        _same_problems(parts, path)
    return Source(_ordered(parts))


def _same_problems(parts: Mapping[str, Dataset], path: Path) -> None:
    """Refuse one id for two problems: a configuration would hold a contradiction."""
    *others, (_, newest) = parts.items()
    for part, dataset in others:
        ids = set(dataset.ids)
        for problem in newest:
            if problem.id in ids and problem not in dataset:
                raise InputError(
                    f"{path}: the id {problem.id!r} is another problem in {part}; give it a new one"
                )


def _ordered(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    return {part: parts[part] for part in PARTS if part in parts}


def _build(folder: Path) -> Source:
    _check_finished(folder)
    report = json.loads((folder / "report.json").read_text("utf-8"))
    parts = {}
    for path in sorted(folder.iterdir()):
        part = part_named(path.stem)
        if part is not None and path.suffix != ".lst" and path.is_file() and path.stat().st_size:
            parts[part] = Dataset(formats.read(path, as_written=True), part)
    private = folder / PRIVATE
    dropped = _records(folder / "dropped.jsonl")
    away = [*dropped, *_records(private / "withheld.jsonl")]
    problems = map(dropped_problem, away)
    return Source(
        _ordered(parts),
        {key: report[key] for key in _KEPT if report.get(key)},
        {record["id"]: removed(record["stage"], record["reason"]) for record in dropped},
        private if (private / "test.jsonl").is_file() else None,
        {problem.id: problem for problem in problems},
        {record["id"]: record["old_id"] for record in _records(private / "ids.jsonl")},
    )


def _records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON Lines; none where it is not there."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _check_finished(folder: Path) -> None:
    """Raise InputError unless the build is there as it was written."""
    again = "run winosmith build again"
    try:
        lines = (folder / _LAST).read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{folder} holds a build that is not finished; {again}") from error
    for number, line in enumerate(lines, start=1):
        digits, _, name = line.partition("  ")
        path = folder / name
        if not name or not path.resolve().is_relative_to(folder.resolve()):
            raise FormatError(
                f"this is no checksum of a file of the build; {again}", folder / _LAST, number
            )
        if not path.is_file() or sha256(path) != digits:
            raise InputError(f"{path} is not as the build wrote it; {again}")


def test_answers(private: Path | None) -> Dataset | None:
    """Return the test problems with their answers from a private folder, or None."""
    path = private and private / f"{TEST}.jsonl"
    return formats.read(path, as_written=True) if path and path.is_file() else None


JUDGES = "release.judges"
JUDGED_BY = "release.judged_by"
REMOVED_BY = "release.removed_by"
PHASE = "release.phase"

OWN_KEYS = (CANARY, JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
"""All that the `extra` of a test problem may hold: none of it depends on the answer."""

_IN_PHASE = re.compile(r"in phase (\d+)")


@dataclass(frozen=True, slots=True)
class Judged:
    """Who judged a problem: how many people, and their pseudonyms, separated by spaces."""

    count: int
    names: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What removed a problem from the debiased set: the stage, and the phase of a filter."""

    stage: str
    phase: int | None


def judged(votes: Iterable[Response]) -> dict[str, Judged]:
    """Return who judged each problem; those who took a human test are not judges."""
    by: dict[str, set[str]] = {}
    for vote in votes:
        if vote.purpose != "test":
            by.setdefault(vote.problem_id, set()).add(vote.participant)
    return {
        problem: Judged(len(people), " ".join(sorted(name.replace(" ", "_") for name in people)))
        for problem, people in by.items()
    }


def removed(stage: str, reason: str) -> Removed:
    """Return what a line of dropped.jsonl says.

    >>> removed("aflite", "guessed: by 90% of the ensemble in phase 34")
    Removed(stage='aflite', phase=34)
    """
    found = _IN_PHASE.search(reason)
    return Removed(stage, int(found[1]) if found else None)


def with_provenance(
    problem: Problem,
    canary: str,
    *,
    judges: Judged | None = None,
    named: bool = False,
    dropped: Removed | None = None,
    bare: bool = False,
) -> Problem:
    """Return the problem as it is released.

    The hour at which it was written is left out: with a log of who was there it names a person.

    Args:
        problem: from the source.
        canary: the string that every problem carries.
        judges: who judged it.
        named: give the judges' pseudonyms, too.
        dropped: what removed it from the debiased set.
        bare: leave out the answer, and what only the source's format knew, as for test.
    """
    extra: dict[str, Scalar] = {} if bare else dict(problem.extra)
    for key in OWN_KEYS:
        extra.pop(key, None)
    extra[CANARY] = canary
    if judges is not None:
        extra[JUDGES] = judges.count
        if named:
            extra[JUDGED_BY] = judges.names
    if dropped is not None and not bare:
        extra[REMOVED_BY] = dropped.stage
        if dropped.phase is not None:
            extra[PHASE] = dropped.phase
    return replace(
        problem,
        answer=None if bare else problem.answer,
        origin=_dated(problem.origin),
        extra=Extra(extra),
    )


def _dated(origin: Origin | None) -> Origin | None:
    if origin is None or origin.created is None or len(origin.created) <= 10:
        return origin
    return replace(origin, created=origin.created[:10])


def judges_of(
    votes: Sequence[str | Path], collected: Sequence[str | Path], source: Source
) -> Callable[[Problem], Judged | None]:
    """Return a function that tells who judged a problem of the source.

    Args:
        votes: files of votes; none where nobody is to be told.
        collected: the problems that the votes name, where a build has given new ids and its
            private folder, which says which was which, is not there.
        source: of the release.

    Raises:
        InputError: the votes are of none of the problems.
    """
    if not votes:
        return lambda problem: None
    by_id = judged(vote for path in votes for vote in validate.read_votes(path))
    problems = [problem for dataset in source.parts.values() for problem in dataset]
    if collected:
        read = (problem for path in collected for problem in formats.read(path))
        by_sight = {sight(p): by_id[p.id] for p in read if p.id in by_id}
        found = {p.id: by_sight[sight(p)] for p in problems if sight(p) in by_sight}
    else:
        old = {p.id: source.old_ids.get(p.id, p.id) for p in problems}
        found = {new: by_id[one] for new, one in old.items() if one in by_id}
    if not found:
        raise InputError(
            f"{votes[0]}: none of these votes is of a problem that is released; for a build "
            "without its private folder, name the problems that the votes are of with --collected"
        )
    return lambda problem: found.get(problem.id)
