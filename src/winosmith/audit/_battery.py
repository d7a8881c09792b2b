"""The battery: the score of every cue next to its null, and the cues that stand out.

Each cue's score is standardised by the exact mean and spread of its null (`_null`), the observed
score and the drawn ones alike. The p-value of a cue is then the fraction of draws whose greatest
standardised score, over all cues, is as great (Westfall and Young 1993, single step). After the
first flagged cue, another is flagged only if it stands out in draws that keep the scores of those
before it.

Draws are added until a 99 % Monte Carlo interval of each p that matters excludes 0.05, so that
another seed flags the same cues (Besag and Clifford 1991 stop early, Gandy 2009 bounds the risk
that another seed decides otherwise). A cue still undecided after `MAX_DRAWS` is *borderline*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10

import numpy as np

from winosmith.audit._cues import CUES, POSITIONS, Cue, Ties
from winosmith.audit._items import Bools, Floats, Ints, Items
from winosmith.audit._null import DealtKeys, UniformKeys, observed_scores, possible_positions
from winosmith.errors import InputError
from winosmith.metrics import find_critical_value
from winosmith.report import (
    FractionWithInterval,
    Svg,
    draw_dots_over_chance,
    format_value as as_shown,
    percent,
    probability,
)
from winosmith.results import Result, computed, shown

LEVEL = 0.05
"""The largest probability that any cue of a set without artifacts is flagged."""

MAX_FLAGGED = 8
"""Number of cues that are flagged at most; probes measure what remains."""

LEAST_DRAWS, MAX_DRAWS = 19, 20_000
"""The fewest draws with which p can be 0.05, and the number after which none are added."""

DRAWN = 14
"""Number of cues in a chart."""

_UNCERTAIN = 0.005
"""The probability beyond each end of a 99 % interval."""

_DIGITS = 9
"""Decimals to which scores are rounded before comparison; another order of a sum changes less."""


@dataclass(frozen=True, slots=True)
class Found(Result):
    """The score of a cue.

    Attributes:
        cue: its name.
        about: "content", "position" or "class"; see `Cue`.
        right: the fraction of items for which it is correct, 0–1; equal options share the pick.
        expected: the exact mean of `right` in a set without artifacts.
        spread: its exact standard deviation; 0 if no draw changes `right`.
        high: the upper end of the one-sided band: `expected` plus the product of `spread` and the
            greatest standardised score of all cues that 5 % of the draws exceed. `right` is above
            it exactly if p is at most 0.05.
        z: (`right` − `expected`) / `spread`.
        p: the fraction of draws in which any cue has as great a z, with the set itself counted as
            one of them: corrected for the whole battery.
        speaks: the fraction of items whose options it distinguishes, 0–1.
        rank: its rank among the flagged cues, from 1; None if it is not flagged.
        borderline: whether the draws can't decide between p ≤ 0.05 and p > 0.05.
        p_given: for a flagged cue, p in draws that keep the scores of those flagged before it.
        high_given: for a flagged cue, `high` in these draws.
        draws_given: for a flagged cue, the number of these draws.
    """

    cue: str = field(metadata=shown("cue"))
    about: str
    right: float = field(metadata=shown("correct", percent))
    expected: float = field(metadata=shown("expected", percent))
    spread: float
    high: float
    z: float
    p: float = field(metadata=shown("p", probability))
    speaks: float = field(metadata=shown("distinguishes", percent))
    rank: int | None = field(default=None, metadata={"key": "named"})
    borderline: bool = False
    p_given: float | None = None
    high_given: float | None = None
    draws_given: int | None = None

    @property
    def varies(self) -> bool:
        """Whether chance gives the cue different scores, as a page prints them."""
        return in_percent(self.expected) != in_percent(self.high)


@dataclass(frozen=True, slots=True)
class Battery(Result):
    """The scores of all cues.

    Attributes:
        found: the cues, flagged ones first, then borderline ones, then by z; last, those whose
            score no draw changes.
        unchecked: the names of those that can read none of the items.
        positions: the number of keys at each position.
        positions_p: of the positions taken together (chi-square), by themselves.
        draws: number of draws for all p-values except `p_given`.
    """

    found: tuple[Found, ...] = field(metadata={"key": "cues", "rows": True})
    unchecked: tuple[str, ...] = field(metadata={"key": "not_checked"})
    positions: tuple[int, ...]
    positions_p: float
    draws: int

    @property
    @computed(key="named", json=lambda found: [one.cue for one in found])
    def flagged(self) -> tuple[Found, ...]:
        """The flagged cues, in order."""
        return tuple(one for one in self.found if one.rank is not None)

    @property
    @computed(json=lambda found: [one.cue for one in found])
    def borderline(self) -> tuple[Found, ...]:
        """The cues that the draws can't decide about."""
        return tuple(one for one in self.found if one.borderline)

    @property
    def listed(self) -> list[Found]:
        """The cues that are flagged, and those whose score chance changes."""
        return [found for found in self.found if found.rank is not None or found.varies]

    def charts(self, title: str = "Cues") -> list[Svg]:
        """Return the accuracy of the first cues, next to the expected value and the limit."""
        drawn = [
            FractionWithInterval(
                found.cue,
                found.right,
                min(found.expected, found.high),
                found.high,
                found.rank is not None,
                found.expected,
            )
            for found in sorted(self.listed, key=lambda found: found.rank is None)[:DRAWN]
        ]
        return [draw_dots_over_chance(drawn, title=title)]


