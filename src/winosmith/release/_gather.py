"""From a source to what is released: without what must not be, and refused where that won't do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from winosmith import formats, validate
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.humans import canary
from winosmith.metrics import Copies, copies, leaks
from winosmith.outputs import sha256
from winosmith.problem import Problem
from winosmith.records import dropped_problem, json_file
from winosmith.release import _source
from winosmith.release._about import About, DataSource, conflict
from winosmith.release._content import (
    KINDS,
    NOTHING_KNOWN,
    PROBLEMS,
    TEST,
    Absent,
    Content,
    check_known,
    digest_ids,
    id_of,
    share,
    sight,
    straddles,
)
from winosmith.release._source import Changes, Judged, Previous, Source

_SEEN = ("sentence", "options")
"""Fields that a solver sees: what gives an answer away there is a property of the problems."""


@dataclass(frozen=True, slots=True)
class Splitting:
    """How sides are kept apart, and how a file that is not split is split.

    Attributes:
        kinds: what no two sides may share, beside twins: "contributor", "source".
        asked: split one file that is not split.
        dev, test: the shares, 0–1.
        seed: of the order.
    """

    kinds: tuple[str, ...] = ()
    asked: bool = False
    dev: float = 0.1
    test: float = 0.14
    seed: int = 0

    def __post_init__(self) -> None:
        odd = next((kind for kind in self.kinds if kind not in KINDS), None)
        if odd is not None:
            raise InputError(f"sides are kept apart by {', '.join(KINDS)}; not by {odd!r}")
        if not (self.dev >= 0 and self.test >= 0 and self.dev + self.test < 1):
            raise InputError(
                f"the shares of dev ({self.dev}) and test ({self.test}) must be 0 or more, and "
                "leave something to train on"
            )

    @property
    def all(self) -> tuple[str, ...]:
        """What sides are kept apart by, twins always."""
        return tuple(kind for kind in KINDS if kind == "twin" or kind in self.kinds)


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is released, and what its owner keeps.

    Attributes:
        content: what is released, checked.
        solved: the test problems with their answers, where known.
        source_ids: the id that each problem has in its source, where that is another.
    """

    content: Content
    solved: Dataset | None
    source_ids: Mapping[str, str]

    @property
    def copies(self) -> Copies:
        """What is there more than once, its contradictions in test included."""
        if self.solved is None:
            return self.content.copies
        known: dict[str, list[int | None]] = {}
        for problem in self.solved:
            known.setdefault(sight(problem), []).append(problem.answer)
        return copies(
            Dataset(
                replace(p, answer=known[seen].pop())
                if p.answer is None and known.get(seen := sight(p))
                else p
                for p in self.content.dataset
            )
        )


