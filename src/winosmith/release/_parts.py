"""The parts of a release, and the ids of its problems.

A part is a file; some make a configuration. Ids stay with a problem from release to release, and
tell nothing of its answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem

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
