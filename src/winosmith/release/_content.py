"""`Content`: everything that a release holds, its record, and the digest that is its address.

A part is a file; some make a configuration. Its sides share nothing: no twin, family or copy, and
on request no contributor or source. Ids stay with a problem from release to release, and tell
nothing of its answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from winosmith._version import __version__
from winosmith.blocks import HOLDERS, Former, Side, blocks, placed, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics import Copies, copies
from winosmith.problem import Lineage, Problem
from winosmith.records import canonical
from winosmith.release._about import About
from winosmith.report import Signature

TEST, DEV, TRAIN, PROBLEMS = "test", "dev", "train", "problems"

NESTED = ("train_xs", "train_s", "train_m", "train_l", "train_xl")
"""Training sets of which each is the beginning of the next (WinoGrande, table 4)."""

PARTS = (*NESTED, "train_debiased", TRAIN, DEV, TEST, PROBLEMS)
"""Every part that a release may have, in the order in which they are listed."""

DESCRIPTIONS = {
    "train_xs": "the first whole twins of the next larger",
    "train_s": "the first whole twins of the next larger",
    "train_m": "the first whole twins of the next larger",
    "train_l": "the first whole twins of the next larger",
    "train_xl": "whole twins, kept or removed by the filter, apart from dev and test",
    "train_debiased": "kept by the filter, apart from dev and test; some are singles",
    TRAIN: "for training",
    DEV: "for development; with answers",
    TEST: "for the last measurement; without answers",
    PROBLEMS: "the whole set, not split",
}
"""What the card says of each part."""

_ALSO = {"validation": DEV, "valid": DEV, "val": DEV}

HUB = {DEV: "validation", TEST: "test", PROBLEMS: "problems"}
"""A part's name as a split of the Hugging Face hub; every training set is "train"."""


def part_named(stem: str) -> str | None:
    """Return the part that a file's name stands for, or None.

    >>> part_named("validation"), part_named("train_xs"), part_named("twins")
    ('dev', 'train_xs', None)
    """
    name = _ALSO.get(stem.lower(), stem.lower())
    return name if name in PARTS else None


def is_train(part: str) -> bool:
    """Tell whether a part is to be trained on."""
    return part.startswith(TRAIN)


def side(part: str) -> str:
    """Return what must be apart from what: all training sets are one side."""
    return TRAIN if is_train(part) else part


