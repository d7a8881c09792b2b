"""From a source to what is released: without what must not be, and refused where that won't do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from winosmith import validate
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.humans import canary
from winosmith.metrics import Copies, copies
from winosmith.problem import Problem
from winosmith.release._about import About
from winosmith.release._changes import Changes, changelog, changes, tombstones
from winosmith.release._checks import check_answers, check_apart, check_licences, check_tells
from winosmith.release._content import Content
from winosmith.release._disjoint import KINDS, check_known, share
from winosmith.release._ids import NOTHING_KNOWN, Absent, digest_ids, id_of, sight
from winosmith.release._parts import PROBLEMS, TEST
from winosmith.release._previous import Previous, known_answers
from winosmith.release._private import leaked, read_secrets
from winosmith.release._provenance import Judged, with_provenance
from winosmith.release._source import Source, told_answers

__all__ = ["Gathered", "Splitting", "gathered"]


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
        told: the test problems with their answers, where known.
        source_ids: the id that each problem has in its source, where that is another.
    """

    content: Content
    told: Dataset | None
    source_ids: Mapping[str, str]

    @property
    def copies(self) -> Copies:
        """What is there more than once, its contradictions in test included."""
        if self.told is None:
            return self.content.copies
        known: dict[str, list[int | None]] = {}
        for problem in self.told:
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
    parts = _split(parts, splitting, before)
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
    told = told_answers(source.private) or _answered(named)
    mark = before.canary if before else canary(_seen(named))
    parts = {
        part: Dataset(
            (
                with_provenance(
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
        changes(parts, before, about.withdrawn, source_ids, _why_absent(source, about.name))
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
        tombstones(found, before, about) if before and found else (),
        found.counts() if found else {},
        changelog(about, before, found, mark),
    )
    _checked(content, source, told, found)
    return Gathered(content, told, source_ids)


def _why_absent(source: Source, name: str) -> dict[str, str]:
    """Return why a build has no place for problems, by the ids that they would have."""
    told = {
        old: f"dropped by {source.removed[old].stage}" if old in source.removed else "held back"
        for old in source.absent
    }
    return {id_of(source.absent[old], name): why for old, why in told.items()}


def _unvalidated(parts: Mapping[str, Dataset]) -> dict[str, dict[str, int]]:
    """Return, as a build reports it, how many problems nobody has found valid yet."""
    counts = {part: validate.unvalidated(dataset) for part, dataset in parts.items()}
    marked = {part: count for part, count in counts.items() if count}
    return {"unvalidated": marked} if marked else {}


def _checked(content: Content, source: Source, told: Dataset | None, found: Changes | None) -> None:
    check_licences(content.about, content.problems)
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
    if TEST in content.parts and told is not None:
        check_tells(content.parts[TEST], told)
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


def _split(
    parts: dict[str, Dataset], splitting: Splitting, before: Previous | None
) -> dict[str, Dataset]:
    if not splitting.asked and not splitting.kinds:
        return parts
    if list(parts) == [PROBLEMS]:
        data = parts[PROBLEMS]
        return share(
            data,
            splitting.all,
            dev=splitting.dev,
            test=splitting.test,
            seed=splitting.seed,
            former=before.former if before else (),
        )
    return parts


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
    known = {test[row].id for row in known_answers(test, before)}
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
            f"{len(gone)} problems were withdrawn ({gone[0]!r}, …); add --leave-out, or name them "
            "under restored in release.toml"
        )
    if known:
        yield (
            f"{len(known)} test problems ({known[0]!r}, …) measure nothing: they, their other "
            f"halves, others of their families or copies were published with answers in "
            f"{before.version}; add --leave-out, or move them to train"
        )


def _answered(parts: Mapping[str, Dataset]) -> Dataset | None:
    """Return the test problems of files, when each has its answer there."""
    test = parts.get(TEST)
    return test if test and all(p.answer is not None for p in test) else None


def _seen(parts: Mapping[str, Dataset]) -> Dataset:
    """Return what a solver sees of all problems, for a canary that depends on no answer."""
    seen = {p.id: Problem(p.id, p.sentence, p.options) for d in parts.values() for p in d}
    return Dataset(seen.values())
