"""The release before: what it published, what its owner keeps, what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.blocks import Former, Side, blocks
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.outputs import PRIVATE
from winosmith.problem import Extra, Lineage, Problem
from winosmith.records import canonical, problem_record
from winosmith.release._about import About
from winosmith.release._content import SOURCE_IDS, comment
from winosmith.release._parts import DEV, TEST, Known, data_files, side


@dataclass(frozen=True, eq=False)
class Previous:
    """The release before.

    Attributes:
        name, version, digest, canary: its own.
        parts: its problems.
        tombstones: what had been withdrawn by then.
        history: its CHANGELOG.md.
        source_ids: the id that each problem had in its source; empty where its owner's private
            folder does not lie beside it.
    """

    name: str
    version: str
    digest: str
    canary: str
    parts: Mapping[str, Dataset]
    tombstones: Sequence[Mapping[str, str]]
    history: str
    source_ids: Mapping[str, str]

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """Every problem once, by its id."""
        return {problem.id: problem for data in self.parts.values() for problem in data}

    @property
    def former(self) -> tuple[Former, ...]:
        """What it had on each side, by the ids of its source; what it did not split is told."""
        return tuple(
            Former(self._in_source(problem), _side(part))
            for part, data in self.parts.items()
            for problem in data
        )

    def _in_source(self, problem: Problem) -> Problem:
        own, root = (self.source_ids.get(id_, id_) for id_ in (problem.id, problem.root))
        return replace(problem, id=own, lineage=Lineage(root, root) if problem.lineage else None)

    @property
    def known(self) -> Known:
        """The ids that it gave."""
        buried = (stone["id"] for stone in self.tombstones)
        by_source = {source: one for one, source in self.source_ids.items()}
        return Known(self.problems, frozenset((*self.problems, *buried)), by_source)


def _side(part: str) -> Side:
    found = side(part)
    return "test" if found == TEST else "dev" if found == DEV else "train"


def read_previous(folder: str | Path) -> Previous:
    """Read the release before.

    Raises:
        InputError: it is no release, or can't be read.
    """
    folder = Path(folder).resolve()
    try:
        record = json.loads((folder / "release.json").read_text("utf-8"))
        paths = data_files(record["counts"])
        return Previous(
            record["about"]["name"],
            record["about"]["version"],
            record["digest"],
            record["canary"],
            {
                part: Dataset(formats.read(folder / path, "winosmith", as_written=True), part)
                for part, path in paths.items()
            },
            tuple(_records(folder / "tombstones.jsonl")),
            (folder / "CHANGELOG.md").read_text("utf-8"),
            _source_ids(folder.parent / PRIVATE / folder.name / SOURCE_IDS),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder} is no release ({error}); name the folder of one, such as NAME-1.0.0-…"
        ) from error


def _records(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _source_ids(path: Path) -> dict[str, str]:
    return {line["id"]: line["old_id"] for line in _records(path)} if path.is_file() else {}


def known_answers(test: Dataset, before: Previous) -> list[int]:
    """Return the rows of test problems that measure nothing any more.

    Those are problems whose answer was published before, or that of a problem which belongs to
    them: their other half, one of their family, a copy, or one that looks like a twin.
    """
    answered = [problem for problem in before.problems.values() if problem.answer is not None]
    both = Dataset(
        replace(problem, id=f"{at}", lineage=problem.lineage or Lineage(problem.id, problem.id))
        for at, problem in enumerate((*test, *answered))
    )
    mixed = (block for block in blocks(both) if max(block) >= len(test))
    return sorted(row for block in mixed for row in block if row < len(test))


@dataclass(frozen=True, eq=False)
class Changes:
    """What has changed since the release before.

    Attributes:
        added: ids of problems that are new.
        withdrawn: ids that are gone, each with the reason, where one is given.
        edited: ids that are gone, each with the id of what was made of it.
        changed: ids of problems that are other than they were, each with what differs.
        moved: ids that are on another side, each with "from → to".
    """

    added: Sequence[str] = ()
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    edited: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind."""
        return {
            "added": len(self.added),
            "withdrawn": len(self.withdrawn),
            "edited": len(self.edited),
            "changed": len(self.changed),
            "moved": len(self.moved),
        }


def changes(
    parts: Mapping[str, Dataset],
    before: Previous,
    reasons: Mapping[str, str],
    source_ids: Mapping[str, str],
    absent: Mapping[str, str],
) -> Changes:
    """Compare a release with the one before, by ids.

    What is gone has been edited, and not withdrawn, when one new problem takes its place: one that
    has its id in the source, or the only one that is perturbed from it. Where a reason is given,
    it is withdrawn.

    Args:
        parts: of the new one.
        before: the old one.
        reasons: for what is gone, by id.
        source_ids: the id that each problem of the new one has in its source, where known.
        absent: why the source has left problems out, by the ids that they would have.
    """
    sides, old_sides = _sides(parts), _sides(before.parts)
    now, then = _problems(parts.values()), before.problems
    gone = {one for one in then if one not in now and one not in reasons}
    edited = _edited(now, then, gone, source_ids, before.source_ids)
    made = set(edited.values())
    return Changes(
        [one for one in now if one not in then and one not in made],
        {
            one: reasons.get(one) or absent.get(one, "")
            for one in then
            if one not in now and one not in edited
        },
        edited,
        {
            one: differs
            for one, problem in now.items()
            if one in then and (differs := ", ".join(_differing(then[one], problem)))
        },
        {
            one: f"{old_sides[one]} → {sides[one]}"
            for one in now
            if one in then and sides[one] != old_sides[one]
        },
    )


def _edited(
    now: Mapping[str, Problem],
    then: Mapping[str, Problem],
    gone: set[str],
    source_ids: Mapping[str, str],
    old_source_ids: Mapping[str, str],
) -> dict[str, str]:
    """Return for ids that are gone the id of what takes their place."""
    new = [one for one in now if one not in then]
    by_source = {source: one for one, source in old_source_ids.items() if one in gone}
    edited = {by_source[source_ids[one]]: one for one in new if source_ids.get(one) in by_source}
    children: dict[str, list[str]] = {}
    for one in new:
        lineage = now[one].lineage
        if lineage is not None and lineage.parent in gone and one not in edited.values():
            children.setdefault(lineage.parent, []).append(one)
    alone = {parent: held[0] for parent, held in children.items() if len(held) == 1}
    return {one: reason for one in then if (reason := {**alone, **edited}.get(one))}


def _sides(parts: Mapping[str, Dataset]) -> dict[str, str]:
    return {problem.id: side(part) for part, dataset in parts.items() for problem in dataset}


def _problems(datasets: Iterable[Dataset]) -> dict[str, Problem]:
    return {problem.id: problem for dataset in datasets for problem in dataset}


def _differing(old: Problem, new: Problem) -> list[str]:
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
    return names


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
    fresh = {"last": before.version, "withdrawn": about.version}
    for one, reason in found.withdrawn.items():
        kept.append({"id": one, **fresh, **({"reason": reason} if reason else {})})
    kept += [{"id": one, **fresh, "became": new} for one, new in found.edited.items()]
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
        ("Edited", {one: f"now `{new}`" for one, new in found.edited.items()}),
        ("Changed", found.changed),
        ("Moved", found.moved),
    )
    for title, entries in listed:
        if entries:
            lines += ["", f"### {title}", ""]
            lines += [f"- `{one}`" + (f": {why}" if why else "") for one, why in entries.items()]
    return lines
