"""The null: every cue's score beside what it would be if no answer gave anything away.

Keys are drawn anew, a unit at once (`Items`). For what options say, the positions of the keys are
dealt anew among units of as many options, so that the count of each position stays: keys dealt
unevenly over options that are sorted by length are a matter of position, and name no length. For
positions, each unit's key is drawn uniformly. The greatest standardised score over the battery
gives the p-values of all of it (Westfall and Young 1993, single step); after the first cue that is
named, another is named only where it stands out in draws that keep what those before it earn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from winosmith.audit._cues import CUES, Cue, Ties
from winosmith.audit._items import SHARES, Bools, Floats, Ints, Items

LEVEL = 0.05
"""How often a set in which nothing gives the answer away has a cue named, at most."""

MOST = 8
"""So many cues are named at most: what is left then is told by the probes."""

LATER = 400
"""Draws for the cues after the first, at most: their p is never under 1 / (1 + LATER)."""

TOGETHER = "the commonest position"
"""What the test of all positions at once is told as: the position that most keys stand at."""

_SWEEPS, _WARMING = 3, 30
"""Exchanges between two draws where something is held, and before the first."""

_UNITS, _DRAWN, _LOTS = 2048, 200_000_000, 2_000_000
"""Units whose options are held at once, keys that are, and numbers that keys are drawn by."""

_SAME = 1e-9
"""Scores that differ by less are the same: sums in another order make such differences."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a cue earns.

    Attributes:
        cue: its name.
        about: "content", "position" or "class"; see `Cue`.
        right: the share of items that it gets right, 0–1, where equal options share the pick.
        expected: the same where nothing gives the answer away: the mean of the draws.
        low, high: the band that all cues of 95 of 100 such sets keep within.
        z: how many standard deviations of the draws it lies above their mean.
        p: in which share of draws any cue stands out as much: of the whole battery.
        speaks: the share of items whose options it tells apart.
        named: its place among the cues that are named, from 1; None where it is not.
        p_given: where it is named, p in draws that keep what the cues named before it earn.
    """

    cue: str
    about: str
    right: float
    expected: float
    low: float
    high: float
    z: float
    p: float
    speaks: float
    named: int | None = None
    p_given: float | None = None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Battery:
    """What all cues earn.

    Attributes:
        found: the cues, those named first and then by z; last, those that no draw changes.
        unchecked: the names of those that can read none of the items.
        positions: how many keys stand at each position.
        positions_p: of the positions taken together, by themselves.
        draws: how many there were.
    """

    found: tuple[Found, ...]
    unchecked: tuple[str, ...]
    positions: tuple[int, ...]
    positions_p: float
    draws: int

    @property
    def named(self) -> tuple[Found, ...]:
        """The cues that are named, in order."""
        return tuple(one for one in self.found if one.named is not None)


def battery(
    items: Items,
    cues: Sequence[Cue] = CUES,
    *,
    draws: int = 1000,
    level: float = LEVEL,
    seed: int = 0,
) -> Battery:
    """Return what every cue earns, and name those that stand out.

    Args:
        items: of one split.
        cues: the battery.
        draws: of the null; p is never under 1 / (1 + draws).
        level: of the whole battery.
        seed: of the draws.

    Raises:
        DataError: a cue's scores don't fit the options.
    """
    read = items.readable(cues)
    unchecked = tuple(cue.name for cue in cues if cue not in read)
    ties = np.column_stack([items.picked(read), *_places(items)])
    about = np.array([cue.about == "position" for cue in read] + [True])  # and all together
    earned = SHARES[ties[items.keyed(items.unit_key)]].mean(axis=0)
    spoken = (np.minimum.reduceat(ties[:, : len(read)], items.starts, axis=0) == 0).mean(axis=0)
    first = this = _round(items, ties, about, [], draws, [seed, 0])
    # A position is named only if it tells by itself: where the items that a cue explains have other
    # keys than the rest, each part is uneven though all together are even.
    among = (first.z[0] > 0) & ((first.p <= level) | ~about)
    named: dict[int, float] = {}
    while len(named) < MOST and (cue := this.greatest(among, level)) is not None:
        named[cue] = float(this.p[cue])
        this = _round(items, ties, about, list(named), min(draws, LATER), [seed, len(named)])
    low, high = (first.edge(side, len(items)) for side in (-1, 1))
    found = [
        Found(
            cue=cue.name,
            about=cue.about,
            right=float(earned[at]),
            expected=float(first.mean[at] / len(items)),
            low=float(low[at]),
            high=float(high[at]),
            z=float(first.z[0, at]) if first.alive[at] else 0.0,
            p=float(first.p[at]),
            speaks=float(spoken[at]),
            named=list(named).index(at) + 1 if at in named else None,
            p_given=named.get(at),
        )
        for at, cue in enumerate(read)
    ]
    together = len(read)
    if together in named:
        found.append(_of_positions(items, first, list(named).index(together) + 1, named[together]))
    order = sorted(found, key=lambda one: (one.named or MOST + 1, one.low == one.high, -one.z))
    counts = np.bincount(items.keys, minlength=int(items.counts.max()))
    return Battery(
        tuple(order),
        unchecked,
        tuple(counts.tolist()),
        float((first.z[:, together] >= first.z[0, together] - _SAME).mean()),
        draws,
    )


def _of_positions(items: Items, first: _Round, place: int, p: float) -> Found:
    """Return what always saying the commonest position earns, beside what it would by chance."""
    at, n = first.z.shape[1] - 1, len(items)
    low, high = (float(first.edge(side, n)[at]) for side in (-1, 1))
    return Found(
        TOGETHER, "position", int(np.bincount(items.keys).max()) / n, float(first.mean[at] / n),
        low, high, float(first.z[0, at]), float(first.p[at]), 1.0, place, p,
    )  # fmt: skip


def _places(items: Items) -> list[Ties]:
    """Return for each position a column that holds 1 where an option stands there."""
    at = np.arange(int(items.counts.sum())) - np.repeat(items.starts, items.counts)
    return [(at == place).astype(np.uint8) for place in range(int(items.counts.max()))]


@dataclass(frozen=True)
class _Round:
    """One round of draws: what is observed is the first row of `z`.

    Attributes:
        z: (draws + 1, cues) standardised; -inf where a cue can't vary.
        mean, spread: (cues,) of what is drawn and observed together; for all positions at once,
            of the keys at the commonest one.
    """

    z: Floats
    mean: Floats
    spread: Floats

    @property
    def alive(self) -> Bools:
        """Which cues vary, (cues,)."""
        alive: Bools = np.isfinite(self.z[0])
        return alive

    def greatest(self, among: Bools, level: float) -> int | None:
        """Return the cue that earns most beyond what is expected, of those that stand out."""
        stands = among & self.alive & (self.p <= level)
        if not stands.any():
            return None
        more = np.full(len(stands), -np.inf)
        more[stands] = self.z[0, stands] * self.spread[stands]
        if stands[:-1].any():  # all positions together only where no single one stands out
            more[-1] = -np.inf
        return int(more.argmax())

    @cached_property
    def most(self) -> Floats:
        """How far the cue that stands out most does in each draw, (draws + 1,)."""
        most: Floats = self.z.max(axis=1)
        return most

    @cached_property
    def p(self) -> Floats:
        """In which share of draws, the set itself among them, any cue stands out as each, (cues,).

        Of one that can't vary it is 1.
        """
        p: Floats = (self.most[:, None] >= self.z[0] - _SAME).mean(axis=0)
        return p

    @cached_property
    def reach(self) -> float:
        """Within how many standard deviations all cues of 95 of 100 such sets keep.

        The set itself is one of them, as in `p`: beyond it is what has a p of 0.05 at most.
        """
        beyond = int(LEVEL * len(self.most) + _SAME)
        return float(np.sort(self.most)[-1 - beyond]) if self.alive.any() else 0.0

    def edge(self, side: int, items: int) -> Floats:
        """Return the ends, -1 or 1, of the bands that all cues of 95 of 100 such sets keep in."""
        ends: Floats = np.clip((self.mean + side * self.reach * self.spread) / items, 0.0, 1.0)
        return ends


def _round(
    items: Items, ties: Ties, about: Bools, held: list[int], draws: int, seed: list[int]
) -> _Round:
    """Draw, keeping what is held, and standardise what each cue earns."""
    together = len(about) - 1
    positions = np.arange(together, ties.shape[1])
    z = np.full((draws + 1, together + 1), -np.inf)
    mean, spread = np.zeros(together + 1), np.zeros(together + 1)
    even = _even(items)
    for of_positions in (False, True):
        cues = np.flatnonzero(about[:together] == of_positions)
        cues = cues[~np.isin(cues, held)]
        if of_positions and together in held:
            continue
        rng = np.random.default_rng([*seed, int(of_positions)])
        deal = _uniform if of_positions else _permuted
        # Keys that are dealt anew stand at each position as often as before, whatever is held.
        kept = [cue for cue in held if of_positions or not about[cue]]
        keys = deal(items, _kinds(items, ties[:, kept]), draws, rng, holds=bool(kept))
        columns = np.concatenate([cues, positions]) if of_positions else cues
        sums = _sums(items, ties[:, columns], chain([items.unit_key], keys), draws + 1)
        if of_positions:
            most = sums[:, len(cues) :].max(axis=1)
            off = ((sums[:, len(cues) :] - even) ** 2 / even).sum(axis=1)
            # Its cube root is nearly normal (Wilson and Hilferty 1931), as the others' sums are.
            sums = np.column_stack([sums[:, : len(cues)], np.cbrt(off)])
            cues = np.append(cues, together)
        mean[cues], spread[cues] = sums.mean(axis=0), sums.std(axis=0)
        varies = spread[cues] > _SAME * len(items)
        there = cues[varies]
        z[:, there] = (sums[:, varies] - mean[there]) / spread[there]
        if of_positions:
            mean[together], spread[together] = most.mean(), most.std()
    return _Round(z, mean, spread)


def _sums(items: Items, ties: Ties, keys: Iterator[Ints], draws: int) -> Floats:
    """Return what each column earns in each draw, (draws, columns).

    A draw is a matrix with 1 where a key stands, multiplied by what is earned there, in parts of
    which every share is a whole number of: their sums are the same in any order.
    """
    units, most = len(items.leads), int(items.counts.max())
    parts = math.lcm(*range(1, most + 1))
    sums = np.zeros((draws, ties.shape[1]))
    drawn = np.empty((max(1, min(draws, _DRAWN // units)), units), np.uint8)
    for done in range(0, draws, len(drawn)):
        now, own = drawn[: draws - done], sums[done : done + len(drawn)]
        for row, key in zip(now, keys, strict=False):
            row[:] = key
        for first in range(0, units, _UNITS):
            here = slice(first, first + _UNITS)
            table = np.rint(items.gathered(ties, here) * parts)
            own += table[:, 0].sum(axis=0)
            for place in range(1, most):
                stands = (now[:, here] == place).astype(float)
                own += stands @ (table[:, place] - table[:, 0])
    return sums / parts


def _even(items: Items) -> Floats:
    """Return how many keys stand at each position on average, when each is drawn uniformly."""
    there = items.counts > np.arange(int(items.counts.max()))[:, None]
    even: Floats = (there / items.counts).sum(axis=1)
    return even


def _kinds(items: Items, held: Ties) -> Ints:
    """Return a number for each option of a unit, the same where what is held earns the same."""
    table = items.gathered(held)
    kinds = np.zeros(table.shape[:2], np.int64)
    for own in np.moveaxis(table, 2, 0):
        ranks = (own[:, :, None] > own[:, None, :] + _SAME).sum(axis=2)
        kinds = kinds * table.shape[1] + ranks
    return kinds


def permuted(items: Items, draws: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield units' keys whose positions are dealt anew among units of as many options."""
    return _permuted(items, np.zeros((0, 0), np.int64), draws, rng, holds=False)


