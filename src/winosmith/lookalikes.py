"""Find all pairs of similar sets of words, without comparing each set with all others.

Two sets that share most of their words share one of their rarest words (a prefix filter: Chaudhuri,
Ganti and Kaushik 2006). Rows are therefore grouped by their rarest words, then each group by the
next words, and so on. When grouping has cost as much as comparing a group, the group is compared.
The words that a pair shares, rarest first, are the path to its group. Words that all rows have,
such as those of a template, thus cost one step per row instead of a comparison of all with all.

Each word sets a bit. Only rows that differ in few enough bits (bitmap filter: Sandes, Teodoro and
Melo 2020) are compared word by word.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

Least = Callable[[Ints, Ints], Ints]
"""Returns the number of words that two sets must share, from their sizes."""

_DIRECT = 12
"""Number of rows up to which all pairs are compared."""

_CHEAPER = 4
"""Number of comparisons that take as long as grouping one row by one word."""

_AT_ONCE = 50_000
"""Number of comparisons, and of 16-bit words, in memory at once."""

_BITS = 4
"""Average number of bits per word."""

_ONES = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)


def of_longer(share: float) -> Least:
    """Return the number of words to share as a fraction of the longer set.

    >>> of_longer(0.7)(np.array([8, 10]), np.array([10, 11])).tolist()
    [7, 8]
    """
    return lambda one, other: np.ceil(share * np.maximum(one, other)).astype(np.int64)


def of_both(share: float) -> Least:
    """Return the number of words to share as a fraction of the union (Jaccard).

    >>> of_both(0.8)(np.array([8, 9]), np.array([10, 9])).tolist()
    [8, 8]
    """

    def least(one: Ints, other: Ints) -> Ints:
        both = one + other
        found = (share / (1 + share) * both).astype(np.int64) - 1
        for _ in range(2):  # rounding errors apart, the next whole number is the least
            found = np.where(found < share * (both - found), found + 1, found)
        return found

    return least


class Wanted(Protocol):
    """The wanted pairs, and those that were found."""

    def settled(self, rows: Ints) -> bool:
        """Return whether no pair of the rows is wanted any more."""

    def wants(self, one: int, other: int) -> bool:
        """Return whether a pair is wanted if it is similar."""

    def take(self, one: int, other: int) -> None:
        """Add a similar pair."""

    def take_of(self, rows: Sequence[int], others: Sequence[int]) -> None:
        """Add the wanted pairs of rows and others, which are all similar."""


class Partners:
    """Pairs of rows: the first few partners of each row, not all rows of a template.

    A pair is omitted only if both rows have enough other partners.

    Args:
        wanted: (n,) number of partners of each row.
        owners: (n,) owner of each row; only rows of different owners are paired. All if omitted.

    Attributes:
        pairs: the pairs found, the lesser row first.
    """

    def __init__(self, wanted: Ints, owners: Ints | None = None):
        self._left = wanted.copy()
        self._owners = owners
        self.pairs: set[tuple[int, int]] = set()

    def settled(self, rows: Ints) -> bool:
        """Return whether all rows have enough partners."""
        return not (self._left[rows] > 0).any()

    def wants(self, one: int, other: int) -> bool:
        """Return whether one of the rows needs partners, and the pair is new."""
        asks = self._left[one] > 0 or self._left[other] > 0
        apart = self._owners is None or self._owners[one] != self._owners[other]
        return bool(asks and apart) and (min(one, other), max(one, other)) not in self.pairs

    def take(self, one: int, other: int) -> None:
        """Add a pair."""
        self.pairs.add((min(one, other), max(one, other)))
        self._left[[one, other]] -= 1

    def take_of(self, rows: Sequence[int], others: Sequence[int]) -> None:
        """Give each row, and each of the others, partners until it has enough."""
        for these, those in ((rows, others), (others, rows)):
            held: dict[int | None, list[int]] = {}
            for row in those:
                held.setdefault(self._owner(row), []).append(row)
            for row in these:
                own = self._owner(row)
                for owner, partners in held.items():
                    if owner is None or owner != own:
                        self._pair(row, partners)

    def _owner(self, row: int) -> int | None:
        return None if self._owners is None else int(self._owners[row])

    def _pair(self, row: int, partners: Sequence[int]) -> None:
        for partner in partners:
            if self._left[row] <= 0:
                return
            if partner != row and self.wants(row, partner):
                self.take(row, partner)


def find(
    words: Sequence[Collection[str]],
    least: Least,
    wanted: Wanted,
    owners: Ints | None = None,
    on_progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Find the wanted pairs of similar rows.

    It finds every pair, whatever the order of rows, until it is no longer wanted. Memory and time
    are linear in the words, except for very many rows that are almost similar enough: then the time
    is at most twice that of comparing the bits of all pairs.

    Args:
        words: the distinct words of each row. A row without words is similar to no other.
        least: the number of words that a pair shares; it grows with the sets, up to all words.
        wanted: selects pairs, and receives those that are found.
        owners: (n,) owner of each row; pairs of one owner are not wanted.
        on_progress: called at times with the approximate number of finished rows.
    """
    if len(words) <= _DIRECT:
        for one, other in combinations(range(len(words)), 2):
            apart = owners is None or owners[one] != owners[other]
            if apart and wanted.wants(one, other) and _alike(words[one], words[other], least):
                wanted.take(one, other)
        return
    _Search(words, least, wanted, owners).run(on_progress)


