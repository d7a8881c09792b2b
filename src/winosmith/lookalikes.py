"""Which of many sets of words share most of them: each pair, without comparing all with all.

Two that may lack few of each other's words share one of their rarest (a prefix filter: Chaudhuri,
Ganti and Kaushik 2006). So rows are gathered under their rarest words; those who share the first,
under the next ones; and so on, as long as that costs less than comparing those gathered: where it
has cost as much, they are compared. What a pair shares, rarest first, is the path on which it is
met. So words that all hold, such as those of a template, cost a step for each row and no comparison
of all with all.

Those that are compared differ in no more bits than they may in words, where each word sets a bit
(bitmap filter: Sandes, Teodoro and Melo 2020); these alone are counted word by word.
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
"""The sizes of two sets, to how many words both must hold."""

_DIRECT = 12
"""So few rows are compared at once."""

_CHEAPER = 4
"""So many comparisons take the time of gathering one row under one word."""

_AT_ONCE = 50_000
"""Comparisons that are held at once, and 16s of bits that are set at once."""

_BITS = 4
"""So many bits a word are set apart, on average."""

_ONES = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)


def of_longer(share: float) -> Least:
    """Return how many words both must have, as a fraction of the longer one's.

    >>> of_longer(0.7)(np.array([8, 10]), np.array([10, 11])).tolist()
    [7, 8]
    """
    return lambda one, other: np.ceil(share * np.maximum(one, other)).astype(np.int64)


def of_both(share: float) -> Least:
    """Return how many words both hold where that is the share of those that either holds (Jaccard).

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
    """What is asked of rows, and what has been found."""

    def settled(self, rows: Ints) -> bool:
        """Return whether no pair among the rows is wanted any more."""

    def wants(self, one: int, other: int) -> bool:
        """Return whether a pair is wanted, if it is alike."""

    def take(self, one: int, other: int) -> None:
        """Take a pair that is alike."""

    def take_of(self, rows: Sequence[int], others: Sequence[int]) -> None:
        """Take what is wanted of the rows next to others, which are all alike."""


class Partners:
    """Pairs of rows: each row's first few partners, so that a template's rows are not all told.

    A pair is omitted only where each of both has so many others.

    Args:
        wanted: (n,) how many partners each row asks for.
        owners: (n,) of each; only rows of different ones are paired. All with all when omitted.

    Attributes:
        pairs: what is found, the lesser row first.
    """

    def __init__(self, wanted: Ints, owners: Ints | None = None):
        self._left = wanted.copy()
        self._owners = owners
        self.pairs: set[tuple[int, int]] = set()

    def settled(self, rows: Ints) -> bool:
        """Return whether all rows have what they ask for."""
        return not (self._left[rows] > 0).any()

    def wants(self, one: int, other: int) -> bool:
        """Return whether one of both asks for more, and the pair is new."""
        asks = self._left[one] > 0 or self._left[other] > 0
        apart = self._owners is None or self._owners[one] != self._owners[other]
        return bool(asks and apart) and (min(one, other), max(one, other)) not in self.pairs

    def take(self, one: int, other: int) -> None:
        """Note a pair."""
        self.pairs.add((min(one, other), max(one, other)))
        self._left[[one, other]] -= 1

    def take_of(self, rows: Sequence[int], others: Sequence[int]) -> None:
        """Give each row, and each of the others, partners until it asks for no more."""
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
    tell: Callable[[int], object] = lambda _: None,
) -> None:
    """Find the pairs of rows that are alike and wanted.

    Every pair is met, whatever the order of rows, unless it is no longer wanted. Memory grows with
    the words, and so does the time, but where very many rows are nearly alike and not quite: at
    most twice what comparing all bits with all takes.

    Args:
        words: of each row, different ones. A row without any is like no other.
        least: how many words a pair shares: more for larger sets, all for equal ones at most.
        wanted: asks, and takes what is found.
        owners: (n,) of each row; pairs of one owner are never asked about.
        tell: is called now and then with the number of rows done, about.
    """
    if len(words) <= _DIRECT:
        for one, other in combinations(range(len(words)), 2):
            apart = owners is None or owners[one] != owners[other]
            if apart and wanted.wants(one, other) and _alike(words[one], words[other], least):
                wanted.take(one, other)
        return
    _Search(words, least, wanted, owners).run(tell)