def in_percent(share: float) -> str:
    """Return a fraction in percent, with one decimal."""
    return as_shown(share, ".1%")


def p_in_words(p: float, draws: int) -> str:
    """Return a p-value by draws: the least that they can show is a bound, never rounded down.

    >>> [p_in_words(1 / (1 + draws), draws) for draws in (1000, 400, 20_000)]
    ['p ≤ 0.001', 'p ≤ 0.0025', 'p ≤ 0.00005']
    >>> p_in_words(2 / 20_001, 20_000)
    'p = 0.000100'
    """
    least = 1 / (1 + draws)
    digits = 1 - floor(log10(p))  # two that are not zeros in front
    if p > least + 1e-12:
        return f"p = {p:.{max(3, digits) if p < 0.001 else 3}f}"
    upper = ceil(p * 10**digits - 1e-6) / 10**digits
    return f"p ≤ {upper:.{digits}f}".rstrip("0")


def battery(
    items: Items,
    cues: Sequence[Cue] = CUES,
    *,
    draws: int = 1000,
    max_draws: int = MAX_DRAWS,
    seed: int = 0,
) -> Battery:
    """Return the score of every cue, and flag those that stand out.

    A cue for each position after the fourth is added.

    Args:
        items: items of one split.
        cues: the battery.
        draws: number of draws of the null to begin with, 19 or more; p is at least
            1 / (1 + draws).
        max_draws: number up to which draws are added while a p is undecided; with at most `draws`
            none are.
        seed: random seed of the draws.

    Raises:
        DataError: a cue's scores don't fit the options.
        InputError: there are too few draws.
    """
    if draws < LEAST_DRAWS:
        raise InputError(f"{draws} draws can't give a p of {LEVEL}; use {LEAST_DRAWS} or more")
    most = int(items.counts.max())
    # If all items have the same number of options, the last position is already a cue.
    further = POSITIONS[: max(0, most - 4 - bool((items.counts == most).all()))]
    read = items.readable([*cues, *further])
    unchecked = tuple(cue.name for cue in cues if cue not in read)
    ties = items.picked(read)
    about = np.array([cue.about == "position" for cue in read], bool)
    spoken = (np.minimum.reduceat(ties, items.starts, axis=0) == 0).mean(axis=0)
    first = this = _Round(items, ties, about, [], seed)
    first.draw(draws, max_draws, first.z > 0, also=about)
    # A position is flagged only if it stands out by itself: if the items that a cue explains have
    # other keys than the rest, each part is uneven though all together are even.
    among = (first.z > 0) & (first.flagged | ~about)
    rounds: dict[int, _Round] = {}
    while len(rounds) < MAX_FLAGGED and (cue := this.choice(among)) is not None:
        rounds[cue] = this
        this = _Round(items, ties, about, list(rounds), seed)
        this.draw(draws, max_draws, among)
    borderline = (among & this.undecided) | (about & (first.z > 0) & first.undecided)
    high = first.high
    found = [
        Found(
            cue=cue.name,
            about=cue.about,
            right=float(first.right[at]),
            expected=float(first.mean[at] / len(items)),
            spread=float(first.spread[at] / len(items)),
            high=float(high[at]),
            z=float(first.z[at]) if first.varies[at] else 0.0,
            p=float(first.p[at]),
            speaks=float(spoken[at]),
            borderline=bool(borderline[at]) and at not in rounds,
        )
        for at, cue in enumerate(read)
    ]
    for rank, (at, this) in enumerate(rounds.items(), start=1):
        found[at] = replace(
            found[at],
            rank=rank,
            p_given=float(this.p[at]),
            high_given=float(this.high[at]),
            draws_given=this.draws,
        )
    order = sorted(
        found,
        key=lambda one: (one.rank or MAX_FLAGGED + 1, not one.borderline, not one.spread, -one.z),
    )
    counts = np.bincount(items.keys, minlength=most)
    return Battery(
        tuple(order),
        unchecked,
        tuple(counts.tolist()),
        _positions_p(items, first.draws, seed),
        first.draws,
    )


def _positions_p(items: Items, draws: int, seed: int) -> float:
    """Return the p-value of the numbers of keys at all positions together, by chi-square."""
    most = int(items.counts.max())
    at = np.arange(int(items.counts.sum())) - np.repeat(items.starts, items.counts)
    columns = (at[:, None] == np.arange(most)).astype(np.uint8)
    possible = possible_positions(items, columns[:, :0])
    null = UniformKeys(items, columns, possible, [seed, MAX_FLAGGED + 1])

    def uneven(keys: Floats) -> Floats:
        found: Floats = ((keys - null.mean) ** 2 / null.mean).sum(axis=-1).round(_DIGITS)
        return found

    drawn = uneven(null.scores(draws))
    return float((1 + (drawn >= uneven(observed_scores(items, columns))).sum()) / (1 + draws))


