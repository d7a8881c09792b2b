"""The parts of a release: names, sides and configurations, and what two sides must not share.

A part is a data file. The Hugging Face hub loads parts as the splits of configurations. All
training parts are one side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from winosmith.blocks import HOLDERS, Former, Side, blocks, placed, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Lineage, Problem

TEST: Final = "test"
DEV: Final = "dev"
TRAIN: Final = "train"
PROBLEMS: Final = "problems"

NESTED = ("train_xs", "train_s", "train_m", "train_l", "train_xl")
"""Training sets of which each is the start of the next (WinoGrande, table 4)."""

PARTS: Mapping[str, str] = {
    **dict.fromkeys(NESTED[:-1], "the first whole twins of the next larger"),
    "train_xl": "whole twins, kept or removed by the filter, separate from dev and test",
    "train_debiased": "kept by the filter, separate from dev and test; some are singles",
    TRAIN: "for training",
    DEV: "for development; with answers",
    TEST: "for the final measurement; without answers",
    PROBLEMS: "the whole set, not split",
}
"""Every part that a release may have, in the order of a release, with its description."""

_ALIASES = {"validation": DEV, "valid": DEV, "val": DEV}

KINDS = ("twin", *HOLDERS)
"""What two sides may be required not to share; "twin" means twins, families and near-duplicates."""


def part_of_file(stem: str) -> str | None:
    """Return the part that the name of a file means, or None.

    >>> part_of_file("validation"), part_of_file("train_xs"), part_of_file("twins")
    ('dev', 'train_xs', None)
    """
    name = _ALIASES.get(stem.lower(), stem.lower())
    return name if name in PARTS else None


def side(part: str) -> str:
    """Return the side of a part: all training parts are one side."""
    return TRAIN if part.startswith(TRAIN) else part


def in_order(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """Return the parts in the order of a release."""
    return {part: parts[part] for part in PARTS if part in parts}


def unique(parts: Mapping[str, Dataset]) -> dict[str, Problem]:
    """Return every problem once, by its id, in the order of the parts."""
    found: dict[str, Problem] = {}
    for dataset in parts.values():
        for problem in dataset:
            found.setdefault(problem.id, problem)
    return found


def configurations(parts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the configurations of the hub: the part of each split.

    Each training part is a configuration, and dev and test belong to each of them. The largest is
    first: it is the default.

    >>> configurations(["train_xs", "train_xl", "dev"])["xl"]
    {'train': 'train_xl', 'validation': 'dev'}
    >>> list(configurations(["train_xs", "train_xl", "dev"])), configurations(["dev"])
    (['xl', 'xs'], {'default': {'validation': 'dev'}})
    """
    held = set(parts)
    names = {DEV: "validation", TEST: TEST, PROBLEMS: PROBLEMS}
    shared = {split: part for part, split in names.items() if part in held}
    found = {
        "default" if part == TRAIN else part.removeprefix("train_"): {TRAIN: part, **shared}
        for part in (*reversed(NESTED), "train_debiased", TRAIN)
        if part in held
    }
    return found or {"default": shared}


def sight(problem: Problem) -> str:
    """Return a digest of what a solver sees: the sentence and its options, in 64 digits."""
    seen = "\0".join((problem.sentence, *problem.options))
    return hashlib.sha256(seen.encode()).hexdigest()


def straddles(
    parts: Mapping[str, Dataset], kinds: Iterable[str]
) -> Iterator[tuple[tuple[str, int], tuple[str, int], str]]:
    """Yield two problems of each group that two sides share.

    Args:
        parts: the problems by part.
        kinds: of `KINDS`.

    Yields:
        The part and row of one problem, those of another, and the reason why they belong together.
    """
    places: list[tuple[str, int]] = []
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for part, dataset in parts.items():
        for row, problem in enumerate(dataset):
            if (key := (side(part), problem.id)) not in seen:
                seen.add(key)
                places.append((part, row))
                problems.append(problem)
    sides = [side(part) for part, _ in places]
    for kind in kinds:
        for group in _blocks(problems) if kind == "twin" else _same_origin(problems, kind):
            first, *rest = group
            other = next((one for one in rest if sides[one] != sides[first]), None)
            if other is not None:
                why = _why(problems[first], problems[other], kind)
                yield places[first], places[other], why


