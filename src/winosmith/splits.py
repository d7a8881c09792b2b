"""Assign blocks to the splits train, dev and test.

If data is split again, each block keeps its previous split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from winosmith.blocks import MIN_OVERLAP, find_blocks, join_blocks
from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem
from winosmith.text import normalize_name, split_pieces

SplitName = Literal["train", "dev", "test"]

SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")
"""The splits in order of precedence. A block that was in several splits stays in the first one,
because training data can't measure a model, and published answers are not secret."""

Key = Literal["author", "source"]
"""A field of a problem's origin. Blocks with the same value can be joined."""

Disjoint = Literal["twin", "contributor", "source"]
"""Unit that must not be in several splits: a twin (with its block), contributor or source."""

KEY_FIELDS: Mapping[str, Key] = {"contributor": "author", "source": "source"}
"""The field of a problem's origin that identifies its contributor or source."""

SLACK = 0.1
"""Fraction by which dev or test may exceed its target size so that contributors are not divided."""

BLOCK_SLACK = 0.5
"""Fraction by which dev or test may exceed its target size so that large blocks are not divided."""


@dataclass(frozen=True, slots=True)
class PreviousProblem:
    """A problem from an earlier build, with its split.

    Attributes:
        problem: the problem with its id in the pool; the answer is ignored.
        split: the previous split; None for a problem that only joins other problems into one block.
    """

    problem: Problem
    split: SplitName | None


def find_previous_splits(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    previous: Sequence[PreviousProblem],
    keys: Iterable[Key] = (),
) -> list[frozenset[SplitName]]:
    """Return each block's previous splits: those of its problems and of related problems.

    Related problems are copies, members of a family (by the ids in the pool) and possible halves of
    twins. They share a block if old and new problems are grouped together by `blocks`. An old id is
    ignored if a different problem has that id now.

    Args:
        dataset: the problems to split.
        order: their blocks, joined by `keys`.
        previous: the problems that were split before.
        keys: fields that join blocks, such as the author or the source.

    >>> old = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> new = Problem("b", "A _ rose.", ("sun", "moon"), 1)
    >>> found = find_previous_splits(Dataset([old, new]), [[0], [1]], [PreviousProblem(old, "dev")])
    >>> [sorted(splits) for splits in found]
    [['dev'], []]
    """
    keys = tuple(keys)
    now, before = {problem.id: problem for problem in dataset}, [old.problem for old in previous]
    reused = {p.id for p in before if p.id in now and not _is_same_problem(p, now[p.id])}
    renamed = [(p, p.root, p.twin_id and f"now {p.twin_id}") for p in dataset]
    for p in before:
        root = f"then {p.root}" if p.root in reused else p.root
        renamed.append((p, root, p.twin_id and f"then {p.twin_id}"))
    both = Dataset(
        replace(p, id=f"{at}", lineage=Lineage(root, root), twin_id=twin)
        for at, (p, root, twin) in enumerate(renamed)
    )
    named = [[*_get_joining_keys(problem, keys)] for problem in both]
    found: list[frozenset[SplitName]] = [frozenset()] * len(dataset)
    for tree in join_blocks(find_blocks(both), named):
        past = [previous[at - len(dataset)].split for at in tree if at >= len(dataset)]
        sides = frozenset(side for side in past if side is not None)
        for row in tree:
            if row < len(dataset):
                found[row] = sides
    return [frozenset[SplitName]().union(*(found[row] for row in block)) for block in order]


@dataclass(frozen=True, slots=True)
class AssignedBlock:
    """Rows that stay together, and the split to which they are assigned.

    Attributes:
        rows: the 0-based rows in the data set.
        split: the assigned split.
        previous: the previous splits of these problems and of related problems.
    """

    rows: tuple[int, ...]
    split: SplitName
    previous: frozenset[SplitName]


