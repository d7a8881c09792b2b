"""What a release changes against the one before, and what has been withdrawn for good."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.problem import Extra, Problem
from winosmith.records import canonical, problem_record
from winosmith.release._about import About
from winosmith.release._canary import comment
from winosmith.release._parts import data_files, side

__all__ = ["Changes", "Previous", "changes", "read_previous"]


@dataclass(frozen=True, eq=False)
class Previous:
    """The release before.

    Attributes:
        name, version, digest, canary: its own.
        parts: its problems.
        tombstones: what had been withdrawn by then.
        history: its CHANGELOG.md.
    """

    name: str
    version: str
    digest: str
    canary: str
    parts: Mapping[str, Dataset]
    tombstones: Sequence[Mapping[str, str]]
    history: str

    def sides(self) -> dict[str, str]:
        """Return on which side each problem was, by its id."""
        return _sides(self.parts)

    def told(self) -> frozenset[str]:
        """Return the ids of the problems, and of the twins, whose answers it published."""
        answered = [p for d in self.parts.values() for p in d if p.answer is not None]
        return frozenset(p.id for p in answered) | {p.twin_id for p in answered if p.twin_id}


def read_previous(folder: str | Path) -> Previous:
    """Read the release before.

    Raises:
        InputError: it is no release, or can't be read.
    """
    folder = Path(folder)
    try:
        told = json.loads((folder / "release.json").read_text("utf-8"))
        tombs = (folder / "tombstones.jsonl").read_text("utf-8").splitlines()
        paths = data_files(told["counts"])
        return Previous(
            told["about"]["name"],
            told["about"]["version"],
            told["digest"],
            told["canary"],
            {
                part: Dataset(formats.read(folder / path, "winosmith"), part)
                for part, path in paths.items()
            },
            tuple(json.loads(line) for line in tombs),
            (folder / "CHANGELOG.md").read_text("utf-8"),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder} is no release ({error}); name the folder of one, such as NAME-1.0.0-…"
        ) from error


@dataclass(frozen=True, eq=False)
class Changes:
    """What has changed since the release before.

    Attributes:
        added: ids of problems that are new.
        withdrawn: ids that are gone, each with the reason, where one is given.
        changed: ids of problems that are other than they were, each with what differs.
        moved: ids that are on another side, each with "from → to".
    """

    added: Sequence[str] = ()
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind."""
        return {
            "added": len(self.added),
            "withdrawn": len(self.withdrawn),
            "changed": len(self.changed),
            "moved": len(self.moved),
        }


def changes(parts: Mapping[str, Dataset], before: Previous, reasons: Mapping[str, str]) -> Changes:
    """Compare a release with the one before, by ids.

    Args:
        parts: of the new one.
        before: the old one.
        reasons: for what is gone, by id.
    """
    sides, old_sides = _sides(parts), before.sides()
    now, then = _problems(parts.values()), _problems(before.parts.values())
    return Changes(
        [one for one in now if one not in then],
        {one: reasons.get(one, "") for one in then if one not in now},
        {
            one: differs
            for one, problem in now.items()
            if one in then and (differs := _differs(then[one], problem))
        },
        {
            one: f"{old_sides[one]} → {sides[one]}"
            for one in now
            if one in then and sides[one] != old_sides[one]
        },
    )


def _sides(parts: Mapping[str, Dataset]) -> dict[str, str]:
    return {problem.id: side(part) for part, dataset in parts.items() for problem in dataset}


def _problems(datasets: Iterable[Dataset]) -> dict[str, Problem]:
    return {problem.id: problem for dataset in datasets for problem in dataset}


def _differs(old: Problem, new: Problem) -> str:
    """Name the fields that differ; an answer that is withheld on one side is a move, no change."""
    one, two = (problem_record(p) for p in (old, new))
    names = [
        name
        for name in ("sentence", "options", "twin_id", "pronoun", "origin", "lineage")
        if one.get(name) != two.get(name)
    ]
    if None not in (old.answer, new.answer) and old.answer != new.answer:
        names.insert(0, "answer")
    if None not in (old.answer, new.answer) and _own(old.extra) != _own(new.extra):
        names.append("extra")
    return ", ".join(names)


def _own(extra: Extra) -> dict[str, Any]:
    return {k: v for k, v in extra.items() if not k.startswith(("release.", "winosmith."))}


def tombstones(found: Changes, before: Previous, about: About) -> tuple[dict[str, str], ...]:
    """Return what is withdrawn in this release or was in one before; never a text.

    Args:
        found: what has changed.
        before: the release before.
        about: of this one; what it restores has its tombstone taken away.
    """
    kept = [dict(tomb) for tomb in before.tombstones if tomb["id"] not in about.restored]
    for one, reason in found.withdrawn.items():
        tomb = {"id": one, "last": before.version, "withdrawn": about.version}
        kept.append({**tomb, "reason": reason} if reason else tomb)
    return tuple(sorted(kept, key=lambda tomb: tomb["id"]))


def tombstone_lines(stones: Iterable[Mapping[str, str]]) -> str:
    """Return the text of tombstones.jsonl."""
    return "".join(canonical(stone) + "\n" for stone in stones)


def changelog(about: About, before: Previous | None, found: Changes | None, canary: str) -> str:
    """Return CHANGELOG.md: this release's section above those of the releases before."""
    lines = [
        comment(canary),
        "",
        f"# Changes of {about.title}",
        "",
        *_section(about, before, found),
    ]
    if before is not None:
        _, mark, older = before.history.partition("\n## ")
        lines += ["", (mark + older).strip()] if mark else []
    return "\n".join(lines) + "\n"


def _section(about: About, before: Previous | None, found: Changes | None) -> list[str]:
    lines = [f"## {about.version} ({about.date})", ""]
    if before is None or found is None:
        return [*lines, "The first release."]
    lines += [f"Against {before.version} ({before.digest[:12]}):", ""]
    lines += [f"- {name}: {count:,}" for name, count in found.counts().items()]
    listed = (
        ("Added", dict.fromkeys(found.added, "")),
        ("Withdrawn", found.withdrawn),
        ("Changed", found.changed),
        ("Moved", found.moved),
    )
    for title, entries in listed:
        if entries:
            lines += ["", f"### {title}", ""]
            lines += [f"- `{one}`" + (f": {told}" if told else "") for one, told in entries.items()]
    return lines


def known_answers(test: Dataset, before: Previous) -> list[int]:
    """Return the rows of test problems whose answer or other half was published before."""
    told = before.told()
    return [
        row for row, problem in enumerate(test) if problem.id in told or problem.twin_id in told
    ]
