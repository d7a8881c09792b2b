"""Small, medium and large: the sets of EvoGrad (2024, section 3.4), split by root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from winosmith.blocks import blocks
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError, InputError
from winosmith.lineage import UNVALIDATED, depths
from winosmith.problem import MAX_OPTIONS, Problem

PARTS = ("train", "dev", "test")

SHARES = (10, 2, 2)
"""Roots 1–10, 11–12 and 13–14 of EvoGrad's table 1."""

STAGE = "split"

LETTERS = ascii_uppercase[:MAX_OPTIONS]
"""What the options are called in a report, in their order."""


@dataclass(frozen=True)
class Sets:
    """The three sets.

    Attributes:
        small: the roots and what people made of them.
        medium: the roots and their many children, by part.
        large: train and dev of medium with their children by synonyms, and the test of medium.
        dropped: problems that look like one of another part, with the reason.
    """

    small: Dataset
    medium: Mapping[str, Dataset]
    large: Mapping[str, Dataset]
    dropped: tuple[Dropped, ...]


def split_roots(roots: Dataset, shares: Sequence[int] = SHARES, seed: int = 0) -> dict[str, str]:
    """Deal the roots to train, dev and test at random, by shares; each part gets one or more.

    Args:
        roots: of the families.
        shares: of train, dev and test, whole numbers of 1 or more.
        seed: of the deal.

    Returns:
        The part of each root, by its id.

    Raises:
        InputError: not three shares of 1 or more.
        DataError: fewer than three roots.

    >>> from winosmith.testing import made_twins
    >>> from collections import Counter
    >>> roots = made_twins(14).select(range(0, 28, 2))
    >>> sorted(Counter(split_roots(roots).values()).items())
    [('dev', 2), ('test', 2), ('train', 10)]
    """
    if len(shares) != len(PARTS) or min(shares) < 1:
        raise InputError("the shares of train, dev and test are three whole numbers of 1 or more")
    if len(roots) < len(PARTS):
        raise DataError(f"{len(roots)} roots can't be split into train, dev and test")
    held = [max(1, round(len(roots) * share / sum(shares))) for share in shares[1:]]
    while len(roots) - sum(held) < 1:
        held[held.index(max(held))] -= 1
    order = np.random.default_rng(seed).permutation(len(roots))
    parts = ["train"] * (len(roots) - sum(held)) + ["dev"] * held[0] + ["test"] * held[1]
    return {roots[int(row)].id: part for row, part in zip(order, parts, strict=True)}


def assemble(
    small: Dataset,
    medium: Dataset,
    large: Dataset,
    parts: Mapping[str, str],
    *,
    test_grows: bool = False,
) -> Sets:
    """Lay families into their parts, so that none straddles a split.

    A family follows its root. Problems of two parts that belong together all the same (equal
    sentences, or look-alikes; see `winosmith.blocks`) are parted by dropping those of the part that
    comes first in train, dev, test: what is measured on stays whole.

    Args:
        small: roots and what people made of them.
        medium: roots and children.
        large: `medium` and the children of its problems.
        parts: of each root, from `split_roots`.
        test_grows: the test of large has its children by synonyms, too. The paper's text says that
            all 1,414 problems were augmented; its sizes (3,489 of 1,212) say that the test was not.
    """
    everything = Dataset({p.id: p for data in (small, medium, large) for p in data}.values())
    straddling = _straddling(everything, parts)
    dropped = tuple(
        Dropped(everything[row], STAGE, reason, row) for row, reason in sorted(straddling.items())
    )
    gone = {left.problem.id for left in dropped}

    def part(data: Dataset, name: str) -> Dataset:
        kept = (p for p in data if parts[p.root] == name and p.id not in gone)
        return Dataset(kept, name)

    by_part = {name: part(medium, name) for name in PARTS}
    grown = {name: part(large, name) for name in PARTS}
    return Sets(
        Dataset((p for p in small if p.id not in gone), "small"),
        by_part,
        grown if test_grows else {**grown, "test": by_part["test"]},
        dropped,
    )


def _straddling(everything: Dataset, parts: Mapping[str, str]) -> dict[int, str]:
    """Return the rows to drop so that no block has problems of two parts."""
    reasons: dict[int, str] = {}
    for block in blocks(everything):
        there = {parts[everything[row].root] for row in block}
        if len(there) == 1:
            continue
        stays = max(there, key=PARTS.index)
        for row in block:
            if parts[everything[row].root] != stays:
                reasons[row] = f"it goes together with problems of {stays}"
    return reasons


def described(dataset: Dataset, families: Dataset) -> dict[str, Any]:
    """Return what a report says of one part: size, balance, depths, sources, what is not judged.

    Args:
        dataset: the part.
        families: a data set with the parents of its problems, to count depths by.
    """
    by_id = dict(zip(families.ids, depths(families), strict=True))
    found = [by_id[problem.id].edit for problem in dataset]
    known = [depth for depth in found if depth is not None]
    return {
        "problems": len(dataset),
        "families": len(dataset.families),
        "answers": _counted(LETTERS[p.answer] if p.answer is not None else "—" for p in dataset),
        "sources": _counted(_source(problem) for problem in dataset),
        "edit_depth": _counted(known),
        "mean_edit_depth": sum(known) / len(known) if known else None,
        "unvalidated": sum(bool(problem.extra.get(UNVALIDATED)) for problem in dataset),
        "digest": dataset.digest,
    }


def _source(problem: Problem) -> str:
    if problem.lineage is None:
        return "root"
    return (problem.origin and problem.origin.source) or "unknown"


def _counted(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}
