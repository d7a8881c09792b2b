"""Score all cues, compare the scores with their null, and flag the significant cues.

In a data set without artifacts, the keys are assigned at random, and the items of a unit get their
keys together (`Items`). There are two such nulls, with exact means and standard deviations:

- for content cues, the keys' positions are permuted among units with the same number of options
  (`PermutedKeys`), so the number of keys at each position stays the same. If options are sorted by
  length and many keys are first, only the position cue is flagged, not the length cue;
- for position cues, each unit's key is drawn uniformly from its options (`UniformKeys`).

Both nulls can keep the scores of some cues in every unit: then a key moves only to positions at
which these cues have the same score.

Observed and drawn scores of a cue are standardised by the exact mean and standard deviation of its
null. The p-value of a cue is the fraction of draws in which the maximum standardised score of all
cues is at least the cue's own. This is the single-step procedure of Westfall and Young (1993).
After the first flagged cue, another cue is flagged only if it is significant in draws that keep the
scores of the flagged cues.

Draws are added until a 99 % Monte Carlo interval of each relevant p excludes 0.05, so that another
seed flags the same cues. Besag and Clifford (1991) also stop early. Gandy (2009) bounds the risk
that another seed flags other cues. A cue that is undecided after `MAX_DRAWS` is *borderline*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from winosmith import report
from winosmith.audit._cues import CUES, POSITIONS, Cue, Ties
from winosmith.audit._items import TIE_SHARES, Bools, Floats, Ints, Items, ReportDone
from winosmith.errors import InputError
from winosmith.metrics import MAX_P, find_critical_value
from winosmith.results import Result, computed, shown

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


MAX_FLAGGED = 8

MIN_DRAWS, MAX_DRAWS = 19, 20_000
"""With the minimum number of draws, the smallest possible p-value is 0.05."""

CHART_CUES = 14
"""Maximum number of cues in a chart."""

_TAIL = 0.005
"""Probability of each tail outside a 99 % interval."""

_DIGITS = 9
"""Number of decimals to which scores are rounded, so that the summation order doesn't matter."""


@dataclass(frozen=True, slots=True)
class CueScore(Result):
    """The score of a cue.

    Attributes:
        cue: name of the cue.
        about: "content", "position" or "class"; see `Cue`.
        right: the fraction of items for which the cue is correct, 0–1; a tie of n options that
            includes the key counts 1 / n.
        expected: the exact mean of `right` in a data set without artifacts.
        spread: the exact standard deviation of `right`; 0 if `right` is the same in all draws.
        high: the chance limit: `expected` plus `spread` times the value that the maximum
            standardised score of all cues exceeds in 5 % of the draws. `right` exceeds this limit
            exactly if p is at most 0.05.
        z: (`right` − `expected`) / `spread`.
        p: the p-value, corrected for all cues: the fraction of draws in which any cue has at least
            this z, with the data set itself counted as one draw.
        distinguished_fraction: the fraction of items whose options the cue distinguishes, 0–1.
        rank: rank among the flagged cues, from 1; None if the cue is not flagged.
        borderline: whether the draws can't decide between p ≤ 0.05 and p > 0.05.
        p_given: for a flagged cue, p in draws that keep the scores of the cues flagged before.
        high_given: for a flagged cue, `high` in these draws.
        draws_given: for a flagged cue, the number of these draws.
    """

    cue: str = field(metadata=shown("cue"))
    about: str
    right: float = field(metadata=shown("correct", report.percent))
    expected: float = field(metadata=shown("expected", report.percent))
    spread: float
    high: float
    z: float
    p: float = field(metadata=shown("p", report.probability))
    distinguished_fraction: float = field(metadata=shown("distinguishes", report.percent))
    rank: int | None = field(default=None, metadata={"key": "named"})
    borderline: bool = False
    p_given: float | None = None
    high_given: float | None = None
    draws_given: int | None = None

    @property
    def varies(self) -> bool:
        """Whether the printed expected value differs from the printed chance limit."""
        return format_percent(self.expected) != format_percent(self.high)