def _alike(one: Collection[str], other: Collection[str], least: Least) -> bool:
    both = len({*one} & {*other})
    return 0 < both >= int(least(np.array([len(one)]), np.array([len(other)]))[0])


class _Node:
    """Rows that hold the words of a path.

    Attributes:
        rows: they, those of one owner side by side.
        at: the place after the path's last word in each row, rarest first.
        skipped: how many words before that are not on the path.
        path: its words.
        above: the node that it was parted from.
        worth: how many rows may be gathered under words in the time that comparing all rows takes.
        spent: how many have been, here and below.
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
    """Words as numbers, rarest first, and how many of them a row may lack."""

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
        # What a row may lack of a longer one, and of a shorter one: of the shortest that may be.
        self.few = self.sizes - least(self.sizes, self.sizes)
        most = np.zeros_like(self.sizes)
        for size in np.unique(self.sizes):
            shares = least(np.arange(1, size + 1), np.full(size, size))
            fits = shares <= np.arange(1, size + 1)
            most[self.sizes == size] = size - shares[fits].min() if fits.any() else -1
        self.most = most
        self.bits = self._bitmaps()

    def _bitmaps(self) -> NDArray[np.uint16]:
        """Return bits that each row's words set, (n, width)."""
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
        """Return a row's words, the rarest of them alone where an end is given."""
        start = int(self.starts[row])
        return set(
            self.words[start : start + int(self.sizes[row] if end is None else end)].tolist()
        )

    def run(self, tell: Callable[[int], object] = lambda _: None) -> None:
        """Find what is wanted, and tell of about how many rows it is done."""
        every = np.arange(len(self.sizes))
        if self.owners is not None:
            every = np.argsort(self.owners, kind="stable")
        none = np.zeros_like(every)
        left = [_Node(every, none, none, (), int(self._before(none, every).sum()))]
        gathered = done = 0
        while left:  # no recursion: a path may be as long as a passage
            node = left.pop()
            if len(node.path) == 1:  # a row may be under several first words
                tell(done * len(every) // max(1, gathered))
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
        """Return with how many from the start of its group each row is to be compared.

        Args:
            start: where the group of each begins, ascending.
            rows: those of one owner side by side in each group.
        """
        run = np.arange(len(rows))
        if self.owners is not None:
            new = np.diff(start, prepend=-1) != 0
            new[1:] |= np.diff(self.owners[rows]) != 0
            run = np.maximum.accumulate(np.where(new, run, 0))
        before: Ints = run - start
        return before

    def _parted(self, node: _Node) -> list[_Node]:
        """Compare a node's rows by the next word that they share, or return them as nodes."""
        if self.wanted.settled(node.rows) or self._elsewhere(node):
            return []
        if node.path:
            self._take_sure(node)
            if self.wanted.settled(node.rows):
                return []
        # Each row under each word that may be the next one.
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
        # Who share the word before as well, and it is not the path's last, are met under that one.
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
        """Return whether all rows hold a word that the path passes over: they are met with it."""
        path, common = {*node.path}, set[int]()
        for at, row in enumerate(node.rows.tolist()):
            own = self.held(row, int(node.at[at])) - path
            common = own if at == 0 else common & own
            if not common:
                return False
        return True

    def _take_sure(self, node: _Node) -> None:
        """Take the pairs that are alike by what the path holds alone."""
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
        """Compare rows with those before them, and take those that are alike.

        Args:
            rows: in groups.
            at: see `_Node`.
            start: where the group of each begins.
            before: with how many from there it is to be compared.
            depth: how many words those of a group are known to share.
            apart: numbers; rows with the same one need no comparison.
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
        """Compare rows by their sizes and places, then by their bits, then word by word."""
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
