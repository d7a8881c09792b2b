"""Score all cues, compare the scores with their null, and flag the significant cues.

Observed and drawn scores of a cue are standardised by the exact mean and standard deviation of its
null (`_null`). The p-value of a cue is the fraction of draws in which the maximum standardised
score of all cues is at least the cue's own. This is the single-step procedure of Westfall and Young
(1993). After the first flagged cue, another cue is flagged only if it is significant in draws that
keep the scores of the flagged cues.

Draws are added until a 99 % Monte Carlo interval of each relevant p excludes 0.05, so that another
seed flags the same cues. Besag and Clifford (1991) also stop early. Gandy (2009) bounds the risk
that another seed flags other cues. A cue that is undecided after `MAX_DRAWS` is *borderline*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10

import numpy as np

from winosmith import report
from winosmith.audit._cues import CUES, POSITIONS, Cue, Ties
from winosmith.audit._items import Bools, Floats, Ints, Items, ReportDone
from winosmith.audit._null import PermutedKeys, UniformKeys, find_positions, score_actual_keys
from winosmith.errors import InputError
from winosmith.metrics import find_critical_value
from winosmith.results import Result, computed, shown

LEVEL = 0.05
"""Maximum probability that any cue is flagged in a data set without artifacts."""

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
    digits = 1 - floor(log10(p))  # two significant digits
    if p > least + 1e-12:
        return f"p = {p:.{max(3, digits) if p < 0.001 else 3}f}"
    upper = ceil(p * 10**digits - 1e-6) / 10**digits
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
        raise InputError(f"{draws} draws can't yield a p-value of {LEVEL}; use {MIN_DRAWS} or more")
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
        """Whether the 99 % Clopper-Pearson interval of each cue's p contains `LEVEL`, (cues,)."""
        from scipy.special import bdtr, bdtrc

        times = self._exceedances
        below = bdtr(times, self.draws, LEVEL) < _TAIL
        above = (times > 0) & (bdtrc(np.maximum(times - 1, 0), self.draws, LEVEL) < _TAIL)
        return np.asarray(self.varies & ~below & ~above)

    @property
    def is_flagged(self) -> Bools:
        return np.asarray(self.varies & (self.p <= LEVEL) & ~self.is_undecided)

    def find_next_flagged(self, candidates: Bools) -> int | None:
        """Return the significant candidate with the highest score above its mean, or None."""
        flagged = candidates & self.is_flagged
        return int(np.where(flagged, self._gain, -np.inf).argmax()) if flagged.any() else None

    @property
    def chance_limit(self) -> Floats:
        """The chance limit of each cue, (cues,), as a fraction of the items.

        The limit is adjusted so that rounding errors don't make it contradict p.
        """
        limit = find_critical_value(self._greatest, LEVEL) if self.varies.any() else 0.0
        beyond = self.z > limit
        high = np.where(self.varies, (self.mean + limit * self.spread) / self._items, self.right)
        high = np.where(beyond, np.minimum(high, np.nextafter(self.right, -1)), high)
        return np.where(beyond, high, np.maximum(high, self.right)).clip(0.0, 1.0)