def configurations(parts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return for each configuration of the hub its splits, each with the part that fills it.

    A training set is a configuration, dev and test belong to each; the largest comes first, and is
    what is loaded when none is named.

    >>> configurations(["train_xs", "train_xl", "dev"])["xl"]
    {'train': 'train_xl', 'validation': 'dev'}
    >>> list(configurations(["train_xs", "train_xl", "dev"])), configurations(["dev"])
    (['xl', 'xs'], {'default': {'validation': 'dev'}})
    """
    held = [part for part in PARTS if part in set(parts)]
    shared = {HUB[part]: part for part in held if not is_train(part)}
    sizes = [part for part in reversed(NESTED) if part in held]
    training = sizes + [part for part in ("train_debiased", TRAIN) if part in held]
    named = {
        "default" if part == TRAIN else part.removeprefix("train_"): {TRAIN: part, **shared}
        for part in training
    }
    return named or {"default": shared}


def data_files(parts: Iterable[str]) -> Mapping[str, str]:
    """Return each part's file of our JSON Lines, relative to the release."""
    return {part: f"data/{part}.jsonl" for part in PARTS if part in set(parts)}


def data_names(part: str) -> tuple[str, ...]:
    """Return the files of a part, relative to the release."""
    names = (f"data/{part}.jsonl", f"data/{part}.parquet")
    return names if part == TEST else (*names, f"data/{part}-labels.lst")


def task_part(parts: Iterable[str]) -> str | None:
    """Return the part whose problems are in the tasks for harnesses: its answers are public."""
    return next((one for one in (DEV, PROBLEMS) if one in parts), None)


DIGITS = 12
"""Of an id: 48 bits, with which 50,000 problems share one by chance once in 200,000 releases."""


def sight(problem: Problem) -> str:
    """Return a digest of what a solver sees: the sentence and its options, in 64 digits."""
    seen = "\0".join((problem.sentence, *problem.options))
    return hashlib.sha256(seen.encode()).hexdigest()


def id_of(problem: Problem, name: str) -> str:
    """Return the id that is made from what a solver sees; the first of several copies has it."""
    return f"{name}-{sight(problem)[:DIGITS]}"


@dataclass(frozen=True, eq=False)
class Known:
    """What ids the release before gave; nothing, in the first one.

    Attributes:
        problems: its problems by their ids.
        ids: those, and the ids of what had been withdrawn by then.
        by_source: its ids by those of its source, where they are known.
    """

    problems: Mapping[str, Problem] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()
    by_source: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Absent:
    """What is known of problems of the source that are in no part.

    Attributes:
        problems: by the ids that lineages call them.
        old_ids: the ids that the source had for those, where it had others.
    """

    problems: Mapping[str, Problem] = field(default_factory=dict)
    old_ids: Mapping[str, str] = field(default_factory=dict)


NOTHING_KNOWN, NOTHING_ABSENT = Known(), Absent()


def digest_ids(
    parts: Mapping[str, Dataset],
    name: str,
    known: Known = NOTHING_KNOWN,
    absent: Absent = NOTHING_ABSENT,
) -> dict[str, Dataset]:
    """Return the parts with ids made from what a solver sees.

    A build numbers its problems by their rows, so the same id is another problem in the next build.
    These stay the same for the same sentence and options. So do the names of twins and families: a
    twin keeps its name when a half goes or comes back; a root that is not there keeps the id that
    it was once published with, and one that never was has a name that tells nothing of it.

    Args:
        parts: in which the same id is the same problem.
        name: what the ids begin with.
        known: what ids the release before gave.
        absent: what is known of roots and parents that are in no part.

    >>> old = Dataset([Problem("mine-0", "The _ fell.", ("cup", "jug"), 1, "mine-t0")])
    >>> new = digest_ids({"dev": old}, "mine")["dev"][0]
    >>> new.id, new.twin_id
    ('mine-683a48eccc36', 'mine-t0d6f43992b50')
    """
    problems = {problem.id: problem for dataset in parts.values() for problem in dataset}
    copies: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for old, problem in problems.items():
        made = id_of(problem, name)
        copies[made] += 1
        ids[old] = f"{made}-{copies[made]}" if copies[made] > 1 else made

    def named(prefix: str, key: _Key) -> dict[str, str]:
        return _groups(problems, ids, f"{name}-{prefix}", key, known)

    twins = named("t", lambda p: p.twin_id)
    strangers = {
        **named("x", lambda p: p.lineage.parent if p.lineage else None),
        **named("x", lambda p: p.lineage.root if p.lineage else None),
        **_published(problems.values(), absent, name, known),
        **ids,
    }

    def lineage(old: Lineage | None) -> Lineage | None:
        return old and replace(old, root=strangers[old.root], parent=strangers[old.parent])

    renamed = {
        old: replace(
            problem,
            id=ids[old],
            twin_id=None if problem.twin_id is None else twins[problem.twin_id],
            lineage=lineage(problem.lineage),
        )
        for old, problem in problems.items()
    }
    return {
        part: Dataset((renamed[p.id] for p in dataset), dataset.name)
        for part, dataset in parts.items()
    }


_Key = Callable[[Problem], str | None]
"""What of a problem names its twin, its root or its parent."""


def _published(
    problems: Iterable[Problem], absent: Absent, name: str, known: Known
) -> dict[str, str]:
    """Return the ids of roots and parents that have been published: no other id is told."""
    lineages = (problem.lineage for problem in problems if problem.lineage)
    called = {one for lineage in lineages for one in (lineage.root, lineage.parent)}
    found = {}
    for one in called:
        held = absent.problems.get(one)
        of_text = id_of(held, name) if held else None
        of_source = known.by_source.get(absent.old_ids.get(one, one))
        published = next((id_ for id_ in (of_text, of_source) if id_ in known.ids), None)
        if published is not None:
            found[one] = published
    return found


def _groups(
    problems: Mapping[str, Problem], ids: Mapping[str, str], prefix: str, key: _Key, known: Known
) -> dict[str, str]:
    """Return a name for each key that problems share: an earlier one, or one made of their ids."""
    members: dict[str, list[str]] = {}
    for old, problem in problems.items():
        group = key(problem)
        if group is not None:
            members.setdefault(group, []).append(ids[old])
    names: dict[str, str] = {}
    taken: set[str] = set()
    for group, held in members.items():
        names[group] = _earlier(sorted(held), key, known, taken) or prefix + _digits(sorted(held))
        taken.add(names[group])
    return names


def _earlier(members: Sequence[str], key: _Key, known: Known, taken: set[str]) -> str | None:
    """Return the name that the release before gave to a group, unless another group has it."""
    names = (key(known.problems[one]) for one in members if one in known.problems)
    return next((name for name in names if name and name not in taken), None)


def _digits(members: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(members).encode()).hexdigest()[:DIGITS]


KINDS = ("twin", *HOLDERS)
"""What sides can be kept apart by; "twin" stands for twins, families, copies and lookalikes."""


@dataclass(frozen=True, slots=True)
class Straddle:
    """Two problems on different sides that belong together.

    Attributes:
        part, row: where the first is.
        other_part, other_row: where the second is.
        why: what they share, in words.
    """

    part: str
    row: int
    other_part: str
    other_row: int
    why: str


def straddles(parts: Mapping[str, Dataset], kinds: Iterable[str]) -> Iterator[Straddle]:
    """Yield what belongs together and lies on different sides, once for each such group.

    All training sets are one side; `kinds` are of `KINDS`.
    """
    places: list[tuple[str, int, Problem]] = []
    seen: set[tuple[str, str]] = set()
    for part, dataset in parts.items():
        for row, problem in enumerate(dataset):
            if (side(part), problem.id) not in seen:
                seen.add((side(part), problem.id))
                places.append((part, row, problem))
    for kind in kinds:
        groups = _together(places) if kind == "twin" else _sharing(places, HOLDERS[kind])
        for group, why in groups:
            first, *rest = group
            other = next((o for o in rest if side(places[o][0]) != side(places[first][0])), None)
            if other is not None:
                one, two = places[first], places[other]
                reason = why or _why(one[2], two[2])
                yield Straddle(one[0], one[1], two[0], two[1], reason)


_Place = tuple[str, int, Problem]


def _together(places: Sequence[_Place]) -> Iterator[tuple[list[int], str]]:
    """Yield the rows of each block; ids are told apart by their side, so that copies are found."""
    data = Dataset(
        replace(problem, id=f"{at}", lineage=_rooted(problem))
        for at, (_, _, problem) in enumerate(places)
    )
    for block in blocks(data):
        if len(block) > 1:
            yield sorted(block), ""


def _rooted(problem: Problem) -> Lineage:
    """Return a lineage that names the root by its own id, also for the root itself."""
    return problem.lineage or Lineage(problem.id, problem.id)


def _sharing(places: Sequence[_Place], field: str) -> Iterator[tuple[list[int], str]]:
    by: dict[str, list[int]] = {}
    for at, (_, _, problem) in enumerate(places):
        value = getattr(problem.origin, field, None)
        if value is not None:
            by.setdefault(value, []).append(at)
    what = "contributor" if field == "author" else field
    for value, group in by.items():
        yield group, f"both are from the {what} {value!r}"


def _why(one: Problem, other: Problem) -> str:
    """Say what two problems share; blocks join neighbours, so it may be a third."""
    if one.id == other.id:
        return "they have the same id"
    if one.twin_id is not None and one.twin_id == other.twin_id:
        return f"they are halves of the twin {one.twin_id!r}"
    if one.root == other.root:
        return f"they are of the family of {one.root!r}"
    if one.sentence.lower() == other.sentence.lower():
        return "their sentences are the same"
    return "one is nearly a copy of the other, or both are of a third"


def check_known(dataset: Dataset, kinds: Iterable[str]) -> None:
    """Refuse to promise what can't be seen: each problem must say its contributor or source.

    Raises:
        DataError: some problems don't.
    """
    for kind in kinds:
        if kind == "twin":
            continue
        unknown = [p.id for p in dataset if getattr(p.origin, HOLDERS[kind], None) is None]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(dataset)} problems do not say their {kind} "
                f"({unknown[0]!r}, …), so sides can't be kept apart by it; omit "
                f"`disjoint={kind!r}`, or give each problem its origin.{HOLDERS[kind]}"
            )