@dataclass(frozen=True, slots=True)
class Battery(Result):
    """A battery of cues and their scores.

    Attributes:
        scores: the scores of the cues: first the flagged ones, then the borderline ones, then the
            others sorted by z, and last those whose score is the same in all draws.
        unreadable_cues: names of the cues that can't read any item.
        positions: the number of keys at each position.
        positions_p: p-value of a chi-square test of these numbers.
        draws: number of draws for all p-values except `p_given`.
    """

    scores: tuple[CueScore, ...] = field(metadata={"key": "cues", "rows": True})
    unreadable_cues: tuple[str, ...] = field(metadata={"key": "not_checked"})
    positions: tuple[int, ...]
    positions_p: float
    draws: int

    @property
    @computed(key="named", json=lambda found: [one.cue for one in found])
    def flagged(self) -> tuple[CueScore, ...]:
        """The flagged cues in the order of their ranks."""
        return tuple(one for one in self.scores if one.rank is not None)

    @property
    @computed(json=lambda found: [one.cue for one in found])
    def borderline(self) -> tuple[CueScore, ...]:
        """The cues for which the draws can't decide whether p is at most 0.05."""
        return tuple(one for one in self.scores if one.borderline)

    @property
    def listed_cues(self) -> list[CueScore]:
        """The flagged cues, and the other cues whose score varies between draws."""
        return [found for found in self.scores if found.rank is not None or found.varies]

    def charts(self, title: str = "Cues") -> list[report.Svg]:
        """Draw a chart of the first cues' accuracy, expected value and chance limit."""
        drawn = [
            report.FractionWithInterval(
                found.cue,
                found.right,
                min(found.expected, found.high),
                found.high,
                found.rank is not None,
                found.expected,
            )
            for found in sorted(self.listed_cues, key=lambda found: found.rank is None)[:CHART_CUES]
        ]
        return [report.draw_dots_over_chance(drawn, title=title)]


def format_percent(fraction: float) -> str:
    return report.format_value(fraction, ".1%")


def format_p_value(p: float, draws: int) -> str:
    """Format a p-value, or an upper bound if p is the minimum for this number of draws.

    >>> [format_p_value(1 / (1 + draws), draws) for draws in (1000, 400, 20_000)]
    ['p ≤ 0.001', 'p ≤ 0.0025', 'p ≤ 0.00005']
    >>> format_p_value(2 / 20_001, 20_000)
    'p = 0.000100'
    """
    least = 1 / (1 + draws)
    digits = 1 - math.floor(math.log10(p))  # two significant digits
    if p > least + 1e-12:
        return f"p = {p:.{max(3, digits) if p < 0.001 else 3}f}"
    upper = math.ceil(p * 10**digits - 1e-6) / 10**digits
    return f"p ≤ {upper:.{digits}f}".rstrip("0")


