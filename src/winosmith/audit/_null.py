"""The null of the cues: exact means and standard deviations of their scores, and random draws.

In a data set without artifacts, the keys are assigned at random, and the items of a unit get their
keys together (`Items`). There are two such nulls:

- for content cues, the keys' positions are permuted among units with the same number of options
  (`PermutedKeys`), so the number of keys at each position stays the same. If options are sorted by
  length and many keys are first, only the position cue is flagged, not the length cue;
- for position cues, each unit's key is drawn uniformly from its options (`UniformKeys`).

Both nulls can keep the scores of some cues in every unit: then a key moves only to positions at
which these cues have the same score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from winosmith.audit._cues import Ties
from winosmith.audit._items import TIE_SHARES, Bools, Floats, Ints, Items

_UNITS, _KEYS, _TABLE = 2048, 200_000_000, 65_536
"""Maximum numbers of units, drawn keys and position rows held in memory at the same time."""

_MAX_EXACT_INTEGER = 2**24
"""Integers below this number are exact in single precision."""

_TIE_TOLERANCE = 1e-9
"""Scores of a unit that differ by less than this are treated as equal."""

_CANCELLED, _ROUNDED = 1e-10, 1e-16
"""A variance below the first value times the subtracted terms, or below the second value in items²,
is treated as a rounding error."""


def find_positions(items: Items, ties: Ties) -> Bools:
    """Find the positions to which keys can move without changing the given cues' scores.

    `ties` are the selections of these cues, (options, cues), from `Items.count_ties`. The result
    has the shape (units, most options).
    """
    possible: Bools = np.arange(int(items.counts.max())) < items.unit_counts[:, None]
    if ties.shape[1]:
        scores = items.compute_unit_scores(ties)
        own = scores[np.arange(len(scores)), items.unit_key][:, None]
        possible &= (abs(scores - own) <= _TIE_TOLERANCE).all(axis=2)
    return possible


def score_actual_keys(items: Items, ties: Ties) -> Floats:
    """Return each column's score with the actual keys, (columns,), as a number of items."""
    parts = _compute_common_denominator(items)
    scores = np.rint(TIE_SHARES[ties[items.find_correct_options(items.unit_key)]] * parts).sum(
        axis=0
    )
    return np.asarray(scores / parts)


