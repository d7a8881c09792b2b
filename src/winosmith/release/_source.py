"""What a release is made from, and what its problems tell of how they came about.

The source is a finished build, or files that are split already, or are not. What a released
problem tells of its origin stands under keys of its `extra`. The release before tells what it
published and what its owner keeps; `changes` says what is different since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import formats, validate
from winosmith.blocks import Former, Side, blocks
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.escape import for_markdown, markdown_block, markdown_code
from winosmith.finished import BuildFiles
from winosmith.humans import CANARY
from winosmith.outputs import PRIVATE
from winosmith.problem import Extra, Lineage, Origin, Problem, Scalar
from winosmith.records import canonical, dropped_problem, json_file, parsed, problem_record
from winosmith.release import _content
from winosmith.release._about import About
from winosmith.release._content import Known
from winosmith.response import Response

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


def read_source(
    paths: Sequence[str | Path], format_name: str | None = None, pair_by: str | None = None
) -> Source:
    """Read what a release is made from.

    Args:
        paths: the folder of a finished build; a folder with files named after parts (train, dev or
            validation, test, …); such files; or one file of any name, which is not split.
        format_name: of files; found from their content when None.
        pair_by: of files: a further column that the halves of a twin share, also across them.

    Raises:
        InputError: the build is not finished or was changed, or no file is one of a part.
        FormatError: a file can't be read.
    """
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if folders and len(paths) > 1:
        raise InputError(f"{folders[0]} is a folder; give it alone, or give files")
    if folders:
        folder = folders[0]
        build = BuildFiles(folder)
        if build.there:
            return _build(build)
        files = [path for path in sorted(folder.iterdir()) if _content.part_named(path.stem)]
        if not [path for path in files if path.suffix != ".lst"]:
            raise InputError(
                f"{folder} is no finished build, and no file in it is named after a part "
                f"({', '.join(_content.PARTS)}); name the files"
            )
        return _files([path for path in files if path.suffix != ".lst"], format_name, pair_by)
    return _files([Path(path) for path in paths], format_name, pair_by)


def _files(paths: Sequence[Path], format_name: str | None, pair_by: str | None) -> Source:
    parts: dict[str, Dataset] = {}
    for path in paths:
        part = _content.part_named(path.stem)
        if part is None and len(paths) == 1:
            part = _content.PROBLEMS
        if part is None:
            raise InputError(
                f"{path} is not named after a part ({', '.join(_content.PARTS)}); rename it, so "
                "that it is known what it is"
            )
        if part in parts:
            raise InputError(f"{path}: there is another file for {part}; give one of them")
        in_one = pair_by is None or len(paths) == 1  # a twin may have its halves in two files
        data = formats.read(path, format_name, pair_by=pair_by if in_one else "")
        parts[part] = Dataset(data, part)
        _same_problems(parts, path)
    every = {problem.id: problem for data in parts.values() for problem in data}
    if pair_by is None and len(paths) > 1:
        formats.refuse_unread_pairs([*every.values()], paths[0].parent)
    elif pair_by and len(paths) > 1:
        entries = [formats.Entry(Place("", 0), "", problem) for problem in every.values()]
        paired = (entry.item for entry in formats.paired_by(entries, pair_by))
        every = {item.id: item for item in paired if isinstance(item, Problem)}
        parts = {part: Dataset((every[i] for i in data.ids), part) for part, data in parts.items()}
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
    return {part: parts[part] for part in _content.PARTS if part in parts}


def _build(build: BuildFiles) -> Source:
    build.check()
    parts = {}
    for path in sorted(build.folder.iterdir()):
        part = _content.part_named(path.stem)
        if part is not None and path.suffix != ".lst" and path.is_file() and path.stat().st_size:
            parts[part] = Dataset(build.problems(path.stem), part)
    private = build.folder / PRIVATE
    dropped = list(build.dropped())
    problems = map(dropped_problem, [*dropped, *build.withheld()])
    return Source(
        _ordered(parts),
        {key: build.report[key] for key in _KEPT if build.report.get(key)},
        {record["id"]: removed(record["stage"], record["reason"]) for record in dropped},
        private if (private / "test.jsonl").is_file() else None,
        {problem.id: problem for problem in problems},
        build.old_ids(),
    )


def test_answers(private: Path | None) -> Dataset | None:
    """Return the test problems with their answers from a private folder, or None."""
    path = private and private / f"{_content.TEST}.jsonl"
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

    >>> removed("aflite", "guessed: by 90 % of the ensemble in phase 34")
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
        read = (problem for path in collected for problem in formats.read(path, pair_by=""))
        by_sight = {_content.sight(p): by_id[p.id] for p in read if p.id in by_id}
        found = {
            p.id: by_sight[_content.sight(p)] for p in problems if _content.sight(p) in by_sight
        }
    else:
        old = {p.id: source.old_ids.get(p.id, p.id) for p in problems}
        found = {new: by_id[one] for new, one in old.items() if one in by_id}
    if not found:
        raise InputError(
            f"{votes[0]}: none of these votes is of a problem that is released; for a build "
            "without its private folder, name the problems that the votes are of with `collected=`"
        )
    return lambda problem: found.get(problem.id)


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
    found = _content.side(part)
    return "test" if found == _content.TEST else "dev" if found == _content.DEV else "train"


def read_previous(folder: str | Path) -> Previous:
    """Read the release before.

    Raises:
        InputError: it is no release, or can't be read.
    """
    folder = Path(folder).resolve()
    try:
        record = parsed((folder / "release.json").read_text("utf-8"))
        paths = _content.data_files(record["counts"])
        return Previous(
            record["about"]["name"],
            record["about"]["version"],
            record["digest"],
            record["canary"],
            {
                part: Dataset(formats.read(folder / path, "winosmith", as_written=True), part)
                for part, path in paths.items()
            },
            tuple({**stone, "id": stone["id"]} for stone in json_file(folder / "tombstones.jsonl")),
            (folder / "CHANGELOG.md").read_text("utf-8"),
            dict(old_ids(folder.parent / PRIVATE / folder.name)),
        )
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"{folder} is no release ({error}); name the folder of one, such as NAME-1.0.0-…"
        ) from error


def old_ids(private: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids of a release or build, each with the id that its problem had before."""
    path = private / _content.SOURCE_IDS
    for line in json_file(path) if path.is_file() else ():
        yield line["id"], line["old_id"]


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
    return {
        problem.id: _content.side(part) for part, dataset in parts.items() for problem in dataset
    }


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

    What `about` restores has its tombstone taken away.
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
        _content.comment(canary),
        "",
        f"# Changes of {for_markdown(about.title)}",
        "",
        *_section(about, before, found),
    ]
    if before is not None:
        _, mark, older = before.history.partition("\n## ")
        lines += ["", markdown_block(mark + older).strip()] if mark else []
    return "\n".join(lines) + "\n"


def _section(about: About, before: Previous | None, found: Changes | None) -> list[str]:
    lines = [f"## {about.version} ({about.date})", ""]
    if before is None or found is None:
        return [*lines, "The first release."]
    lines += [f"Against {before.version} ({before.digest[:12]}):", ""]
    lines += [f"- {name}: {count:,}" for name, count in found.counts().items()]
    listed = (
        ("Added", dict.fromkeys(found.added, "")),
        ("Withdrawn", _escaped(found.withdrawn)),
        ("Edited", {one: f"now {markdown_code(new)}" for one, new in found.edited.items()}),
        ("Changed", _escaped(found.changed)),
        ("Moved", _escaped(found.moved)),
    )
    for title, entries in listed:
        if entries:
            lines += ["", f"### {title}", ""]
            lines += [
                f"- {markdown_code(one)}" + (f": {why}" if why else "")
                for one, why in entries.items()
            ]
    return lines


def _escaped(reasons: Mapping[str, str]) -> dict[str, str]:
    return {one: for_markdown(why) for one, why in reasons.items()}