def gathered(
    source: Source,
    about: About,
    before: Previous | None,
    splitting: Splitting,
    judges: Callable[[Problem], Judged | None],
    new_ids: bool,
    leave_out: bool,
) -> Gathered:
    """Return what is released, checked, and what its owner keeps."""
    digest = new_ids or bool(source.build)
    parts, left_out = _without_embargo(source.parts)
    if (splitting.asked or splitting.kinds) and list(parts) == [PROBLEMS]:
        parts = share(
            parts[PROBLEMS],
            splitting.all,
            dev=splitting.dev,
            test=splitting.test,
            seed=splitting.seed,
            former=before.former if before else (),
        )
    known = before.known if before else NOTHING_KNOWN
    absent = Absent(source.absent, source.old_ids)
    named = digest_ids(parts, about.name, known, absent) if digest else dict(parts)
    old_of = {
        new.id: old
        for part, dataset in parts.items()
        for old, new in zip(dataset, named[part], strict=True)
    }
    if before is not None:
        named, more = _without_known(named, before, about, leave_out)
        left_out |= more
    if TEST in named:
        named[TEST] = Dataset(sorted(named[TEST], key=lambda p: (sight(p), p.id)), TEST)
    check_answers(named)
    solved = _source.test_answers(source.private) or _answered(named)
    mark = before.canary if before else canary(_seen(named))
    parts = {
        part: Dataset(
            (
                _source.with_provenance(
                    problem,
                    mark,
                    judges=judges(old_of[problem.id]),
                    named=about.judges == "pseudonyms",
                    dropped=source.removed.get(old_of[problem.id].id),
                    bare=part == TEST,
                )
                for problem in dataset
            ),
            part,
        )
        for part, dataset in named.items()
    }
    ids = {p.id for dataset in parts.values() for p in dataset} if digest else set()
    source_ids = {
        new: source.old_ids.get(old.id, old.id) for new, old in old_of.items() if new in ids
    }
    found = (
        _source.changes(parts, before, about.withdrawn, source_ids, _why_absent(source, about.name))
        if before
        else None
    )
    content = Content(
        about,
        parts,
        mark,
        splitting.all,
        "digest" if digest else "kept",
        source.build or _unvalidated(named),
        left_out,
        {"version": before.version, "digest": before.digest} if before else None,
        _source.tombstones(found, before, about) if before and found else (),
        found.counts() if found else {},
        _source.changelog(about, before, found, mark),
    )
    _checked(content, source, solved, found)
    return Gathered(content, solved, source_ids)


def _why_absent(source: Source, name: str) -> dict[str, str]:
    """Return why a build has no place for problems, by the ids that they would have."""
    reasons = {
        old: f"dropped by {source.removed[old].stage}" if old in source.removed else "held back"
        for old in source.absent
    }
    return {id_of(source.absent[old], name): why for old, why in reasons.items()}


def _unvalidated(parts: Mapping[str, Dataset]) -> dict[str, dict[str, int]]:
    """Return, as a build reports it, how many problems nobody has found valid yet."""
    counts = {part: validate.unvalidated(dataset) for part, dataset in parts.items()}
    marked = {part: count for part, count in counts.items() if count}
    return {"unvalidated": marked} if marked else {}


def _checked(
    content: Content, source: Source, solved: Dataset | None, found: Changes | None
) -> None:
    faults = [f"{what}; {do}" for _, what, do in licence_faults(content.about, content.problems)]
    if faults:
        raise DataError("\n".join(faults))
    check_known(content.dataset, content.disjoint)
    check_apart(content.parts, content.disjoint)
    names = {p.origin.author for p in content.problems if p.origin and p.origin.author}
    address_like = sorted(name for name in names if "@" in name)
    if address_like:
        raise DataError(
            f"{len(address_like)} contributors are named by what looks like an address; put a "
            "pseudonym in its place (origin.author)"
        )
    if found is not None:
        ids = set(content.dataset.ids)
        unknown = sorted(one for one in content.about.withdrawn if one in ids)
        if unknown:
            raise DataError(f"{unknown[0]!r} is withdrawn in release.toml, and is still there")
    if TEST in content.parts and solved is not None:
        found_tells = tells(content.parts[TEST], solved)
        if found_tells:
            raise DataError(
                "test would give its answers away: " + "; ".join(found_tells) + "; with "
                "`new_ids=True` the ids are made from what a solver sees; take other fields out of "
                "the file"
            )
    if source.private is not None:
        leaks = list(leaked(content.parts, read_secrets(source.private)))
        if leaks:
            part, _, what, do = leaks[0]
            more = f", the first of {len(leaks)} leaks" if len(leaks) > 1 else ""
            raise DataError(f"{part}{more}: {what}; {do}")


def _without_embargo(
    parts: Mapping[str, Dataset],
) -> tuple[dict[str, Dataset], dict[str, int]]:
    kept = {
        part: Dataset((p for p in dataset if not p.embargo), part)
        for part, dataset in parts.items()
    }
    ids = {p.id for dataset in parts.values() for p in dataset if p.embargo}
    return kept, {"under embargo": len(ids)} if ids else {}


