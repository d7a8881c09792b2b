"""Read the source of a release and earlier releases, and find the changes between releases.

The source is a finished build, or files that may already be split. A problem keeps its id from
release to release, and ids reveal nothing about answers.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import formats, records, validate
from winosmith.data import is_address
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, RecipeError
from winosmith.finished import BuildFiles, read_old_ids
from winosmith.humans import CANARY
from winosmith.options import from_table
from winosmith.outputs import PRIVATE, sha256
from winosmith.problem import Extra, Problem, Scalar
from winosmith.release import _content
from winosmith.release._about import About, parse_about
from winosmith.release._interchange import JUDGED_BY, JUDGES, PHASE, RELEASE_KEYS, REMOVED_BY
from winosmith.results import Result
from winosmith.splits import PreviousProblem, SplitName

_REPORT_KEYS = ("signature", "funnel", "figures", "unvalidated", "recipe")
"""The keys of a build's report that a release contains."""

Fields = Mapping[str, Scalar]
"""The fields in a problem's `extra`."""


@dataclass(frozen=True, eq=False)
class Source:
    """The source of a release.

    Attributes:
        parts: the unchanged problems by part; test problems may have answers.
        build: the report of the build; empty for files.
        removal_fields: id of a problem → fields with the stage and phase that removed the problem
            from the debiased set.
        private: the folder with the files that must not be published.
        absent_problems: the dropped or withheld problems of the build, which are in no part, by id.
        old_ids: id in the build → id in the pool; empty if unknown.
        places: location of each problem in the files, by id; empty for a build.
    """

    parts: Mapping[str, Dataset]
    build: Mapping[str, Any] = field(default_factory=dict)
    removal_fields: Mapping[str, Fields] = field(default_factory=dict)
    private: Path | None = None
    absent_problems: Mapping[str, Problem] = field(default_factory=dict)
    old_ids: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)


def read_source(paths: Sequence[str | Path], format_name: str | None = None, **how: Any) -> Source:
    """Read the source of a release.

    `paths` is the folder of a finished build; a folder with files named after parts (train, dev or
    validation, test, …); such files, or splits of a data set on the Hugging Face hub
    (`hf:ORG/NAME[train]`); or one file of any name, which is not split. `how` are the arguments of
    `formats.scan`; files of a build don't need them.
    """
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    if not folders:
        return _read_files([Path(path) for path in paths], format_name, how)
    folder = folders[0]
    if len(paths) > 1:
        raise InputError(f"{folder} is a folder; give only this folder, or give files")
    files = [path for path in sorted(folder.iterdir()) if _content.match_part(path.stem)]
    files = [path for path in files if path.suffix != ".lst"]
    build = BuildFiles(folder)
    if not build.exists:
        if not files:
            raise InputError(
                f"{folder} is not a finished build, and no file in it is named after a part "
                f"({', '.join(_content.PARTS)}); give the paths of the files"
            )
        return _read_files(files, format_name, how)
    build.check()
    parts = {
        part: Dataset(build.read_problems(path.stem), part)
        for path in files
        if (part := _content.match_part(path.stem)) and path.is_file() and path.stat().st_size
    }
    private = folder / PRIVATE
    dropped = list(build.read_dropped())
    problems = map(records.parse_dropped, [*dropped, *build.read_withheld_records()])
    return Source(
        _content.sort_parts(parts),
        {key: build.report[key] for key in _REPORT_KEYS if build.report.get(key)},
        {
            record["id"]: make_removal_fields(record["stage"], record["reason"])
            for record in dropped
        },
        private if (private / "test.jsonl").is_file() else None,
        {problem.id: problem for problem in problems},
        build.read_pool_ids(),
    )


