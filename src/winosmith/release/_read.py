"""A release that is read again, for `verify` and as the previous release of the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.blocks import Former, Side
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, RecipeError
from winosmith.finished import read_old_ids
from winosmith.options import from_table
from winosmith.outputs import PRIVATE, sha256
from winosmith.problem import Problem
from winosmith.records import Recorded, canonical, json_lines, parsed
from winosmith.release._about import about_of
from winosmith.release._content import RECORD, TOMBSTONES, Content, Tombstone
from winosmith.release._parts import DEV, PARTS, TEST, TRAIN, side, unique

AGAIN = "download it again, or release again"


@dataclass(frozen=True, slots=True)
class Fault(Recorded):
    """One fault of a release.

    Attributes:
        where: the file and line ("data/test.jsonl:3"), relative to the release.
        what: what is wrong.
        do: what to do about it.
    """

    where: str
    what: str
    do: str = AGAIN

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.do}"


_KINDS: Mapping[str, type] = {
    "digest": str, "canary": str, "ids": str, "disjoint": list, "counts": dict, "digests": dict,
    "configurations": dict, "about": dict, "files": dict,
}  # fmt: skip
"""The keys of release.json that are read again, each with the kind of its value."""


def read_record(folder: Path) -> dict[str, Any] | Fault:
    """Return the object of release.json, or the reason why it can't be read."""
    try:
        record = parsed((folder / RECORD).read_text("utf-8"))
        canonical(record).encode("utf-8")  # an unpaired surrogate or deep nesting has no digest
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        return Fault(RECORD, f"it can't be read ({why}), so this is not a release")
    if not isinstance(record, dict) or record.get("release") != 1:
        return Fault(RECORD, "it is not that of a release (release: 1)")
    bad = [key for key, kind in _KINDS.items() if not isinstance(record.get(key), kind)]
    if bad:
        return Fault(RECORD, f"{', '.join(bad)} is missing or of another kind")
    named = [part for part in record["counts"] if part != "all"]
    if odd := [part for part in named if part not in PARTS]:
        return Fault(RECORD, f"counts has {odd[0]!r}, which is not a part")
    if not named:
        return Fault(RECORD, "counts has no part")
    try:
        about_of(record["about"])
    except RecipeError as error:
        return Fault(RECORD, f"about: {error}")
    return record


def read_content(folder: Path, record: Mapping[str, Any]) -> tuple[Content, list[Fault]]:
    """Return the problems and tombstones of a release, and the records that are not valid."""
    parts: dict[str, Dataset] = {}
    faults: list[Fault] = []
    for part in PARTS:
        if part in record["counts"]:
            problems, bad = _read_problems(folder, f"data/{part}.jsonl")
            faults += bad
            if problems is not None:
                parts[part] = Dataset(problems, part)
    read = list(_read_tombstones(folder))
    faults += [one for one in read if isinstance(one, Fault)]
    content = Content(
        about_of(record["about"]),
        parts,
        record["canary"],
        tuple(record["disjoint"]),
        record["ids"],
        tombstones=[one for one in read if isinstance(one, Tombstone)],
    )
    return content, faults


def _read_problems(folder: Path, path: str) -> tuple[list[Problem] | None, list[Fault]]:
    try:
        held = formats.scan(folder / path, "winosmith", as_written=True)
    except FormatError as error:
        return None, [Fault(path, f"it can't be read ({error.reason})")]
    rows = list(zip(held.lines, held.items, strict=True))
    bad = [(one.line, str(one.reason)) for one in held.bad]
    bad += [(line, "it is a claim") for line, item in rows if not isinstance(item, Problem)]
    problems = [item for _, item in rows if isinstance(item, Problem)]
    return problems, [Fault(f"{path}:{n}", f"this is not a problem: {why}") for n, why in bad]


def _read_tombstones(folder: Path) -> Iterator[Tombstone | Fault]:
    try:
        for line, record in json_lines((folder / TOMBSTONES).read_text("utf-8"), TOMBSTONES):
            try:
                yield from_table(Tombstone, record)
            except RecipeError as error:
                yield Fault(f"{TOMBSTONES}:{line}", f"this is not a tombstone: {error}")
    except FormatError as error:
        yield Fault(f"{TOMBSTONES}:{error.line}", error.reason)
    except (OSError, ValueError):
        yield Fault(TOMBSTONES, "it can't be read")


def checksums_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@dataclass(frozen=True, eq=False)
class Previous:
    """The previous release.

    Attributes:
        content: its problems and tombstones.
        digest: of the release.
        history: its changelog, from its first section.
        source_ids: the id that each problem had in its source; empty if the owner's private folder
            is not next to it.
    """

    content: Content
    digest: str
    history: str
    source_ids: Mapping[str, str]

    @property
    def version(self) -> str:
        """Its version."""
        return self.content.about.version

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """Every problem once, by its id."""
        return unique(self.content.parts)

    @cached_property
    def published(self) -> frozenset[str]:
        """The ids of its problems, and of those that were withdrawn by then."""
        return frozenset((*self.problems, *(stone.id for stone in self.content.tombstones)))

    @cached_property
    def by_source(self) -> dict[str, str]:
        """Its ids by those of its source."""
        return {source: one for one, source in self.source_ids.items()}

    @property
    def former(self) -> tuple[Former, ...]:
        """The side of each problem, by the ids of its source; problems without a split train."""
        sides: Mapping[str, Side] = {TEST: TEST, DEV: DEV}
        return tuple(
            Former(
                problem.renamed(lambda id_: self.source_ids.get(id_, id_), str),
                sides.get(side(part), TRAIN),
            )
            for part, dataset in self.content.parts.items()
            for problem in dataset
        )


def read_previous(folder: str | Path) -> Previous:
    """Read the previous release.

    Raises:
        InputError: it is not a release, or can't be read.
    """
    folder = Path(folder).resolve()
    advice = "name the folder of a release, such as NAME-1.0.0-…"
    record = read_record(folder)
    if isinstance(record, Fault):
        raise InputError(f"{folder} is not a release ({record.where}: {record.what}); {advice}")
    content, faults = read_content(folder, record)
    if faults:
        raise InputError(f"{folder} is not a sound release ({faults[0]}); verify it")
    try:
        _, mark, history = (folder / "CHANGELOG.md").read_text("utf-8").partition("\n## ")
        ids = read_old_ids(folder.parent / PRIVATE / folder.name)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{folder} is not a release ({error}); {advice}") from error
    return Previous(content, record["digest"], (mark + history).strip(), ids)
