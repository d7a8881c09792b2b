"""Find all pairs of similar sets of words, without comparing each set with all others.

Two sets that share most of their words share at least one of their rarest words (a prefix filter:
Chaudhuri, Ganti and Kaushik 2006). A product of sparse matrices therefore finds the candidates, and
a second product counts their common words. If there are many rows, each is first compared with its
neighbours in alphabetical order, which include enough similar rows if rows come from a template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import chain, combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MinShared = Callable[[Ints, Ints], Ints]
"""A function that returns the number of words that two sets must share, given their sizes."""

_MAX_ROWS_FOR_ALL_PAIRS = 12

_MIN_ROWS_FOR_NEIGHBOURS = 1000
"""Number of rows above which neighbours are compared first."""

_WORDS_PER_PREFIX_WORD = 16
"""A row's prefix has one more word per 16 words, so that similar rows share more prefix words."""

_NEIGHBOURS = 20
"""Number of neighbours on each side with which a row is compared."""

_WORDS_PER_STEP = 200_000
"""Number of shared rare words that are counted in one step."""


def make_longer_set_threshold(fraction: float) -> MinShared:
    """Return a function for the minimum number of shared words: a fraction of the longer set.

    >>> make_longer_set_threshold(0.7)(np.array([8, 10]), np.array([10, 11])).tolist()
    [7, 8]
    """
    return lambda first, second: np.ceil(fraction * np.maximum(first, second)).astype(np.int64)


def make_jaccard_threshold(fraction: float) -> MinShared:
    """Return a function for the minimum number of shared words, given a minimum Jaccard index.

    >>> make_jaccard_threshold(0.8)(np.array([8, 9]), np.array([10, 9])).tolist()
    [8, 8]
    """

    def min_shared(first: Ints, second: Ints) -> Ints:
        both = first + second
        found = (fraction / (1 + fraction) * both).astype(np.int64) - 1
        for _ in range(2):  # corrects rounding errors
            found = np.where(found < fraction * (both - found), found + 1, found)
        return found

    return min_shared


class PairCollector(Protocol):
    """A collector of similar pairs that also decides which pairs are needed."""

    def select_pending(self, rows: Ints) -> Ints:
        """Return the given rows that need more pairs."""

    def needs_pair(self, first: int, second: int) -> bool:
        """Return whether a pair of rows should be collected if it is similar."""

    def add(self, first: int, second: int) -> None:
        """Add a similar pair of rows."""


class PartnerCollector:
    """A collector of a limited number of similar partners for each row.

    A pair is omitted only if both rows have enough other partners.

    Args:
        wanted: number of partners for each row, shape (n,).
        owners: owner of each row, shape (n,); pairs need different owners. None allows all pairs.
        fits: returns whether two similar rows are partners.

    Attributes:
        pairs: the pairs found, with the smaller row number first.
    """

    def __init__(
        self, wanted: Ints, owners: Ints | None = None,
        fits: Callable[[int, int], bool] = lambda *_: True,
    ):  # fmt: skip
        self._left = wanted.copy()
        self._owners, self._fits = owners, fits
        self.pairs: set[tuple[int, int]] = set()

    def select_pending(self, rows: Ints) -> Ints:
        return rows[self._left[rows] > 0]

    def needs_pair(self, first: int, second: int) -> bool:
        asks = self._left[first] > 0 or self._left[second] > 0
        apart = self._owners is None or self._owners[first] != self._owners[second]
        return bool(asks and apart) and (min(first, second), max(first, second)) not in self.pairs

    def add(self, first: int, second: int) -> None:
        if self._fits(first, second):
            self.pairs.add((min(first, second), max(first, second)))
            self._left[[first, second]] -= 1