def _read_files(paths: Sequence[Path], format_name: str | None, how: dict[str, Any]) -> Source:
    pair_by = how.get("pair_by")
    if pair_by is not None and len(paths) > 1:
        how = {**how, "pair_by": ""}  # a twin's halves may be in two files
    parts: dict[str, Dataset] = {}
    every: dict[str, Problem] = {}
    places: dict[str, str] = {}
    for path in paths:
        address = re.search(r"\[([^\]]+)\]$", str(path)) if is_address(path) else None
        name = address[1] if address else path.stem
        part = _content.match_part(name) or (_content.PROBLEMS if len(paths) == 1 else None)
        if part is None:
            raise InputError(
                f"{path} is not named after a part ({', '.join(_content.PARTS)}); rename it"
            )
        if part in parts:
            raise InputError(f"{path}: there is another file for {part}; give only one of them")
        contents = formats.scan(path, format_name, **how)
        contents.raise_if_bad()
        contents.warn()
        parts[part] = formats.to_dataset(contents)
        places |= zip(parts[part].ids, map(str, contents.places), strict=True)
        for problem in parts[part]:
            if every.setdefault(problem.id, problem) != problem:
                other = next(name for name, data in parts.items() if problem.id in data.ids)
                raise InputError(
                    f"{path}: the id {problem.id!r} belongs to another problem in {other}; give "
                    "one of the problems a new id"
                )
    if len(paths) > 1:
        home = {id_: part for part, dataset in parts.items() for id_ in dataset.ids}
        files = [home[id_] for id_ in every]
        paired = formats.pair_files([*every.values()], files, pair_by, paths[0].parent)
        every = {problem.id: problem for problem in paired}
    parts = {part: Dataset((every[i] for i in data.ids), part) for part, data in parts.items()}
    return Source(_content.sort_parts(parts), places=places)


def make_removal_fields(stage: str, reason: str) -> Fields:
    """Make the fields of a removed problem from its stage and reason in dropped.jsonl.

    >>> make_removal_fields("aflite", "guessed: predicted by 90 % of the ensemble in phase 34")
    {'release.removed_by': 'aflite', 'release.phase': 34}
    """
    found = re.search(r"in phase (\d+)", reason)
    return {REMOVED_BY: stage, **({PHASE: int(found[1])} if found else {})}


def make_judge_lookup(votes: Sequence[str | Path], source: Source) -> Callable[[Problem], Fields]:
    """Return a function that returns the fields about a problem's judges.

    Only people with an eligible vote are judges; see `validate.select_eligible`. Votes on both
    halves of a twin are eligible unless the source is a build whose recipe excludes them.
    """
    old, released = source.old_ids, _content.index_problems(source.parts)
    every = {**released, **source.absent_problems}
    pool = Dataset(replace(problem, id=old.get(id_, id_)) for id_, problem in every.items())
    both_halves = source.build.get("recipe", {}).get("votes", {}).get("both_halves", True)
    given = (vote for path in votes for vote in validate.read_votes(path))
    eligible, _ = validate.select_eligible(pool, given, both_halves=both_halves)
    people: dict[str, set[str]] = {}
    for vote in eligible:
        people.setdefault(vote.problem_id, set()).add(vote.participant.replace(" ", "_"))
    if votes and not any(old.get(id_, id_) in people for id_ in released):
        raise InputError(
            f"{votes[0]}: no eligible vote is for a released problem; if a build is released, "
            "the votes must use the ids of its pool, which are in the build's private folder"
        )
    return lambda problem: (
        {JUDGES: len(by), JUDGED_BY: " ".join(sorted(by))}
        if (by := people.get(old.get(problem.id, problem.id)))
        else {}
    )


def add_provenance(
    problem: Problem, canary: str, fields: Fields, *, for_test: bool = False
) -> Problem:
    """Add the canary and other fields to a problem for its release.

    Only the day of writing is kept, because the time and an access log could identify a person.
    With `for_test`, the answer and the fields specific to the source's format are removed.
    """
    extra: dict[str, Scalar] = {} if for_test else dict(problem.extra)
    for key in (CANARY, *RELEASE_KEYS):
        extra.pop(key, None)
    extra |= {CANARY: canary, **fields}
    origin = problem.origin
    return replace(
        problem,
        answer=None if for_test else problem.answer,
        origin=origin and replace(origin, created=origin.created and origin.created[:10]),
        extra=Extra(extra),
    )


REBUILD_ADVICE = "download it again, or release again"


@dataclass(frozen=True, slots=True)
class Fault(Result):
    """A fault of a release.

    Attributes:
        where: file and line, relative to the release ("data/test.jsonl:3").
        what: description of the fault.
        remedy: what to do.
    """

    where: str
    what: str
    remedy: str = field(default=REBUILD_ADVICE, metadata={"key": "do"})

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


_VALUE_TYPES: Mapping[str, type] = {
    "digest": str, "canary": str, "ids": str, "disjoint": list, "counts": dict, "digests": dict,
    "configurations": dict, "about": dict, "files": dict,
}  # fmt: skip
"""The keys of release.json that are read, with the types of their values."""