def assign_splits(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    wanted: Mapping[SplitName, int],
    *,
    keys: Iterable[Key] = (),
    previous: Sequence[PreviousProblem] = (),
    counted: Collection[int] | None = None,
) -> list[AssignedBlock]:
    """Assign blocks to train, dev and test.

    Without previous splits, dev and test are filled in the order of `wanted`, and all other
    problems become training data. Otherwise each block keeps its split (the first of train, dev and
    test if there are several), and each new block goes to the split that lacks the largest fraction
    of its wanted size.

    Blocks are added to a split until it has the wanted size. Blocks that would make it more than
    50 % too large (`BLOCK_SLACK`), such as large families, are skipped. A first block of two
    problems always fits. If every block is too large, the smallest is added. The problems of one
    contributor or source may be numerous and share a fault. With `keys`, a split therefore exceeds
    its wanted size by at most 10 % (`SLACK`), which makes an interval at most 5 % narrower.

    Args:
        dataset: the problems; with `previous`, they have the ids of their pool.
        order: their shuffled blocks.
        wanted: the target number of problems in dev and test.
        keys: fields that join blocks, such as the author or the source.
        previous: the problems that were split before.
        counted: the rows that count towards `wanted`; new blocks without such rows become training
            data. None counts all rows.

    >>> fell = [Problem(f"{at}", f"The {at} _ fell.", ("cup", f"jug {at}"), 0) for at in range(4)]
    >>> found = assign_splits(Dataset(fell), [[0, 1], [2], [3]], {"dev": 1, "test": 1})
    >>> [(part.rows, part.split) for part in found]
    [((0, 1), 'dev'), ((2,), 'test'), ((3,), 'train')]
    """
    keys = tuple(keys)
    groups: Sequence[Sequence[int]] = order
    if keys:
        groups = join_blocks(order, [[*_get_joining_keys(problem, keys)] for problem in dataset])
    count = [sum(counted is None or row in counted for row in rows) for rows in groups]
    most = {
        side: size * (1 + SLACK) if keys else max(size * (1 + BLOCK_SLACK), 2)
        for side, size in wanted.items()
    }
    before: Sequence[frozenset[SplitName]] = [frozenset()] * len(groups)
    if previous:
        before = find_previous_splits(dataset, groups, previous, keys)
    kept = [choose_kept_split(were) for were in before]
    sizes = {
        side: sum(n for n, old in zip(count, kept, strict=True) if old == side) for side in SPLITS
    }
    needed = {**wanted, "train": sum(count) - sum(wanted.values())}
    sides: list[SplitName] = []
    for n, old in zip(count, kept, strict=True):
        if old is not None:
            sides.append(old)
            continue
        open_sides = [side for side, size in wanted.items() if n and sizes[side] < size]
        short = [side for side in open_sides if sizes[side] + n <= most[side]]
        if previous:
            short += ["train"] if sizes["train"] < needed["train"] or not short else []
            short.sort(key=lambda side: sizes[side] / max(needed[side], 1))
        sides.append(next(iter(short), "train"))
        sizes[sides[-1]] += n
    # For each empty split, move the smallest new group of the training data into it.
    for side, size in wanted.items() if not keys else ():
        if size and not any(more for more, of in zip(count, sides, strict=True) if of == side):
            new = [at for at, were in enumerate(before) if not were]
            left = [at for at in new if count[at] and sides[at] == "train"]
            if left:
                sides[min(left, key=count.__getitem__)] = side
    return [
        AssignedBlock(tuple(rows), side, were)
        for rows, side, were in zip(groups, sides, before, strict=True)
    ]


def choose_kept_split(splits: Iterable[SplitName]) -> SplitName | None:
    """Return the split that a block keeps: the first of its previous splits in `SPLITS`, or None.

    >>> choose_kept_split(["test", "dev"]), choose_kept_split([])
    ('dev', None)
    """
    return min(splits, key=SPLITS.index, default=None)


def _is_same_problem(old: Problem, new: Problem) -> bool:
    if {option.lower() for option in old.options} == {option.lower() for option in new.options}:
        return True
    a, b = (Counter(split_pieces(problem.sentence.lower())) for problem in (old, new))
    return (a & b).total() >= MIN_OVERLAP * max(a.total(), b.total())


def _get_joining_keys(problem: Problem, keys: Sequence[Key]) -> Iterable[Hashable]:
    values = ((key, getattr(problem.origin, key, None)) for key in keys)
    return ((key, normalize_name(value)) for key, value in values if value is not None)