def permute_keys(items: Items, draws: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the keys of units, permuted among units with the same number of options."""
    counts = items.unit_counts
    groups = [np.flatnonzero(counts == count) for count in np.unique(counts)]
    key = items.unit_key.copy()
    for _ in range(draws):
        for group in groups:
            key[group] = key[rng.permutation(group)]
        yield key


class PermutedKeys:
    """The scores of cues if the positions of keys are permuted within strata of units.

    The units of a stratum have the same number of options and the same possible positions of the
    key. The score of a cue is then a sum over a random permutation, so its mean and variance are
    known exactly. Let a(u, k) be the score of unit u if its key is at position k, and d(u, k) =
    a(u, k) - a(u, ·) - a(·, k) + a(·, ·), where dots stand for means over the stratum with its n
    keys. The variance is the sum of d² over all units and keys of the stratum, divided by n - 1.
    See Hoeffding (1951), "A combinatorial central limit theorem", theorem 2.

    Attributes:
        mean: (columns,) mean of the scores, in items.
        spread: (columns,) standard deviation of the scores, or 0 if no permutation changes them.
    """

    def __init__(self, items: Items, ties: Ties, possible: Bools, seed: list[int]):
        self._items, self._ties, self._parts = items, ties, _compute_common_denominator(items)
        codes = possible @ (1 << np.arange(possible.shape[1], dtype=np.int64))
        kinds = np.column_stack([items.unit_counts, codes])
        self._stratum = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
        self._key = items.unit_key.astype(np.uint8)
        order = np.argsort(self._stratum, kind="stable")
        self._strata = np.split(order, np.flatnonzero(np.diff(self._stratum[order])) + 1)
        self._rngs = [
            (units, np.random.default_rng([*seed, at]))
            for at, units in enumerate(self._strata)
            if len(np.unique(self._key[units])) > 1
        ]
        sizes = np.array([len(units) for units in self._strata])
        most = int(items.counts.max())
        weight = np.zeros((len(sizes), most))
        np.add.at(weight, (self._stratum, self._key), 1.0)
        weight /= sizes[:, None]
        factor = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0.0)
        columns = ties.shape[1]
        mean, square = np.zeros(columns), np.zeros(columns)
        at_position = np.zeros((len(sizes), most, columns))
        for here, table in self._iter_score_tables():
            stratum = self._stratum[here]
            of_key = weight[stratum][:, :, None]
            own = (of_key * table).sum(axis=1)
            off = (of_key * (table - own[:, None]) ** 2).sum(axis=1)
            mean += own.sum(axis=0)
            square += factor[stratum] @ off
            for one in np.unique(stratum):
                at_position[one] += table[stratum == one].sum(axis=0)
        at_position /= sizes[:, None, None]
        off = at_position - (weight[:, :, None] * at_position).sum(axis=1, keepdims=True)
        of_positions = (sizes * factor) @ (weight[:, :, None] * off**2).sum(axis=1)
        self.mean: Floats = mean / self._parts
        self.spread = _compute_deviations(square - of_positions, square, self._parts)

    def _iter_score_tables(self) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of units, with the scores of the units for each position of the key.

        Scores are multiplied by their common denominator, so that their sums are exact in any
        order.
        """
        for first in range(0, len(self._key), _UNITS):
            here = slice(first, first + _UNITS)
            yield here, np.rint(self._items.compute_unit_scores(self._ties, here) * self._parts)

    def draw_scores(self, draws: int) -> Floats:
        """Return the scores in the next draws, (draws, columns), as numbers of items."""
        scores = np.zeros((draws, self._ties.shape[1]))
        at_once = max(1, min(draws, _KEYS // len(self._key)))
        for done in range(0, draws, at_once):
            own = scores[done : done + at_once]
            keys = np.tile(self._key, (len(own), 1))
            for units, rng in self._rngs:
                dealt = np.tile(self._key[units], (len(own), 1))
                rng.permuted(dealt, axis=1, out=dealt)
                if len(self._strata) == 1:
                    keys = dealt
                else:
                    keys[:, units] = dealt
            for here, table in self._iter_score_tables():
                own += table[:, 0].sum(axis=0)
                for position in range(1, table.shape[1]):
                    more = table[:, position] - table[:, 0]
                    small = abs(more).sum(axis=0).max(initial=0) < _MAX_EXACT_INTEGER
                    dtype = np.float32 if small else np.float64
                    own += (keys[:, here] == position).astype(dtype) @ more.astype(dtype)
        return np.asarray(scores / self._parts)


class UniformKeys:
    """The scores of position cues if each unit's key is drawn uniformly from possible positions.

    Scores are sums of independent terms, so their means and variances are the sums of the terms'
    means and variances. The keys of units with the same scores are drawn together from a
    multinomial distribution.

    Attributes:
        mean: (columns,) mean of the scores, in items.
        spread: (columns,) standard deviation of the scores, or 0 if no draw changes them.
    """

    def __init__(self, items: Items, ties: Ties, possible: Bools, seed: list[int]):
        self._parts = _compute_common_denominator(items)
        found: list[Ints] = []
        for first in range(0, len(possible), _TABLE):
            here = slice(first, first + _TABLE)
            table = np.rint(items.compute_unit_scores(ties, here) * self._parts).astype(np.int64)
            rows = np.column_stack([possible[here], table.reshape(len(table), -1)])
            found.append(np.column_stack(np.unique(rows, axis=0, return_counts=True)[::-1]))
        together = np.concatenate(found)
        kinds, at = np.unique(together[:, 1:], axis=0, return_inverse=True)
        self._times = np.bincount(at.reshape(-1), together[:, 0]).astype(np.int64)
        most = possible.shape[1]
        self._chances = kinds[:, :most] / kinds[:, :most].sum(axis=1, keepdims=True)
        self._scores = kinds[:, most:].reshape(len(kinds), most, -1).astype(float)
        self._rngs = [np.random.default_rng([*seed, at]) for at in range(len(kinds))]
        own = (self._chances[:, :, None] * self._scores).sum(axis=1)
        off = (self._chances[:, :, None] * (self._scores - own[:, None]) ** 2).sum(axis=1)
        self.mean: Floats = self._times @ own / self._parts
        self.spread = _compute_deviations(self._times @ off, np.zeros(off.shape[1]), self._parts)

    def draw_scores(self, draws: int) -> Floats:
        """Return the scores in the next draws, (draws, columns), as numbers of items."""
        scores = np.zeros((draws, self._scores.shape[2]))
        for times, chances, own, rng in zip(
            self._times, self._chances, self._scores, self._rngs, strict=True
        ):
            scores += rng.multinomial(times, chances, size=draws) @ own
        return np.asarray(scores / self._parts)


def _compute_common_denominator(items: Items) -> int:
    return math.lcm(*range(1, int(items.counts.max()) + 1))


def _compute_deviations(variance: Floats, subtracted: Floats, parts: int) -> Floats:
    """Convert variances to standard deviations in items.

    The variances are those of scores that were multiplied by `parts`.
    """
    least = _CANCELLED * subtracted + _ROUNDED * float(parts) ** 2
    return np.asarray(np.sqrt(np.where(variance > least, variance, 0.0)) / parts)