_CANARY_PATTERN = re.compile(r"winosmith canary [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The strings of `humans.make_canary`. The canary is checked because the next release writes it
into files that are executed."""


def read_record(folder: Path) -> dict[str, Any] | Fault:
    try:
        record = records.parse_json((folder / _content.RECORD).read_text("utf-8"))
        # A record with an unpaired surrogate or deep nesting has no digest.
        records.dump_json(record).encode("utf-8")
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        if (folder / "recipe.toml").exists():
            advice = f"run: winosmith release {folder} --about release.toml --out DIR"
            return Fault(_content.RECORD, "this folder is a build, not a release", advice)
        return Fault(_content.RECORD, f"it can't be read ({why}), so this is not a release")
    if not isinstance(record, dict) or record.get("release") != 1:
        return Fault(_content.RECORD, "this is not a record of a release (release: 1)")
    bad = [key for key, kind in _VALUE_TYPES.items() if not isinstance(record.get(key), kind)]
    if bad:
        return Fault(_content.RECORD, f"{', '.join(bad)} is missing or has the wrong type")
    if not _CANARY_PATTERN.fullmatch(record["canary"]):
        what = f"its canary is {record['canary'][:80]!r}, not 'winosmith canary' and a UUID"
        return Fault(_content.RECORD, what)
    named = [part for part in record["counts"] if part != "all"]
    if odd := [part for part in named if part not in _content.PARTS]:
        return Fault(_content.RECORD, f"counts has {odd[0]!r}, which is not a part")
    if not named:
        return Fault(_content.RECORD, "counts has no part")
    parsers: dict[str, Callable[[Any], object]] = {"about": parse_about, "keyed": _parse_coins}
    for key, parse in parsers.items():
        try:
            parse(record.get(key))
        except RecipeError as error:
            return Fault(_content.RECORD, f"{key}: {error}")
    return record


def _parse_coins(table: Any) -> _content.CoinStatement | None:
    return None if table is None else from_table(_content.CoinStatement, table)


def read_content(folder: Path, record: Mapping[str, Any]) -> tuple[_content.Content, list[Fault]]:
    parts: dict[str, Dataset] = {}
    faults: list[Fault] = []
    for part in _content.PARTS:
        if part not in record["counts"]:
            continue
        path = f"data/{part}.jsonl"
        try:
            scanned = formats.scan(folder / path, "winosmith", as_written=True)
        except FormatError as error:
            faults.append(Fault(path, f"it can't be read ({error.reason})"))
            continue
        rows = list(zip(scanned.line_numbers, scanned.items, strict=True))
        bad = [(entry.line, str(entry.reason)) for entry in scanned.bad]
        bad += [(line, "it is a claim") for line, item in rows if not isinstance(item, Problem)]
        faults += [Fault(f"{path}:{n}", f"this is not a problem: {why}") for n, why in bad]
        parts[part] = Dataset((item for _, item in rows if isinstance(item, Problem)), part)
    tombstones: list[_content.Tombstone] = []
    path = _content.TOMBSTONES
    try:
        for line, table in records.parse_json_lines((folder / path).read_text("utf-8"), path):
            try:
                tombstones.append(from_table(_content.Tombstone, table))
            except RecipeError as error:
                faults.append(Fault(f"{path}:{line}", f"this is not a tombstone: {error}"))
    except FormatError as error:
        faults.append(Fault(f"{path}:{error.line}", error.reason))
    except (OSError, ValueError):
        faults.append(Fault(path, "it can't be read"))
    content = _content.Content(
        parse_about(record["about"]),
        parts,
        record["canary"],
        tuple(record["disjoint"]),
        record["ids"],
        tombstones=tombstones,
        keyed=_parse_coins(record.get("keyed")),
    )
    return content, faults


def compute_checksums(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@dataclass(frozen=True, eq=False)
class PreviousRelease:
    """The previous release.

    Attributes:
        history: the changelog, from its first section.
        source_ids: id of each problem → its id in the source; empty if the owner's private folder
            is not next to the release.
    """

    content: _content.Content
    digest: str
    history: str
    source_ids: Mapping[str, str]

    @property
    def version(self) -> str:
        return self.content.about.version

    @cached_property
    def problems(self) -> dict[str, Problem]:
        return _content.index_problems(self.content.parts)

    @cached_property
    def published_ids(self) -> frozenset[str]:
        return frozenset((*self.problems, *(stone.id for stone in self.content.tombstones)))

    @cached_property
    def ids_by_source(self) -> dict[str, str]:
        return {source: one for one, source in self.source_ids.items()}

    @property
    def old_problems(self) -> tuple[PreviousProblem, ...]:
        """The problems with their source ids and sides; without a split, every side is "train"."""
        sides: Mapping[str, SplitName] = {_content.TEST: _content.TEST, _content.DEV: _content.DEV}
        return tuple(
            PreviousProblem(
                problem.with_new_ids(lambda id_: self.source_ids.get(id_, id_), str),
                sides.get(_content.get_side(part), _content.TRAIN),
            )
            for part, dataset in self.content.parts.items()
            for problem in dataset
        )


def read_previous(folder: str | Path) -> PreviousRelease:
    folder = Path(folder).resolve()
    advice = "give the folder of a release, such as NAME-1.0.0-…"
    record = read_record(folder)
    if isinstance(record, Fault):
        raise InputError(f"{folder} is not a release ({record.where}: {record.what}); {advice}")
    content, faults = read_content(folder, record)
    if faults:
        raise InputError(
            f"{folder} is not a valid release ({faults[0]}); to list all its faults, run: "
            f"winosmith verify {folder}"
        )
    try:
        _, mark, history = (folder / "CHANGELOG.md").read_text("utf-8").partition("\n## ")
        ids = read_old_ids(folder.parent / PRIVATE / folder.name)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{folder} is not a release ({error}); {advice}") from error
    return PreviousRelease(content, record["digest"], (mark + history).strip(), ids)


ID_DIGITS = 12
"""Number of hex digits in an id; with 50,000 problems, ids collide in one of 200,000 releases."""


def make_id(problem: Problem, name: str) -> str:
    return f"{name}-{_content.digest_text(problem)[:ID_DIGITS]}"


def assign_ids(
    parts: Mapping[str, Dataset],
    name: str,
    previous: PreviousRelease | None = None,
    source: Source | None = None,
    second: Mapping[str, Problem] | None = None,
) -> dict[str, Dataset]:
    """Assign ids that depend only on the sentences and options of problems.

    A build numbers its problems by row, so an id can belong to different problems in two builds.
    The new ids are the same for the same sentence and options.

    A twin keeps its name if a half is removed or restored; families also keep their names. A root
    outside the parts keeps its published id; without one, it gets a name that reveals nothing about
    it.

    In `parts`, the same id means the same problem. `source` includes problems that are in no part.
    `second` contains the second presentations in a keyed release, by id. Ids are made from the
    first presentation, unless the previous release has the id of the second.

    >>> old = Dataset([Problem("mine-0", "The _ fell.", ("cup", "jug"), 1, "mine-t0")])
    >>> new = assign_ids({"dev": old}, "mine")["dev"][0]
    >>> new.id, new.twin_id
    ('mine-683a48eccc36', 'mine-t0d6f43992b50')
    """
    problems = _content.index_problems(parts)
    copies: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for old, problem in problems.items():
        stems = [make_id(one, name) for one in (problem, (second or {}).get(old)) if one]
        made = next((one for one in stems if previous and one in previous.published_ids), stems[0])
        copies[made] += 1
        ids[old] = f"{made}-{copies[made]}" if copies[made] > 1 else made

    def name_groups(prefix: str, key: _Key, taken_names: Iterable[str] = ()) -> dict[str, str]:
        """Map each group to its previous name or, if there is none, a digest of its new ids."""
        members: dict[str, list[str]] = {}
        for old, problem in problems.items():
            if (group := key(problem)) is not None:
                members.setdefault(group, []).append(ids[old])
        former = previous.problems if previous else {}
        names: dict[str, str] = {}
        taken = set(taken_names)
        for group, member_ids in members.items():
            member_ids.sort()
            digest = hashlib.sha256("\0".join(member_ids).encode()).hexdigest()[:ID_DIGITS]
            made = f"{name}-{prefix}{digest}"
            earlier = (key(former[id_]) for id_ in member_ids if id_ in former)
            names[group] = next((old for old in earlier if old and old not in taken), made)
            taken.add(names[group])
        return names

    twins = name_groups("t", lambda p: p.twin_id)
    roots = name_groups("x", lambda p: p.lineage.root if p.lineage else None)
    outside: dict[str, str] = {}
    if previous and source:
        lineages = [problem.lineage for problem in problems.values() if problem.lineage]
        for one in {one for lineage in lineages for one in (lineage.root, lineage.parent)}:
            absent = source.absent_problems.get(one)
            forms = _content.iter_forms(absent, bool(previous.content.keyed)) if absent else ()
            of_source = previous.ids_by_source.get(source.old_ids.get(one, one))
            known = (*(make_id(form, name) for form in forms), of_source)
            if found := next((id_ for id_ in known if id_ in previous.published_ids), None):
                outside[one] = found
    relatives = {
        **name_groups("y", lambda p: p.lineage.parent if p.lineage else None, roots.values()),
        **roots,
        **outside,
        **ids,
    }
    name_of, twin_of = relatives.__getitem__, twins.__getitem__
    return {
        part: Dataset((p.with_new_ids(name_of, twin_of, ids) for p in dataset), dataset.name)
        for part, dataset in parts.items()
    }


_Key = Callable[[Problem], str | None]
"""A function that returns the id of a problem's twin, root or parent."""


Changes = Mapping[str, Mapping[str, str]]
"""The notes by kind of change and problem id. A note is the reason ("withdrawn"), the id of the new
problem ("edited"), the changed fields ("changed") or the two splits ("moved")."""


def find_changes(
    parts: Mapping[str, Dataset],
    previous: PreviousRelease,
    reasons: Mapping[str, str],
    source_ids: Mapping[str, str],
    absent: Mapping[str, str],
) -> Changes:
    """Find the changes to problems since the previous release.

    A missing problem counts as edited instead of withdrawn if a new problem replaces it. The new
    problem has the same id in the source, or is the only problem perturbed from the missing one. A
    problem with a reason for its withdrawal always counts as withdrawn.

    `reasons` maps ids to reasons for withdrawals, and `source_ids` maps new ids to ids in the
    source. `absent` maps the id that a problem would have to the reason why the source omits the
    problem.
    """
    now, then = _content.index_problems(parts), previous.problems
    sides, old_sides = map_ids_to_sides(parts), map_ids_to_sides(previous.content.parts)
    added = [one for one in now if one not in then]
    missing = {one for one in then if one not in now}
    replaceable = missing - reasons.keys()
    replaced = {one: previous.ids_by_source.get(source_ids.get(one, "")) for one in added}
    successors = {old: one for one, old in replaced.items() if old in replaceable}
    with_same_id = set(successors.values())
    children: dict[str, list[str]] = {}
    for one in added:
        lineage = now[one].lineage
        if lineage is not None and lineage.parent in replaceable and one not in with_same_id:
            children.setdefault(lineage.parent, []).append(one)
    successors = {old: of[0] for old, of in children.items() if len(of) == 1} | successors
    edited = {one: successors[one] for one in then if one in successors}
    made = set(edited.values())
    stayed = [one for one in now if one in then]
    differing = {one: ", ".join(_find_changed_fields(then[one], now[one])) for one in stayed}
    return {
        "added": {one: "" for one in added if one not in made},
        "withdrawn": {
            one: reasons.get(one) or absent.get(one, "")
            for one in then
            if one in missing and one not in edited
        },
        "edited": edited,
        "changed": {one: fields for one, fields in differing.items() if fields},
        "moved": {
            one: f"{old_sides[one]} → {sides[one]}"
            for one in stayed
            if sides[one] != old_sides[one]
        },
    }


def map_ids_to_sides(parts: Mapping[str, Dataset]) -> dict[str, str]:
    return {p.id: _content.get_side(part) for part, dataset in parts.items() for p in dataset}


def _find_changed_fields(old: Problem, new: Problem) -> list[str]:
    """Ignore the answers and `extra` if one answer is withheld."""
    one, two = (records.make_problem_record(p) for p in (old, new))
    for record, problem in ((one, old), (two, new)):
        extra = problem.extra.items()
        record["extra"] = {k: v for k, v in extra if not k.startswith(("release.", "winosmith."))}
    names = ["sentence", "options", "twin_id", "pronoun", "origin", "lineage"]
    if None not in (old.answer, new.answer):
        names = ["answer", *names, "extra"]
    return [name for name in names if one.get(name) != two.get(name)]


def make_tombstones(
    changes: Changes, previous: PreviousRelease, about: About
) -> tuple[_content.Tombstone, ...]:
    kept = [stone for stone in previous.content.tombstones if stone.id not in about.restored]
    for kind, key in (("withdrawn", "reason"), ("edited", "became")):
        for one, text in changes[kind].items():
            answered = previous.problems[one].answer is not None
            versions = {"last": previous.version, "withdrawn": about.version}
            kept.append(_content.Tombstone(one, **versions, answered=answered, **{key: text}))
    return tuple(sorted(kept, key=lambda stone: stone.id))