def _without_known(
    parts: Mapping[str, Dataset], before: Previous, about: About, leave_out: bool
) -> tuple[dict[str, Dataset], dict[str, int]]:
    """Return the parts without what may not come back, or not be in test; or refuse it."""
    if before.name != about.name:
        raise InputError(
            f"the release before is of {before.name!r}, this one of {about.name!r}; name one of "
            "the same benchmark"
        )
    if before.version == about.version:
        raise InputError(f"{about.version} is the version of the release before; give a new one")
    dead = {tomb["id"] for tomb in before.tombstones} - set(about.restored)
    gone = {p.id for dataset in parts.values() for p in dataset if p.id in dead}
    test = parts.get(TEST, Dataset())
    known = {test[row].id for row in _source.known_answers(test, before)}
    if (gone or known) and not leave_out:
        raise DataError("\n".join(_refusals(gone, known, before)))
    kept = {
        part: Dataset(
            (p for p in d if p.id not in gone and not (part == TEST and p.id in known)), part
        )
        for part, d in parts.items()
    }
    counts = {
        "withdrawn before": len(gone),
        f"in test, with an answer that {before.version} published": len(known - gone),
    }
    return kept, {reason: count for reason, count in counts.items() if count}


def _refusals(gone: Iterable[str], known: Iterable[str], before: Previous) -> Iterable[str]:
    gone, known = sorted(gone), sorted(known)
    if gone:
        yield (
            f"{len(gone)} problems were withdrawn ({gone[0]!r}, …); add `leave_out=True`, or name "
            "them under restored in release.toml"
        )
    if known:
        yield (
            f"{len(known)} test problems ({known[0]!r}, …) measure nothing: they, their other "
            f"halves, others of their families or copies were published with answers in "
            f"{before.version}; add `leave_out=True`, or move them to train"
        )


def _answered(parts: Mapping[str, Dataset]) -> Dataset | None:
    """Return the test problems of files, when each has its answer there."""
    test = parts.get(TEST)
    return test if test and all(p.answer is not None for p in test) else None


def _seen(parts: Mapping[str, Dataset]) -> Dataset:
    """Return what a solver sees of all problems, for a canary that depends on no answer."""
    seen = {
        p.id: Problem(p.id, p.sentence, p.options, blank=p.blank) for d in parts.values() for p in d
    }
    return Dataset(seen.values())


def source_of(about: About, problem: Problem) -> DataSource | None:
    """Return the source that a problem is from, by what release.toml names."""
    by_name = {source.name: source for source in about.source}
    name = problem.origin.source if problem.origin else None
    return by_name.get(name or "*") or by_name.get("*")


