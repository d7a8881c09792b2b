"""The source of a release, and the provenance that it adds to problems.

The source is a finished build, or files that are split already or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winosmith import formats, validate
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.finished import BuildFiles
from winosmith.humans import CANARY
from winosmith.outputs import PRIVATE
from winosmith.problem import Extra, Problem, Scalar
from winosmith.records import dropped_problem
from winosmith.release._parts import PARTS, PROBLEMS, in_order, part_of_file, unique
from winosmith.release._tables import JUDGED_BY, JUDGES, OWN_KEYS, PHASE, REMOVED_BY

_KEPT = ("signature", "funnel", "figures", "unvalidated", "recipe")
"""The keys of a build's report that go into a release."""

Fields = Mapping[str, Scalar]
"""Fields of a problem's `extra`."""


@dataclass(frozen=True, eq=False)
class Source:
    """The source of a release.

    Attributes:
        parts: the problems by part, as they are there; those of test may have answers.
        build: the report of the build; empty for files.
        removed: fields with the stage and phase that removed a problem from the debiased set, by
            its id.
        private: the folder with the files that must not be published, or None.
        absent: problems of the build that are in no part, by their ids: dropped or withheld.
        old_ids: the pool's ids by those of the build; empty if they are unknown.
    """

    parts: Mapping[str, Dataset]
    build: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, Fields] = field(default_factory=dict)
    private: Path | None = None
    absent: Mapping[str, Problem] = field(default_factory=dict)
    old_ids: Mapping[str, str] = field(default_factory=dict)


def read_source(
    paths: Sequence[str | Path], format_name: str | None = None, pair_by: str | None = None
) -> Source:
    """Read the source of a release.

    Args:
        paths: the folder of a finished build; a folder with files named after parts (train, dev or
            validation, test, …); such files; or one file of any name, which is not split.
        format_name: of files; detected from their content when None.
        pair_by: of files: a further column that both halves of a twin share, also across files.

    Raises:
        InputError: the build is not finished or was changed, or no file is one of a part.
        FormatError: a file can't be read.
    """
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if not folders:
        return _read_files([Path(path) for path in paths], format_name, pair_by)
    folder = folders[0]
    if len(paths) > 1:
        raise InputError(f"{folder} is a folder; give only this folder, or give files")
    files = [path for path in sorted(folder.iterdir()) if part_of_file(path.stem)]
    files = [path for path in files if path.suffix != ".lst"]
    build = BuildFiles(folder)
    if build.there:
        return _read_build(build, files)
    if not files:
        raise InputError(
            f"{folder} is not a finished build, and no file in it is named after a part "
            f"({', '.join(PARTS)}); give the paths of the files"
        )
    return _read_files(files, format_name, pair_by)


def _read_files(paths: Sequence[Path], format_name: str | None, pair_by: str | None) -> Source:
    parts: dict[str, Dataset] = {}
    every: dict[str, Problem] = {}
    for path in paths:
        part = part_of_file(path.stem) or (PROBLEMS if len(paths) == 1 else None)
        if part is None:
            raise InputError(
                f"{path} is not named after a part ({', '.join(PARTS)}); rename it after its part"
            )
        if part in parts:
            raise InputError(f"{path}: there is another file for {part}; give one of them")
        in_one = pair_by is None or len(paths) == 1  # a twin may have its halves in two files
        parts[part] = formats.read(path, format_name, pair_by=pair_by if in_one else "")
        for problem in parts[part]:
            if every.setdefault(problem.id, problem) != problem:
                other = next(name for name, data in parts.items() if problem.id in data.ids)
                raise InputError(
                    f"{path}: the id {problem.id!r} is another problem in {other}; give it a new id"
                )
    if pair_by is None and len(paths) > 1:
        formats.refuse_unread_pairs([*every.values()], paths[0].parent)
    elif pair_by and len(paths) > 1:
        entries = [formats.Entry(Place("", 0), "", problem) for problem in every.values()]
        paired = (entry.item for entry in formats.paired_by(entries, pair_by))
        every = {item.id: item for item in paired if isinstance(item, Problem)}
    return Source(
        {part: Dataset((every[i] for i in d.ids), part) for part, d in in_order(parts).items()}
    )


def _read_build(build: BuildFiles, files: Sequence[Path]) -> Source:
    build.check()
    parts = {
        part: Dataset(build.problems(path.stem), part)
        for path in files
        if (part := part_of_file(path.stem)) and path.is_file() and path.stat().st_size
    }
    private = build.folder / PRIVATE
    dropped = list(build.dropped())
    problems = map(dropped_problem, [*dropped, *build.withheld()])
    return Source(
        in_order(parts),
        {key: build.report[key] for key in _KEPT if build.report.get(key)},
        {record["id"]: removal(record["stage"], record["reason"]) for record in dropped},
        private if (private / "test.jsonl").is_file() else None,
        {problem.id: problem for problem in problems},
        build.old_ids(),
    )


def removal(stage: str, reason: str) -> Fields:
    """Return the fields that a line of dropped.jsonl gives a problem.

    >>> removal("aflite", "guessed: by 90 % of the ensemble in phase 34")
    {'release.removed_by': 'aflite', 'release.phase': 34}
    """
    found = re.search(r"in phase (\d+)", reason)
    return {REMOVED_BY: stage, **({PHASE: int(found[1])} if found else {})}


def judges_of(votes: Sequence[str | Path], source: Source) -> Callable[[Problem], Fields]:
    """Return a function that returns the fields with the judges of a problem of the source.

    People who took a human test are not judges.

    Args:
        votes: files of votes.
        source: of the release.

    Raises:
        InputError: none of the votes is about one of the problems.
    """
    people: dict[str, set[str]] = {}
    for path in votes:
        for vote in validate.read_votes(path):
            if vote.purpose != "test":
                people.setdefault(vote.problem_id, set()).add(vote.participant.replace(" ", "_"))
    names = {id_: source.old_ids.get(id_, id_) for id_ in unique(source.parts)}
    found = {id_: sorted(people[name]) for id_, name in names.items() if name in people}
    if votes and not found:
        raise InputError(
            f"{votes[0]}: none of these votes is about a released problem; votes of a build name "
            "problems by their ids in the pool, which are in its private folder"
        )
    return lambda problem: (
        {JUDGES: len(by), JUDGED_BY: " ".join(by)} if (by := found.get(problem.id)) else {}
    )


def with_provenance(
    problem: Problem,
    canary: str,
    added: Fields,
    *,
    bare: bool = False,
) -> Problem:
    """Return the problem as it is released.

    The hour of writing is removed: with a log of visits it identifies a person.

    Args:
        problem: from the source.
        canary: the string that every problem contains.
        added: fields with its judges, and with the filter that removed it.
        bare: remove the answer, and the fields that only the source's format has, as for test.
    """
    extra: dict[str, Scalar] = {} if bare else dict(problem.extra)
    for key in (CANARY, *OWN_KEYS):
        extra.pop(key, None)
    extra |= {CANARY: canary, **added}
    origin = problem.origin
    return replace(
        problem,
        answer=None if bare else problem.answer,
        origin=origin and replace(origin, created=origin.created and origin.created[:10]),
        extra=Extra(extra),
    )