def _blocks(problems: Sequence[Problem]) -> Iterator[list[int]]:
    """Yield the rows of each block; a problem on two sides has two rows with different ids."""
    data = Dataset(
        replace(p, id=f"{at}", lineage=p.lineage or Lineage(p.id, p.id))
        for at, p in enumerate(problems)
    )
    yield from (sorted(block) for block in blocks(data))


def _same_origin(problems: Sequence[Problem], kind: str) -> Iterator[list[int]]:
    rows: dict[str, list[int]] = {}
    for at, problem in enumerate(problems):
        if (value := getattr(problem.origin, HOLDERS[kind], None)) is not None:
            rows.setdefault(value, []).append(at)
    yield from rows.values()


def _why(one: Problem, other: Problem, kind: str) -> str:
    """Return the reason why two problems belong together, which may be a third problem."""
    if kind != "twin":
        return f"both are from the {kind} {getattr(one.origin, HOLDERS[kind])!r}"
    if one.id == other.id:
        return "they have the same id"
    if one.twin_id is not None and one.twin_id == other.twin_id:
        return f"they are halves of the twin {one.twin_id!r}"
    if one.root == other.root:
        return f"they are of the family of {one.root!r}"
    if one.sentence.lower() == other.sentence.lower():
        return "their sentences are the same"
    return "one is a near-duplicate of the other, or both are of a third"


def check_origins(dataset: Dataset, kinds: Iterable[str]) -> None:
    """Raise DataError if sides can't be split by a kind, since problems don't state it."""
    for kind in kinds:
        if kind == "twin":
            continue
        unknown = [p.id for p in dataset if getattr(p.origin, HOLDERS[kind], None) is None]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(dataset)} problems have no {kind} ({unknown[0]!r}, …), "
                f"so sides can't be split by it; omit `disjoint={kind!r}`, or give each problem "
                f"its origin.{HOLDERS[kind]}"
            )


def split(
    dataset: Dataset,
    kinds: Iterable[str],
    *,
    dev: float,
    test: float,
    seed: int,
    former: Sequence[Former] = (),
) -> dict[str, Dataset]:
    """Split a data set into train, dev and test that share nothing of these kinds.

    Test is filled first, then dev, by the rules of `blocks.placed`.

    Args:
        dataset: not split yet.
        kinds: of `KINDS`; twins always stay together.
        dev: the fraction of dev, 0–1.
        test: the fraction of test.
        seed: of the order.
        former: the sides of problems in the previous release, with the ids of this data set.

    Raises:
        DataError: the groups are too large for the fractions.
    """
    wanted: dict[Side, int] = {TEST: round(test * len(dataset)), DEV: round(dev * len(dataset))}
    found = placed(
        dataset,
        shuffled_blocks(dataset, seed),
        wanted,
        keys=[HOLDERS[kind] for kind in kinds if kind != "twin"],
        former=former,
    )
    rows: dict[str, list[int]] = {TRAIN: [], DEV: [], TEST: []}
    for group in found:
        rows[group.side] += group.rows
    for part, size in ((TEST, wanted[TEST]), (DEV, wanted[DEV]), (TRAIN, 1)):
        if size and not rows[part]:
            largest = max(len(group.rows) for group in found)
            raise DataError(
                f"no problem is left for {part}: the {len(found)} groups that must stay together "
                f"are too large (the largest has {largest} of {len(dataset)} problems); change "
                "the fractions, or split by fewer kinds"
            )
    return {part: dataset.select(held, part) for part, held in rows.items() if held}