def licence_faults(about: About, problems: Iterable[Problem]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with licences: the first problem's id ("" for all), what, what to do."""
    for source in about.source:
        why = conflict(source.licence, source.asks, about.licence, about.asks)
        if why and not source.permission:
            yield (
                "",
                f"the source {source.name!r}: {why}",
                "release under a licence that fits, leave these problems out, or give the owner's "
                "permission as the source's `permission` in release.toml",
            )
    first: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        for what in _uncovered(about, problem):
            first.setdefault(what, []).append(problem.id)
    for (fault, do), ids in first.items():
        count = f"{len(ids)} problems" if len(ids) > 1 else "1 problem"
        yield ids[0], f"{count} ({ids[0]!r}{', …' if len(ids) > 1 else ''}): {fault}", do


def _uncovered(about: About, problem: Problem) -> Iterator[tuple[str, str]]:
    name = problem.origin.source if problem.origin else None
    stated = problem.origin.licence if problem.origin else None
    source = source_of(about, problem)
    if source is None:
        yield (
            f"no licence is stated for the source {name!r}" if name else "the source is not stated",
            f'add [[source]] with name = "{name or "*"}" and its licence to release.toml',
        )
    elif stated is not None and stated != source.licence:
        yield (
            f"their licence is {stated}, release.toml says {source.licence} of {source.name!r}",
            "correct one of the two; problems of one source have one licence",
        )
    elif problem.lineage and "no-derivatives" in source.asks and not source.permission:
        yield (
            f"they are perturbed, and {source.licence} of {source.name!r} allows no adaptation",
            "leave them out, or give the owner's permission as the source's `permission`",
        )


def check_answers(parts: Mapping[str, Dataset]) -> None:
    """Raise DataError when a part other than test lacks answers."""
    for part, dataset in parts.items():
        without = [problem.id for problem in dataset if problem.answer is None]
        if without and part != TEST:
            raise DataError(
                f"{len(without)} of {len(dataset)} problems of {part} have no answer "
                f"({without[0]!r}, …); leave them out, or name the file test if it is to be solved"
            )
        if not len(dataset):
            raise DataError(f"no problem is left of {part}; leave its file out")


def check_apart(parts: Mapping[str, Dataset], kinds: Sequence[str]) -> None:
    """Raise DataError when sides share what they must not."""
    found = list(straddles(parts, kinds))
    if found:
        shown = [
            f"{parts[one.part][one.row].id!r} of {one.part} and "
            f"{parts[one.other_part][one.other_row].id!r} of {one.other_part}: {one.why}"
            for one in found[:5]
        ]
        more = f"\nand {len(found) - 5} more" if len(found) > 5 else ""
        raise DataError(
            f"{len(found)} group{'s' * (len(found) > 1)} of problems on both sides of a "
            "split; put each on one side, "
            "or give one file and `disjoint=`, which splits it:\n" + "\n".join(shown) + more
        )


def tells(test: Dataset, solved: Dataset) -> list[str]:
    """Return what of a test set gives its answers away, beside the problems themselves."""
    answers = {sight(problem): problem.answer for problem in solved if problem.answer is not None}
    known = Dataset(
        replace(problem, answer=answers[sight(problem)])
        for problem in test
        if sight(problem) in answers
    )
    return [str(leak) for leak in leaks(known) or () if leak.field not in _SEEN]


@dataclass(frozen=True, eq=False)
class Secrets:
    """What must not be published.

    Attributes:
        solved: the test problems with their answers.
        withheld: what a solver would see of the problems that are held back, by it their ids.
        old_ids: the ids that problems had before they got those of the build.
        digests: of the private files.
    """

    solved: Dataset
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
        raise InputError(
            f"{folder} holds no test.jsonl; name the folder private/ of the build, or the "
            "release's own one in private/ beside it"
        )
    solved = formats.read(folder / "test.jsonl", as_written=True)
    try:
        return Secrets(
            solved,
            dict(_withheld(folder / "withheld.jsonl", {*solved.ids})),
            frozenset(old for _, old in _source.old_ids(folder)),
            frozenset(sha256(path) for path in folder.iterdir() if path.is_file()),
        )
    except (KeyError, OSError, UnicodeError) as error:
        raise InputError(f"{folder} is not the private folder of a build: {error!r}") from None


def _withheld(path: Path, test: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what is held back; a copy of what is in dev tells nothing that dev does not."""
    records = list(json_file(path)) if path.is_file() else []
    secret = {*test, *(record["id"] for record in records)}
    for record in records:
        if "copy_of" not in record or record["copy_of"] in secret:
            problem = dropped_problem(record)
            yield sight(problem), problem.id


def leaked(
    parts: Mapping[str, Dataset], secrets: Secrets
) -> Iterator[tuple[str, int | None, str, str]]:
    """Yield what a release gives away: the part, the row (None for all), what, what to do."""
    published = {sight(p) for p in secrets.solved}
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
        for tell in tells(parts[TEST], secrets.solved):
            yield TEST, None, tell, "release again with `new_ids=True`"


def _names(problem: Problem) -> Iterator[str]:
    yield problem.id
    if problem.twin_id:
        yield problem.twin_id
    if problem.lineage:
        yield from (problem.lineage.root, problem.lineage.parent)
    yield from (value for value in problem.extra.values() if isinstance(value, str))