def share(
    dataset: Dataset,
    kinds: Iterable[str],
    *,
    dev: float,
    test: float,
    seed: int,
    former: Sequence[Former] = (),
) -> dict[str, Dataset]:
    """Split a data set into train, dev and test that share nothing of these kinds.

    Test is filled first, then dev, by the rules of `blocks.placed`; what was on a side before stays
    there.

    Args:
        dataset: not split yet.
        kinds: of `KINDS`; twins are always kept together.
        dev: the share of dev, 0–1.
        test: the share of test.
        seed: of the order.
        former: what the release before had, with the ids of this data set.

    Raises:
        DataError: the groups are too large for the shares.
    """
    check_known(dataset, kinds)
    wanted: dict[Side, int] = {
        "test": round(test * len(dataset)),
        "dev": round(dev * len(dataset)),
    }
    found = placed(
        dataset,
        shuffled_blocks(dataset, seed),
        wanted,
        keys=[HOLDERS[kind] for kind in kinds if kind != "twin"],
        former=former,
    )
    rows: dict[str, list[int]] = {TRAIN: [], DEV: [], TEST: []}
    for of in found:
        rows[of.side] += of.rows
    for part, size in ((TEST, wanted["test"]), (DEV, wanted["dev"]), (TRAIN, 1)):
        if size and not rows[part]:
            largest = max(len(of.rows) for of in found)
            raise DataError(
                f"nothing is left for {part}: the {len(found)} groups that must stay together "
                f"are too large (the largest holds {largest} of {len(dataset)} "
                "problems); change the shares, or ask for less"
            )
    return {part: dataset.select(held, part) for part, held in rows.items() if held}


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that a release holds.

    Attributes:
        about: what its makers say of it.
        parts: its problems, by part; those of test have no answers.
        canary: the string that every problem carries.
        disjoint: what no two sides share: "twin", and "contributor" or "source" on request.
        ids: "digest" where they are made from what a solver sees, "kept" where they are the
            source's own.
        build: what the build reported, for the card; empty where there was none.
        left_out: how many problems were left out, by reason.
        previous: version and digest of the release before, or None.
        tombstones: what was withdrawn in this release or one before, in order.
        changes: how many problems were added, withdrawn, changed and moved since.
        history: CHANGELOG.md's text.
    """

    about: About
    parts: Mapping[str, Dataset]
    canary: str
    disjoint: tuple[str, ...] = ("twin",)
    ids: str = "kept"
    build: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    previous: Mapping[str, str] | None = None
    tombstones: Sequence[Mapping[str, str]] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    history: str = ""

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem once, in the order of the parts."""
        seen: dict[str, Problem] = {}
        for dataset in self.parts.values():
            for problem in dataset:
                seen.setdefault(problem.id, problem)
        return tuple(seen.values())

    @cached_property
    def dataset(self) -> Dataset:
        """The same as one data set."""
        return Dataset(self.problems, self.about.name)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """What each part counts, and all of them under "all"."""
        counted = {part: counts_of(dataset) for part, dataset in self.parts.items()}
        return {**counted, "all": counts_of(self.dataset)}

    @cached_property
    def copies(self) -> Copies:
        """What is there more than once; of test, whose answers are not here, no contradiction."""
        return copies(self.dataset)

    @property
    def signature(self) -> str:
        """What the figures of the release carry."""
        version = {"release": self.about.version}
        return str(Signature(self.dataset.digest, len(self.dataset), version, 0))