def _standardised(scores: Floats, mean: Floats, spread: Floats) -> Floats:
    """Return the z of the columns that vary, (…, columns)."""
    varies = spread > 0
    z: Floats = ((scores[..., varies] - mean[varies]) / spread[varies]).round(_DIGITS)
    return z


class _Round:
    """All cues except those held, in draws that keep the scores of the held ones.

    Attributes:
        right: (cues,) the observed scores, as fractions of the items.
        mean, spread: (cues,) mean and spread of the scores, in items; 0 for those held.
        varies: (cues,) whether draws change the score.
        z: (cues,) the observed scores, standardised; -inf for those that don't vary.
    """

    def __init__(self, items: Items, ties: Ties, about: Bools, held: list[int], seed: int):
        self._items = len(items)
        self.mean, self.spread = np.zeros(len(about)), np.zeros(len(about))
        self._nulls: list[DealtKeys | UniformKeys] = []
        for of_positions, null_of in ((False, DealtKeys), (True, UniformKeys)):
            left = (about == of_positions) & ~np.isin(np.arange(len(about)), held)
            columns = np.flatnonzero(left)
            # Dealing keys again keeps the number at each position, whichever of them are held.
            kept = [cue for cue in held if of_positions or not about[cue]]
            possible = possible_positions(items, ties[:, kept])
            key = [seed, len(held), int(of_positions)]
            null = null_of(items, ties[:, columns], possible, key)
            self._nulls.append(null)
            self.mean[columns], self.spread[columns] = null.mean, null.spread
        scores = observed_scores(items, ties)
        self.right = scores / len(items)
        self.varies = self.spread > 0
        self.z = np.full(len(about), -np.inf)
        self._gain: Floats = (scores - self.mean).round(_DIGITS)
        self.z[self.varies] = _standardised(scores, self.mean, self.spread)
        self._greatest = np.empty(0)

    def draw(self, draws: int, most: int, among: Bools, also: Bools | None = None) -> None:
        """Draw, and add draws until it is decided which cue is flagged next.

        Args:
            draws: number of draws to begin with; each step doubles the number.
            most: number up to which draws are added.
            among: (cues,) which can be flagged.
            also: (cues,) which must be decided, too.
        """
        self._add(draws)
        while self.draws < most and not self._is_settled(among, also):
            self._add(min(self.draws, most - self.draws))

    def _add(self, draws: int) -> None:
        greatest = np.full(draws, -np.inf)
        for null in self._nulls:
            if null.spread.any():
                z = _standardised(null.scores(draws), null.mean, null.spread)
                greatest = np.maximum(greatest, z.max(axis=1))
        self._greatest = np.concatenate([self._greatest, greatest])

    @property
    def draws(self) -> int:
        """The number of draws so far."""
        return len(self._greatest)

    @property
    def _exceeding(self) -> Ints:
        """In how many draws any cue has as great a z as each, (cues,)."""
        found: Ints = self.draws - np.searchsorted(np.sort(self._greatest), self.z)
        return found

    @property
    def p(self) -> Floats:
        """The p-value of each cue, (cues,): 1 for those that don't vary."""
        p: Floats = (1 + self._exceeding) / (1 + self.draws)
        return p

    @property
    def undecided(self) -> Bools:
        """For which cues a 99 % interval of p contains `LEVEL` (Clopper and Pearson 1934)."""
        from scipy.special import bdtr, bdtrc

        times = self._exceeding
        below = bdtr(times, self.draws, LEVEL) < _UNCERTAIN
        above = (times > 0) & (bdtrc(np.maximum(times - 1, 0), self.draws, LEVEL) < _UNCERTAIN)
        return np.asarray(self.varies & ~below & ~above)

    @property
    def flagged(self) -> Bools:
        """Which cues stand out, decidedly, (cues,)."""
        return np.asarray(self.varies & (self.p <= LEVEL) & ~self.undecided)

    def choice(self, among: Bools) -> int | None:
        """Return the cue that scores most above its mean, of those that stand out."""
        flagged = among & self.flagged
        return int(np.where(flagged, self._gain, -np.inf).argmax()) if flagged.any() else None

    def _is_settled(self, among: Bools, also: Bools | None) -> bool:
        """Return whether no undecided cue could change which one is flagged next."""
        undecided, best = self.undecided, self.choice(among)
        matters = among if best is None else among & (self._gain > self._gain[best])
        return not (undecided & (matters if also is None else matters | also)).any()

    @property
    def high(self) -> Floats:
        """The upper ends of the cues' one-sided bands, (cues,), as fractions of the items.

        Rounding errors are kept from contradicting p.
        """
        limit = find_critical_value(self._greatest, LEVEL) if self.varies.any() else 0.0
        beyond = self.z > limit
        high = np.where(self.varies, (self.mean + limit * self.spread) / self._items, self.right)
        high = np.where(beyond, np.minimum(high, np.nextafter(self.right, -1)), high)
        return np.where(beyond, high, np.maximum(high, self.right)).clip(0.0, 1.0)
