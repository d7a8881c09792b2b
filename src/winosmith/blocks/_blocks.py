"""Blocks: problems that may not be parted, and their shuffled order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations, islice, product

from winosmith.blocks._copies import same_text
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.text import pieces

__all__ = ["ALIKE", "blocks", "draw", "joined", "shuffled", "shuffled_blocks"]

ALIKE = 0.7
"""The share of words that the halves of a twin have in common at least (WinoGrande, section 2)."""


def blocks(dataset: Dataset) -> list[list[int]]:
    """Return the rows that may not be parted, in an order that tells nothing of the answers.

    Two problems share a block when they share a twin or a family; when their sentences have the
    same tokens, whatever their case; or when they look like a twin whose id got lost, with the
    same options and 70 % of their words in common. And so on, from neighbour to neighbour.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> [sorted(block) for block in blocks(Dataset([*pair, Problem("c", "b _ C.", ("x", "z"))]))]
    [[0, 1, 2]]
    """  # noqa: E501
    forest = _Forest(len(dataset))
    first: dict[tuple[str, str], int] = {}
    for rows in same_text(dataset):
        for row in rows:
            forest.join(row, rows[0])
    for row, problem in enumerate(dataset):
        for key in _ties(problem):
            forest.join(row, first.setdefault(key, row))
    for one, other in _lookalikes(dataset, forest.root):
        forest.join(one, other)
    return forest.trees()


class _Forest:
    """Numbers from 0, each alone at first; joined, they and all that are with them are one tree."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def root(self, number: int) -> int:
        """Return the least number of a number's tree."""
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Make one tree of two."""
        one, other = self.root(one), self.root(other)
        self._parent[max(one, other)] = min(one, other)

    def trees(self) -> list[list[int]]:
        """Return the numbers of each tree, ascending; trees by their least number."""
        together: dict[int, list[int]] = {}
        for number in range(len(self._parent)):
            together.setdefault(self.root(number), []).append(number)
        return list(together.values())


def _ties(problem: Problem) -> Iterable[tuple[str, str]]:
    if problem.twin_id is not None:
        yield "twin", problem.twin_id
    yield "family", problem.root


_Told = tuple[int, frozenset[str]]
"""A row, and its words in lower case, each occurrence of one another."""


def _lookalikes(dataset: Dataset, block: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows with the same options and 70 % of their words in common.

    One pair is enough to join two blocks, and none is needed within a block: a large family, whose
    options are the same all over, is not compared with itself.
    """
    alike: dict[frozenset[str], dict[int, list[_Told]]] = {}
    for row, problem in enumerate(dataset):
        options = frozenset(option.lower() for option in problem.options)
        of_block = alike.setdefault(options, {}).setdefault(block(row), [])
        of_block.append((row, _told_apart(pieces(problem.sentence.lower()))))
    for bucket in alike.values():
        for some, others in combinations(bucket.values(), 2):
            pairs = product(some, others)
            yield from islice(((a[0], b[0]) for a, b in pairs if _look_alike(a[1], b[1])), 1)


def _told_apart(words: Sequence[str]) -> frozenset[str]:
    """Return the words, the second "the" as another one: what two have in common is a set, too."""
    counted = Counter(words)
    again = (f"{word} {at}" for word, n in counted.items() if n > 1 for at in range(2, n + 1))
    return frozenset(counted).union(again)


def _look_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    least = ALIKE * max(len(one), len(other))
    return min(len(one), len(other)) >= least and len(one & other) >= least


def _place(problem: Problem, seed: int) -> tuple[bytes, bytes]:
    """Return a problem's place in the shuffled order: a digest of what a solver may see.

    The order of the input may follow the answers (right option first, say), and the seed is
    published; so neither the input's order nor its ids nor its answers may enter, nor which option
    is written first. Only between copies to the letter does a digest of the id decide, since
    nothing else tells them apart.
    """
    seen = "\0".join((str(seed), problem.sentence, *sorted(problem.options)))
    return hashlib.sha256(seen.encode()).digest(), hashlib.sha256(problem.id.encode()).digest()


def shuffled_blocks(dataset: Dataset, seed: int) -> list[list[int]]:
    """Return the blocks, and the rows in each, in the shuffled order."""
    places = [_place(problem, seed) for problem in dataset]
    shuffled = [sorted(block, key=places.__getitem__) for block in blocks(dataset)]
    return sorted(shuffled, key=lambda block: places[block[0]])


def shuffled(dataset: Dataset, seed: int) -> tuple[Dataset, list[list[int]]]:
    """Return the problems in the shuffled order, and the blocks that their rows form.

    Everything after depends on this order alone, not on that of the input.
    """
    order = shuffled_blocks(dataset, seed)
    blocks_of_new, start = [], 0
    for block in order:
        blocks_of_new.append(list(range(start, start + len(block))))
        start += len(block)
    return dataset.select(row for block in order for row in block), blocks_of_new


def joined(order: Sequence[Sequence[int]], keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the blocks, those together in which a key occurs that another one holds, too.

    So that no contributor, or no source, is on two sides of a split. The order stays that of the
    first block of each.

    Args:
        order: blocks.
        keys: those of each row; a row without any goes together with nothing.

    >>> joined([[0, 1], [2], [3], [4]], [["ann"], ["ann"], ["bob"], ["ann"], []])
    [[0, 1, 3], [2], [4]]
    """
    forest, holder = _Forest(len(order)), dict[Hashable, int]()
    for number, rows in enumerate(order):
        for row in rows:
            for key in keys[row]:
                forest.join(number, holder.setdefault(key, number))
    return [[row for number in tree for row in order[number]] for tree in forest.trees()]


def draw(
    order: Sequence[Sequence[int]], rows: Iterable[int], sizes: Sequence[int]
) -> list[list[int]]:
    """Draw sets of rows in whole blocks, from the end of the shuffled order.

    Args:
        order: the shuffled blocks.
        rows: what may be drawn; a block without any is passed over.
        sizes: how many rows each set needs; the last block may exceed it.

    Raises:
        DataError: there are too few rows.
    """
    allowed = set(rows)
    if sum(sizes) >= len(allowed):
        raise DataError(
            f"{sum(sizes)} problems are to be drawn from {len(allowed)}; nothing would be left"
        )
    drawn: list[list[int]] = [[] for _ in sizes]
    parts = iter(zip(drawn, sizes, strict=True))
    part, size = next(parts)
    for block in reversed(order):
        while len(part) >= size:
            following = next(parts, None)
            if following is None:
                return drawn
            part, size = following
        part += [row for row in block if row in allowed]
    return drawn