def _alike(one: Collection[str], other: Collection[str], least: Least) -> bool:
    both = len({*one} & {*other})
    return 0 < both >= int(least(np.array([len(one)]), np.array([len(other)]))[0])


class _Node:
    """A group of rows that contain the words of a path.

    Attributes:
        rows: sorted by owner.
        at: the position after the path's last word in each row, rarest first.
        skipped: the number of words before it that are not on the path.
        path: the words.
        above: the parent node.
        worth: the number of groupings that take as long as comparing all rows.
        spent: the number of groupings so far, here and below.
    """

    __slots__ = ("above", "at", "path", "rows", "skipped", "spent", "worth")

    def __init__(
        self, rows: Ints, at: Ints, skipped: Ints, path: tuple[int, ...], pairs: int,
        above: _Node | None = None,
    ):  # fmt: skip
        self.rows, self.at, self.skipped, self.path, self.above = rows, at, skipped, path, above
        self.worth, self.spent = pairs / _CHEAPER, 0

    def lineage(self) -> Iterator[_Node]:
        """Yield the node and those above it."""
        node: _Node | None = self
        while node is not None:
            yield node
            node = node.above


class _Search:
    """Words as numbers, rarest first, and the number of them that a row may lack."""

    def __init__(
        self, words: Sequence[Collection[str]], least: Least, wanted: Wanted, owners: Ints | None
    ):
        counts = Counter(word for held in words for word in held)
        rarest = sorted(counts, key=lambda word: (counts[word], word))
        number = {word: at for at, word in enumerate(rarest)}
        held = array("i")
        for own in words:
            held.extend(sorted(map(number.__getitem__, own)))
        self.words: NDArray[np.int32] = np.frombuffer(held, np.int32)
        self.sizes = np.array([len(own) for own in words])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.least: Least = lambda one, other: np.maximum(least(one, other), 1)
        self.wanted, self.owners = wanted, owners
        # The number of words that a row may lack of a longer row, and of the shortest similar one.
        self.few = self.sizes - least(self.sizes, self.sizes)
        most = np.zeros_like(self.sizes)
        for size in np.unique(self.sizes):
            shares = least(np.arange(1, size + 1), np.full(size, size))
            fits = shares <= np.arange(1, size + 1)
            most[self.sizes == size] = size - shares[fits].min() if fits.any() else -1
        self.most = most
        self.bits = self._bitmaps()

    def _bitmaps(self) -> NDArray[np.uint16]:
        """Return the bits of each row's words, (n, width)."""
        width = max(1, min(128, int(np.ceil(_BITS * self.sizes.mean() / 16))))
        bits = np.zeros((len(self.sizes), width), np.uint16)
        few = _AT_ONCE // width
        for first in range(0, len(bits), few):
            sizes, start = self.sizes[first : first + few], int(self.starts[first])
            words = self.words[start : start + int(sizes.sum())].astype(np.uint64)
            spread = words * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
            at = (spread % np.uint64(16 * width)).astype(np.int64)
            row = np.repeat(np.arange(first, first + len(sizes)), sizes)
            np.bitwise_or.at(bits, (row, at // 16), np.left_shift(1, at % 16).astype(np.uint16))
        return bits

    def held(self, row: int, end: int | None = None) -> set[int]:
        """Return a row's words, or with `end` only this many of the rarest."""
        start = int(self.starts[row])
        return set(
            self.words[start : start + int(self.sizes[row] if end is None else end)].tolist()
        )

    def run(self, on_progress: Callable[[int], object] = lambda _: None) -> None:
        """Find the wanted pairs, and report the approximate number of finished rows."""
        every = np.arange(len(self.sizes))
        if self.owners is not None:
            every = np.argsort(self.owners, kind="stable")
        none = np.zeros_like(every)
        left = [_Node(every, none, none, (), int(self._before(none, every).sum()))]
        gathered = done = 0
        while left:  # no recursion: a path may be as long as a passage
            node = left.pop()
            if len(node.path) == 1:  # a row may be under several first words
                on_progress(done * len(every) // max(1, gathered))
                done += len(node.rows)
            if any(above.spent > above.worth for above in node.lineage()):
                continue  # has been compared
            parts = self._parted(node)
            gathered += 0 if node.path else sum(len(part.rows) for part in parts)
            left += parts
            tired = [above for above in node.lineage() if above.spent > above.worth]
            if tired:
                top = tired[-1]
                none = np.zeros_like(top.rows)
                before = self._before(none, top.rows)
                self._compare(
                    top.rows, top.at, none, before, len(top.path), np.arange(len(top.rows))
                )

    def _before(self, start: Ints, rows: Ints) -> Ints:
        """Return the number of rows, from the start of its group, to compare each row with.

        Args:
            start: the start of each row's group, ascending.
            rows: sorted by owner in each group.
        """
        run = np.arange(len(rows))
        if self.owners is not None:
            new = np.diff(start, prepend=-1) != 0
            new[1:] |= np.diff(self.owners[rows]) != 0
            run = np.maximum.accumulate(np.where(new, run, 0))
        before: Ints = run - start
        return before

    def _parted(self, node: _Node) -> list[_Node]:
        """Compare a node's rows that share the next word, or return them as nodes."""
        if self.wanted.settled(node.rows) or self._elsewhere(node):
            return []
        if node.path:
            self._take_sure(node)
            if self.wanted.settled(node.rows):
                return []
        # Each row in the group of each possible next word.
        left = self.most[node.rows] - node.skipped
        reach = np.clip(np.minimum(left, self.sizes[node.rows] - node.at - 1) + 1, 0, None)
        each = np.repeat(np.arange(len(reach)), reach)
        if not len(each):
            return []
        step = np.arange(len(each)) - np.repeat(np.cumsum(reach) - reach, reach)
        at = node.at[each] + step
        word = self.words[self.starts[node.rows[each]] + at]
        order = np.argsort(word, kind="stable")
        word, rows, at = word[order], node.rows[each[order]], at[order] + 1
        skipped = (node.skipped[each] + step)[order]
        first = np.flatnonzero(np.diff(word, prepend=-1))
        sizes = np.diff(first, append=len(word))
        start = np.repeat(first, sizes)
        before = self._before(start, rows)
        pairs = np.add.reduceat(before, first)
        there = (pairs > 0) & (np.maximum.reduceat(self.few[rows] - skipped, first) >= 0)
        room = np.maximum(self.most[rows] - skipped, 0) + 1
        direct = pairs <= _CHEAPER * np.add.reduceat(room, first)
        before[~np.repeat(there & direct, sizes)] = 0
        for above in node.lineage():
            above.spent += len(word) + int(before.sum()) // _CHEAPER
        if node.spent > node.worth:
            return []
        # Rows that also share the previous word, if it is not on the path, meet in its group.
        last = self.words[self.starts[rows] + np.maximum(at - 2, 0)].astype(np.int64)
        alone = (at < 2) | (last == (node.path[-1] if node.path else -1))
        last[alone] = -1 - np.flatnonzero(alone)
        self._compare(rows, at, start, before, len(node.path) + 1, last)
        parts = [slice(first[at], first[at] + sizes[at]) for at in np.flatnonzero(there & ~direct)]
        return [
            _Node(
                rows[part], at[part], skipped[part], (*node.path, int(word[part.start])),
                int(before_of), node,
            )
            for part, before_of in zip(parts, pairs[there & ~direct], strict=True)
        ][::-1]  # fmt: skip

    def _elsewhere(self, node: _Node) -> bool:
        """Return whether all rows contain a word that the path skips: they meet in its group."""
        path, common = {*node.path}, set[int]()
        for at, row in enumerate(node.rows.tolist()):
            own = self.held(row, int(node.at[at])) - path
            common = own if at == 0 else common & own
            if not common:
                return False
        return True

    def _take_sure(self, node: _Node) -> None:
        """Add the pairs for which the path's words are enough."""
        sizes, depth = self.sizes[node.rows], len(node.path)
        for size in np.unique(sizes):
            near = (sizes <= size) & (self.least(sizes, np.full_like(sizes, size)) <= depth)
            if not near.any():
                return
            own = node.rows[sizes == size]
            self.wanted.take_of(own.tolist(), node.rows[near].tolist())

    def _compare(
        self, rows: Ints, at: Ints, start: Ints, before: Ints, depth: int, apart: Ints
    ) -> None:
        """Compare rows with those before them, and add the similar pairs.

        Args:
            rows: in groups.
            at: see `_Node`.
            start: the start of each row's group.
            before: the number of rows from there to compare with.
            depth: the number of words that a group is known to share.
            apart: numbers; rows with the same number need no comparison.
        """
        later = np.flatnonzero(before)
        ends = np.cumsum(before[later])
        done = 0
        while done < len(later):
            base = int(ends[done - 1]) if done else 0
            until = max(done + 1, int(np.searchsorted(ends, base + _AT_ONCE, side="right")))
            here = later[done:until]
            done = until
            first, end = int(start[here[0]]), int(here[-1]) + 1
            if self.wanted.settled(rows[first:end]):
                continue
            count = before[here]
            one = np.repeat(here, count)
            step = np.arange(len(one)) - np.repeat(np.cumsum(count) - count, count)
            other = np.repeat(start[here], count) + step
            new = apart[one] != apart[other]
            self._compare_pairs(rows, at, one[new], other[new], depth)

    def _compare_pairs(self, rows: Ints, at: Ints, one: Ints, other: Ints, depth: int) -> None:
        """Compare rows by their sizes and positions, then by bits, then word by word."""
        left = self.sizes[rows] - at
        mine, theirs = self.sizes[rows[one]], self.sizes[rows[other]]
        least = self.least(mine, theirs)
        may = depth + np.minimum(left[one], left[other]) >= least
        one, other = rows[one[may]], rows[other[may]]
        least, both = least[may], (mine + theirs)[may]
        differ = _ONES[self.bits[one] ^ self.bits[other]].sum(axis=1, dtype=np.int64)
        may = differ <= both - 2 * least
        pairs = zip(one[may].tolist(), other[may].tolist(), least[may].tolist(), strict=True)
        held: dict[int, set[int]] = {}
        for row, earlier, needed in pairs:
            if not self.wanted.wants(row, earlier):
                continue
            for number in (row, earlier):
                if number not in held:
                    held[number] = self.held(number)
            if len(held[row] & held[earlier]) >= needed:
                self.wanted.take(row, earlier)