def counts_of(dataset: Dataset) -> dict[str, int]:
    """Return what is counted of a part."""
    authors = {p.origin.author for p in dataset if p.origin and p.origin.author}
    return {
        "problems": len(dataset),
        "twins": len(dataset.twins),
        "singles": len(dataset.singles),
        "families": sum(len(rows) > 1 for rows in dataset.families.values()),
        "contributors": len(authors),
    }


RECORD, CHECKSUMS = "release.json", "checksums.txt"

MADE_WITH = f"winosmith {__version__}"

ADDRESS = 12
"""Digits of the digest in a release's folder."""


def record_of(content: Content, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return release.json's object.

    `files` are all but release.json and checksums.txt, with their `sha256` and `bytes`.
    """
    record: dict[str, Any] = {
        "release": 1,
        "made_with": MADE_WITH,
        "signature": content.signature,
        "canary": content.canary,
        "ids": content.ids,
        "disjoint": list(content.disjoint),
        "counts": content.counts,
        "digests": {part: dataset.digest for part, dataset in content.parts.items()},
        "configurations": configurations(content.parts),
        "left_out": dict(content.left_out),
        **(content.copies.record() if content.copies.sentences() else {}),
        "previous": dict(content.previous) if content.previous else None,
        "changes": dict(content.changes),
        "about": content.about.record(),
        "build": dict(content.build),
        "files": {path: dict(files[path]) for path in sorted(files)},
    }
    return {"digest": digest_of(record), **record}


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the digest over all files, by their checksums, and over what release.json says.

    Args:
        record: of release.json; what it says of its digest is left out.
    """
    rest = {key: value for key, value in sorted(record.items()) if key != "digest"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def address(record: Mapping[str, Any]) -> str:
    """Return the name of a release's folder: NAME-VERSION-DIGITS."""
    about = record["about"]
    return f"{about['name']}-{about['version']}-{record['digest'][:ADDRESS]}"


def checksum_lines(sums: Mapping[str, str]) -> Iterable[str]:
    """Yield the lines of checksums.txt, as sha256sum reads them."""
    for path in sorted(sums):
        yield f"{sums[path]}  {path}\n"


SOURCE_IDS = "ids.jsonl"
"""The owner's file that says which id was which one of the source."""


def canary_text(name: str, canary: str) -> str:
    """Return the file CANARY: what the string is for, after BIG-bench's practice (2022)."""
    return (
        f"{name}: benchmark data, to be kept out of training corpora.\n{canary}\n\n"
        "Every problem carries the line above, and every file here that takes a comment. Leave it\n"
        "where it is. Whoever gathers training data can search for it and leave these texts out;\n"
        "whoever suspects that a model has seen them can ask the model for the line.\n"
    )


def comment(canary: str) -> str:
    """Return the canary as a comment of Markdown."""
    return f"<!-- {canary} -->"