def find_pairs(
    words: Sequence[Collection[str]],
    min_shared: MinShared,
    collector: PairCollector,
    owners: Ints | None = None,
    on_progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Find the pairs of similar rows that a collector needs, and add them to the collector.

    Every needed pair is found, regardless of the order of rows. Memory is linear in the number of
    words, and so is the time, unless very many dissimilar rows share rare words.

    Args:
        words: the distinct words of each row. A row without words is not similar to any other.
        min_shared: returns how many words two rows must share; this number grows with their sizes.
        collector: selects the pairs, and collects the similar ones.
        owners: owner of each row, shape (n,); rows with the same owner are not paired.
        on_progress: called repeatedly with the approximate number of finished rows.
    """
    if len(words) <= _MAX_ROWS_FOR_ALL_PAIRS:
        for row, later in combinations(range(len(words)), 2):
            apart, pair = owners is None or owners[row] != owners[later], (words[row], words[later])
            if apart and collector.needs_pair(row, later) and _are_similar(*pair, min_shared):
                collector.add(row, later)
        return
    from scipy import sparse  # here, so that commands that import blocks start fast

    counts = Counter(word for held in words for word in held)
    number = {word: at for at, word in enumerate(sorted(counts, key=lambda w: (counts[w], w)))}
    rows = [sorted(map(number.__getitem__, held)) for held in words]
    sizes = np.array([len(row) for row in rows])
    shape = (len(rows), len(number) + 1)

    def build_matrix(lengths: Ints) -> Any:
        held = [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]
        at = np.fromiter(chain.from_iterable(held), np.int64, int(lengths.sum()))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_array((np.ones(len(at), np.int32), at, starts), shape)

    lengths = _compute_prefix_lengths(sizes, min_shared)
    every, rarest = build_matrix(sizes), build_matrix(lengths)
    ends = (row[length - 1] if row else -1 for row, length in zip(rows, lengths, strict=True))
    last = np.fromiter(ends, np.int64, len(rows))

    def add_similar(first: Ints, second: Ints, max_shared: Ints) -> None:
        """Add the similar pairs among pairs that share at most `max_shared` words."""
        needed = np.maximum(min_shared(sizes[first], sizes[second]), 1)
        fits = (needed <= max_shared) & (first != second)
        if owners is not None:
            fits &= owners[first] != owners[second]
        first, second, needed = first[fits], second[fits], needed[fits]
        similar = every[first].multiply(every[second]).sum(axis=1) >= needed
        for pair in zip(first[similar].tolist(), second[similar].tolist(), strict=True):
            if collector.needs_pair(*pair):
                collector.add(*pair)

    by_words = np.array(sorted(range(len(rows)), key=lambda row: rows[row][::-1]))
    for step in range(1, _NEIGHBOURS + 1) if len(rows) > _MIN_ROWS_FOR_NEIGHBOURS else ():
        one, other = by_words[:-step], by_words[step:]
        add_similar(one, other, np.minimum(sizes[one], sizes[other]))
    holders = sparse.csr_array(rarest.T)
    cost, done = rarest @ holders.sum(axis=1), 0
    while len(left := collector.select_pending(np.arange(done, len(rows)))):
        on_progress(done)
        part = left[: max(1, int(np.searchsorted(np.cumsum(cost[left]), _WORDS_PER_STEP, "right")))]
        shared = (rarest[part] @ holders).tocoo()
        one, other = part[shared.row], shared.col
        # Beyond its rarest words, the row whose list ends first can share only its other words.
        first = np.where(last[one] <= last[other], one, other)
        most = shared.data + sizes[first] - lengths[first]
        add_similar(one, other, np.minimum(most, np.minimum(sizes[one], sizes[other])))
        done = int(part[-1]) + 1


def _compute_prefix_lengths(sizes: Ints, min_shared: MinShared) -> Ints:
    """Return the length of each row's prefix, so that prefixes of similar rows share a word."""
    lengths = np.zeros_like(sizes)
    for size in np.unique(sizes[sizes > 0]):
        others = np.arange(1, size + 1)
        shares = np.maximum(min_shared(others, np.full(size, size)), 1)
        lengths[sizes == size] = min(
            size, size - shares[shares <= others].min() + 1 + size // _WORDS_PER_PREFIX_WORD
        )
    return lengths


def _are_similar(first: Collection[str], second: Collection[str], min_shared: MinShared) -> bool:
    both = len({*first} & {*second})
    return 0 < both >= int(min_shared(np.array([len(first)]), np.array([len(second)]))[0])