def score_cues(
    items: Items,
    cues: Sequence[Cue] = CUES,
    *,
    draws: int = 1000,
    max_draws: int = MAX_DRAWS,
    seed: int = 0,
    report_done: ReportDone = lambda _: None,
) -> Battery:
    """Score all cues, and flag the significant ones.

    A cue is added for each position after the fourth.

    Args:
        items: items of one split.
        cues: the cues.
        draws: initial number of draws of the null, 19 or more; p is at least 1 / (1 + draws).
        max_draws: maximum number of draws; draws are added while a p is undecided.
        seed: random seed of the draws.
        report_done: called repeatedly with the number of items that the cues were applied to.

    Raises:
        DataError: a cue gives invalid scores.
        InputError: there are too few draws.
    """
    if draws < MIN_DRAWS:
        raise InputError(f"{draws} draws can't yield a p-value of {MAX_P}; use {MIN_DRAWS} or more")
    most = int(items.counts.max())
    # If all items have the same number of options, the last position is already a cue.
    further = POSITIONS[4 : most - bool((items.counts == most).all())]
    read = items.select_readable_cues([*cues, *further])
    unreadable = tuple(cue.name for cue in cues if cue not in read)
    ties = items.count_ties(read, report_done)
    about = np.array([cue.about == "position" for cue in read], bool)
    distinguished = (np.minimum.reduceat(ties, items.starts, axis=0) == 0).mean(axis=0)
    first = this = _Round(items, ties, about, [], seed)
    first.draw(draws, max_draws, first.z > 0, needed=about)
    # A position is flagged only if it is significant by itself: the items that a cue explains and
    # the other items may have unequal numbers of keys at each position, although all items do not.
    candidates = (first.z > 0) & (first.is_flagged | ~about)
    rounds: dict[int, _Round] = {}
    while len(rounds) < MAX_FLAGGED and (cue := this.find_next_flagged(candidates)) is not None:
        rounds[cue] = this
        this = _Round(items, ties, about, list(rounds), seed)
        this.draw(draws, max_draws, candidates)
    borderline = (candidates & this.is_undecided) | (about & (first.z > 0) & first.is_undecided)
    high = first.chance_limit
    found = [
        CueScore(
            cue=cue.name,
            about=cue.about,
            right=float(first.right[at]),
            expected=float(first.mean[at] / len(items)),
            spread=float(first.spread[at] / len(items)),
            high=float(high[at]),
            z=float(first.z[at]) if first.varies[at] else 0.0,
            p=float(first.p[at]),
            distinguished_fraction=float(distinguished[at]),
            borderline=bool(borderline[at]) and at not in rounds,
        )
        for at, cue in enumerate(read)
    ]
    for rank, (at, this) in enumerate(rounds.items(), start=1):
        found[at] = replace(
            found[at],
            rank=rank,
            p_given=float(this.p[at]),
            high_given=float(this.chance_limit[at]),
            draws_given=this.draws,
        )
    order = sorted(
        found,
        key=lambda one: (one.rank or MAX_FLAGGED + 1, not one.borderline, not one.spread, -one.z),
    )
    counts = np.bincount(items.keys, minlength=most)
    p_value = _compute_positions_p_value(items, first.draws, seed)
    return Battery(tuple(order), unreadable, tuple(counts.tolist()), p_value, first.draws)


def _compute_positions_p_value(items: Items, draws: int, seed: int) -> float:
    most = int(items.counts.max())
    at = np.arange(int(items.counts.sum())) - np.repeat(items.starts, items.counts)
    columns = (at[:, None] == np.arange(most)).astype(np.uint8)
    possible = find_positions(items, columns[:, :0])
    null = UniformKeys(items, columns, possible, [seed, MAX_FLAGGED + 1])

    def chi_square(keys: Floats) -> Floats:
        return np.asarray(((keys - null.mean) ** 2 / null.mean).sum(axis=-1).round(_DIGITS))

    drawn = chi_square(null.draw_scores(draws))
    return float((1 + (drawn >= chi_square(score_actual_keys(items, columns))).sum()) / (1 + draws))


def _standardise(scores: Floats, mean: Floats, spread: Floats) -> Floats:
    varies = spread > 0
    return np.asarray(((scores[..., varies] - mean[varies]) / spread[varies]).round(_DIGITS))