def _permuted(
    items: Items, kinds: Ints, draws: int, rng: np.random.Generator, *, holds: bool
) -> Iterator[Ints]:
    """Yield units' keys, dealt anew; where something is held, by exchanges that keep its kinds."""
    counts = items.unit_counts
    groups = [np.flatnonzero(counts == count) for count in np.unique(counts)]
    key = items.unit_key.copy()
    for draw in range(draws):
        for group in groups:
            if not holds:
                key[group] = key[rng.permutation(group)]
            for _ in range((_SWEEPS if draw else _WARMING) if holds else 0):
                _exchange(key, kinds, rng.permutation(group))
        yield key


def _exchange(key: Ints, kinds: Ints, deal: Ints) -> None:
    """Let pairs of units change the positions of their keys, where both keep their kinds."""
    half = len(deal) // 2
    one, other = deal[:half], deal[half : 2 * half]
    mine, theirs = key[one], key[other]
    same = kinds[one, mine] == kinds[one, theirs]
    same &= kinds[other, mine] == kinds[other, theirs]
    key[one[same]], key[other[same]] = theirs[same], mine[same]


def _uniform(
    items: Items, kinds: Ints, draws: int, rng: np.random.Generator, *, holds: bool
) -> Iterator[Ints]:
    """Yield units' keys drawn uniformly, among the options of their kind where something is."""
    most = int(items.counts.max())
    allowed = np.arange(most)[None, :] < items.unit_counts[:, None]
    if holds:
        allowed &= kinds == kinds[np.arange(len(kinds)), items.unit_key][:, None]
    at_once = max(1, _LOTS // allowed.size)
    for done in range(0, draws, at_once):
        lots = rng.random((min(at_once, draws - done), *allowed.shape))
        yield from np.where(allowed, lots, -1.0).argmax(axis=2)
