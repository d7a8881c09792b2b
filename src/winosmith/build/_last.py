"""The build before: which problem was on which side, by the ids of the pool."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.blocks import SIDES, Former, Side
from winosmith.build._split import Split
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, ProblemError
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.problem import Extra, Lineage, Problem
from winosmith.records import canonical, dropped_problem, problem_of, problem_record

CHECKSUMS = "checksums.sha256"
IDS = f"{PRIVATE}/ids.jsonl"
SIDES_FILE = f"{PRIVATE}/sides.jsonl"
"""What a build writes that follows another: the sides of its pool, and of all that was before."""

_PUBLISHED: tuple[tuple[str, Side], ...] = (
    ("train_xl", "train"),
    ("train_debiased", "train"),
    ("dev", "dev"),
    ("test", "test"),
)


@dataclass(frozen=True, eq=False)
class LastBuild:
    """The build before.

    Attributes:
        digest: by which it is known: that of its checksums.
        former: every problem that it and those before it had, with its side.
    """

    digest: str
    former: tuple[Former, ...]


def digest_of(folder: str | Path) -> str:
    """Return what a build's public files are known by: the digest of their checksums."""
    return hashlib.sha256((Path(folder) / CHECKSUMS).read_bytes()).hexdigest()


def read_last(folder: str | Path) -> LastBuild:
    """Read which problem of a finished build was on which side.

    What was dropped was published with its answer, and so belongs to training.

    Raises:
        InputError: the folder holds no finished build, or not what is private in it.
    """
    folder = Path(folder)
    for name in (CHECKSUMS, IDS):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder} holds no finished build whose sides could be kept: {name} is missing; "
                "name the folder of one, or draw the sides anew"
            )
    try:
        stored = (folder / SIDES_FILE).is_file()
        former = _stored(folder) if stored else _published(folder)
        return LastBuild(digest_of(folder), tuple(former))
    except (OSError, ValueError, KeyError, TypeError, ProblemError, FormatError) as error:
        raise InputError(f"{folder}: the sides of this build can't be read: {error}") from error


def _stored(folder: Path) -> Iterator[Former]:
    for record in _records(folder / SIDES_FILE):
        side = record.pop("side")
        if side is not None and side not in SIDES:
            raise ValueError(f"{side!r} is no side")
        yield Former(problem_of(record), side)


def _published(folder: Path) -> Iterator[Former]:
    """Yield what the files of a build tell, with the ids that its problems had in the pool."""
    old = {record["id"]: record["old_id"] for record in _records(folder / IDS)}
    table = tomllib.loads((folder / "recipe.toml").read_text("utf-8"))
    known = formats.format_named(table["files"]["format"])
    seen = set[str]()
    for name, side in _PUBLISHED:
        path = folder / f"{name}{known.suffix}"
        for problem in (
            formats.read(path, known.name, as_written=True) if path.stat().st_size else ()
        ):
            if problem.id not in seen:
                seen.add(problem.id)
                yield Former(_in_pool(problem, old), side)
    for record in _records(folder / "dropped.jsonl"):
        if record["id"] not in seen:
            yield Former(_in_pool(dropped_problem(record), old), "train")
    for record in _records(folder / PRIVATE / "withheld.jsonl"):
        yield Former(_in_pool(dropped_problem(record), old), None)


def _in_pool(problem: Problem, old: Mapping[str, str]) -> Problem:
    lineage = problem.lineage
    if lineage is not None:
        root, parent = (old.get(id_, id_) for id_ in (lineage.root, lineage.parent))
        lineage = Lineage(root, parent)
    return replace(problem, id=old[problem.id], lineage=lineage, answer=None, extra=Extra())


def write_sides(
    folder: OutputFolder, collected: Dataset, parts: Split, last: LastBuild | None
) -> None:
    """Write the sides of everything that was ever split, for the next build; private.

    Nothing is written by the first build: its files tell.

    Args:
        folder: where to.
        collected: the problems with the ids of the pool.
        parts: how they were split.
        last: the build before.
    """
    if last is None:
        return
    now = [Former(problem, _side_of(problem, row, parts)) for row, problem in enumerate(collected)]
    told = {_text(former.problem) for former in now}
    gone = [former for former in last.former if _text(former.problem) not in told]
    with folder.write(SIDES_FILE) as file:
        for former in (*_sorted(now), *gone):
            bare = replace(former.problem, answer=None, extra=Extra())
            file.write(canonical({**problem_record(bare), "side": former.side}) + "\n")


def _side_of(problem: Problem, row: int, parts: Split) -> Side | None:
    """Return a row's side; what is under embargo was not published, and is on none for that."""
    side = parts.sides[row]
    hidden = problem.embargo and side == "train" and row not in parts.old
    return None if hidden else side


def _text(problem: Problem) -> tuple[str, str, tuple[str, ...]]:
    return problem.id, problem.sentence, problem.options


def _sorted(former: Iterable[Former]) -> list[Former]:
    return sorted(former, key=lambda one: one.problem.id)


def sides_record(parts: Split, ids: Sequence[str], last: LastBuild) -> dict[str, Any]:
    """Return what a build says of the sides: how many problems stayed, are new, or were joined.

    Args:
        parts: how the problems were split.
        ids: those that they are published with.
        last: the build before.
    """
    sets: dict[Side, tuple[int, ...]] = {
        "train": parts.debiased,
        "dev": parts.dev,
        "test": parts.test,
    }
    published = {row for rows in sets.values() for row in rows}
    stayed = parts.old.difference(*(joint.rows for joint in parts.joints))
    return {
        "last": last.digest,
        "stayed": {side: sum(row in stayed for row in rows) for side, rows in sets.items()},
        "new": {side: sum(row not in parts.old for row in rows) for side, rows in sets.items()},
        "joined": [
            {
                "former": list(joint.former),
                "side": joint.side,
                "problems": [ids[row] for row in joint.rows if row in published],
            }
            for joint in parts.joints
        ],
    }


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