class _Round:
    """A round of flagging, whose draws keep the scores of the cues flagged in earlier rounds.

    Attributes:
        right: (cues,) the observed scores, as fractions of the items.
        mean, spread: (cues,) mean and spread of the scores, in items; 0 for flagged cues.
        z: (cues,) the observed scores, standardised; -inf for cues whose score doesn't vary.
    """

    def __init__(
        self, items: Items, ties: Ties, is_positional: Bools, flagged: list[int], seed: int
    ):
        self._items = len(items)
        self.mean, self.spread = np.zeros(len(is_positional)), np.zeros(len(is_positional))
        self._nulls: list[PermutedKeys | UniformKeys] = []
        for of_positions, null_of in ((False, PermutedKeys), (True, UniformKeys)):
            left = (is_positional == of_positions) & ~np.isin(
                np.arange(len(is_positional)), flagged
            )
            columns = np.flatnonzero(left)
            # Permutations keep the number of keys at each position anyway.
            kept = [cue for cue in flagged if of_positions or not is_positional[cue]]
            possible = find_positions(items, ties[:, kept])
            key = [seed, len(flagged), int(of_positions)]
            null = null_of(items, ties[:, columns], possible, key)
            self._nulls.append(null)
            self.mean[columns], self.spread[columns] = null.mean, null.spread
        scores = score_actual_keys(items, ties)
        self.right = scores / len(items)
        self.varies = self.spread > 0
        self.z = np.full(len(is_positional), -np.inf)
        self._gain: Floats = (scores - self.mean).round(_DIGITS)
        self.z[self.varies] = _standardise(scores, self.mean, self.spread)
        self._greatest = np.empty(0)

    def draw(self, draws: int, limit: int, candidates: Bools, needed: Bools | None = None) -> None:
        """Add draws, up to `limit`, until it is certain which cue is flagged next."""
        self._add_draws(draws)
        while self.draws < limit:
            best = self.find_next_flagged(candidates)
            matters = candidates if best is None else candidates & (self._gain > self._gain[best])
            if not (self.is_undecided & (matters if needed is None else matters | needed)).any():
                break
            self._add_draws(min(self.draws, limit - self.draws))

    def _add_draws(self, draws: int) -> None:
        greatest = np.full(draws, -np.inf)
        for null in self._nulls:
            if null.spread.any():
                z = _standardise(null.draw_scores(draws), null.mean, null.spread)
                greatest = np.maximum(greatest, z.max(axis=1))
        self._greatest = np.concatenate([self._greatest, greatest])

    @property
    def draws(self) -> int:
        return len(self._greatest)

    @property
    def _exceedances(self) -> Ints:
        """The number of draws whose maximum z is at least each cue's z, (cues,)."""
        return np.asarray(self.draws - np.searchsorted(np.sort(self._greatest), self.z))

    @property
    def p(self) -> Floats:
        """The p-value of each cue, (cues,), or 1 if its score doesn't vary."""
        return np.asarray((1 + self._exceedances) / (1 + self.draws))

    @property
    def is_undecided(self) -> Bools:
        """Whether the 99 % Clopper-Pearson interval of each cue's p contains `MAX_P`, (cues,)."""
        from scipy.special import bdtr, bdtrc

        times = self._exceedances
        below = bdtr(times, self.draws, MAX_P) < _TAIL
        above = (times > 0) & (bdtrc(np.maximum(times - 1, 0), self.draws, MAX_P) < _TAIL)
        return np.asarray(self.varies & ~below & ~above)

    @property
    def is_flagged(self) -> Bools:
        return np.asarray(self.varies & (self.p <= MAX_P) & ~self.is_undecided)

    def find_next_flagged(self, candidates: Bools) -> int | None:
        """Return the significant candidate with the highest score above its mean, or None."""
        flagged = candidates & self.is_flagged
        return int(np.where(flagged, self._gain, -np.inf).argmax()) if flagged.any() else None

    @property
    def chance_limit(self) -> Floats:
        """The chance limit of each cue, (cues,), as a fraction of the items.

        The limit is adjusted so that rounding errors don't make it contradict p.
        """
        limit = find_critical_value(self._greatest) if self.varies.any() else 0.0
        beyond = self.z > limit
        high = np.where(self.varies, (self.mean + limit * self.spread) / self._items, self.right)
        high = np.where(beyond, np.minimum(high, np.nextafter(self.right, -1)), high)
        return np.where(beyond, high, np.maximum(high, self.right)).clip(0.0, 1.0)
