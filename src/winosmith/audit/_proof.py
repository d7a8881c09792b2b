"""Measure the evidence for a repair: the accuracy of rules on held-out blocks.

On the items that a repair saw, every cue is at chance by construction. Therefore, blocks are split
into halves, and each half is thinned by rules learnt from the other half. On each thinned half,
every cue is measured, and so is a word model fitted to the other thinned half. If a cue is extreme
by chance in one half, the other half is thinned too much, and the half itself too little. These
errors have opposite signs, and their mean is near 0 for any repair that is correct on average. So
the width of a bound is evidence, but its centre is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from winosmith.audit._battery import LEVEL
from winosmith.audit._cues import CUES, Cue
from winosmith.audit._items import MIN_BLOCKS, TIE_SHARES, Bools, Floats, Ints, Items, split_ties
from winosmith.audit._probes import cross_fit_scores, extract_features
from winosmith.errors import DataError
from winosmith.parallel import use_one_thread
from winosmith.results import Result, computed

LIMIT = 0.03
"""A rule is shown to be at chance if both ends of its bound are at most this far from chance."""

WORDS = "a model of words that sees only the options"
"""Name of the learnt rule; all other rules are cues."""

_DRAWS = 2000
"""Number of draws for computing the quantile of the bound."""

_MIN_BOOTSTRAP_BLOCKS = 20
"""Rules that distinguish options in fewer blocks than this get Clopper-Pearson bounds."""

Thin = Callable[[Bools], Floats]
"""A function that learns each unit's probability of being kept, (units,), from the marked items,
(n,)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on a rule's accuracy above chance, on held-out blocks.

    Attributes:
        rule: name of the cue, or `WORDS`.
        excess: accuracy minus chance, -1 to 1.
        low, high: the bound, intended to hold for all rules simultaneously in 95 of 100 data sets.
    """

    rule: str
    excess: float
    low: float
    high: float

    @property
    def is_within_limit(self) -> bool:
        """Whether both ends of the interval are within `LIMIT` of chance."""
        return self.low >= -LIMIT and self.high <= LIMIT

    @property
    def is_shuffled(self) -> bool:
        """Whether the options of all items were shuffled, so that the rule was not measured."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Proof(Result):
    """The evidence from held-out blocks for a repair.

    Attributes:
        bounds: the bound of each rule, starting with the farthest from chance; empty if too few
            items are left.
        items: mean number of items that stay.
    """

    bounds: tuple[Bound, ...]
    items: float

    @property
    @computed()
    def limit(self) -> float:
        """Maximum distance of a bound from chance."""
        return LIMIT

    @property
    @computed(key="shown")
    def is_within_limit(self) -> bool:
        """Whether the intervals of all rules are within `LIMIT` of chance."""
        return bool(self.bounds) and all(bound.is_within_limit for bound in self.bounds)

    @property
    def wide_bounds(self) -> tuple[Bound, ...]:
        """The bounds that extend beyond `LIMIT`."""
        return tuple(bound for bound in self.bounds if not bound.is_within_limit)

    @property
    def items_needed(self) -> int | None:
        """Number of items that must remain to show that all rules are within `LIMIT` of chance.

        It is assumed that each excess stays the same. The result is None if an excess is too large.
        """
        left = [LIMIT - abs(bound.excess) for bound in self.bounds]
        if not left or min(left) <= 0:
            return None
        most = max((b.high - b.low) / 2 / room for b, room in zip(self.bounds, left, strict=True))
        return int(np.ceil(self.items * most**2))


def bound_accuracies(
    items: Items,
    thin: Thin,
    cues: Sequence[Cue] = CUES,
    *,
    shuffled: Bools | None = None,
    seed: int = 0,
) -> Proof:
    """Bound how far each rule's accuracy on held-out blocks exceeds chance.

    Blocks are split into halves. Each half is thinned by rules learnt from the other half, and each
    item is weighted by its probability of staying. The bounds are simultaneous: they use the 95 %
    quantile of the maximum deviation of all rules, in units of each rule's standard error. The
    quantile comes from a Gaussian multiplier bootstrap over blocks; see Chernozhukov, Chetverikov
    and Kato (2013).

    Some rules distinguish options in few blocks, or have the same score in all blocks. Their bounds
    use the limits of Clopper and Pearson (1934) on two numbers: the blocks in which the rule may be
    correct, and the blocks in which it may be incorrect. Each limit uses its part of the 5 %, and
    each block counts with the maximum possible score of a block.

    Args:
        items: the whole data set.
        thin: the repair.
        cues: the fixed rules.
        shuffled: (n,) whether an item's options were shuffled, so that position cues are at chance
            there without being measured; None if none were shuffled.
        seed: random seed of the halves and of the draws.

    Raises:
        DataError: there are too few blocks.
    """
    require_enough_blocks(items.block_count)
    side = (np.random.default_rng([seed, 6]).permutation(items.block_count) % 2)[items.block]
    side ^= side[0]  # the half of the first item is the first
    read = items.select_readable_cues(cues)
    ties = items.count_ties(read)
    _, matrix = extract_features(items, "options")
    stays, words = np.zeros(len(items)), np.zeros(len(items))
    for half in (0, 1):
        learnt, asked = side == half, side != half
        kept = thin(learnt)[items.unit]
        stays[asked] = kept[asked]
        with use_one_thread():
            scores = cross_fit_scores(items, matrix, np.where(learnt, kept, 0.0), seed)
        shares = split_ties(scores, items.starts, items.counts)
        words[asked] = _compute_excess_scores(items, shares[:, None])[asked, 0]
    if len(np.unique(items.block[stays > 0])) < MIN_BLOCKS or stays.sum() < MIN_BLOCKS:
        return Proof((), float(stays.sum()))
    excess = np.column_stack([_compute_excess_scores(items, TIE_SHARES[ties]), words])
    apart = np.minimum.reduceat(ties, items.starts, axis=0) == 0
    distinguishes = np.column_stack([apart, np.ones(len(items), np.bool_)])
    of_position = np.array([*(cue.about == "position" for cue in read), False])
    if shuffled is not None:
        here = np.ix_(shuffled, of_position)
        excess[here], distinguishes[here] = 0.0, False
    low, high = _compute_bounds(excess, distinguishes, stays, items.block, seed)
    if shuffled is not None and shuffled.all():
        low[of_position], high[of_position] = 0.0, 0.0
    mean = stays @ excess / stays.sum()
    bounds = [
        Bound(rule, *map(float, ends))
        for rule, *ends in zip([*(cue.name for cue in read), WORDS], mean, low, high, strict=True)
    ]
    bounds.sort(key=lambda bound: min(bound.low, -bound.high))
    return Proof(tuple(bounds), float(stays.sum()))


def require_enough_blocks(blocks: int, items: str = "the items") -> None:
    """Raise `DataError` if there are too few blocks; `items` names the items in the message."""
    if blocks < 2 * MIN_BLOCKS:
        raise DataError(
            f"{items} are too few for a repair, which needs {2 * MIN_BLOCKS}: half to learn from, "
            f"and half to measure the result (there are {blocks} if copies, twins and look-alikes "
            "count once). Add items, or rewrite options; `winosmith audit --todo` lists some"
        )


def _compute_excess_scores(items: Items, scores: Floats) -> Floats:
    own = items.find_correct_options(items.unit_key)
    return np.asarray(scores[own] - 1 / items.counts[:, None])


def _compute_bounds(
    excess: Floats, distinguishes: Bools, weights: Floats, block: Ints, seed: int
) -> tuple[Floats, Floats]:
    """Compute lower and upper bounds on each column's mean; see `bound_accuracies`.

    `excess` contains scores minus chance, (n, columns). `distinguishes`, (n, columns), states
    whether a column distinguishes the item's options. `weights` are 0–1.
    """
    from scipy.stats import beta

    total, columns = weights.sum(), excess.shape[1]
    blocks = int(block.max()) + 1
    weight = np.bincount(block, weights, blocks)
    there = int((weight > 0).sum())
    earned, heard = np.zeros((blocks, columns)), np.zeros((blocks, columns), np.bool_)
    np.add.at(earned, block, weights[:, None] * excess)
    np.logical_or.at(heard, block, distinguishes & (weights[:, None] > 0))
    mean = earned.sum(axis=0) / total
    influence = (earned - weight[:, None] * mean) / total

    block_stays = weights.max() * (weights > 0).sum() / there  # weight of a block that stays

    def compute_rare_bound(sign: int) -> Floats:
        """Bound the contribution of correct (1) or incorrect (-1) blocks to each mean."""
        part, most = np.maximum(sign * earned, 0), (sign * excess).max(axis=0)
        count = (part > 1e-9).sum(axis=0)
        share = beta.ppf(1 - LEVEL / columns / 2, count + 1, np.maximum(there - count, 1))
        each = np.maximum(part.max(axis=0), np.where(count > 0, most, 1.0) * block_stays)
        return np.asarray(np.where(count < there, share, 1.0) * each * there / total)

    spread = np.sqrt((influence**2).sum(axis=0))
    rare = heard.sum(axis=0) < _MIN_BOOTSTRAP_BLOCKS
    varies = ~rare & (spread > 1e-9)
    # A rule with the same score in all observed blocks may have another score in unseen blocks.
    width = np.full(columns, beta.ppf(1 - LEVEL / columns / 2, 1, there))
    width *= block_stays * there / total
    if varies.any():
        scaled = influence[:, varies] / spread[varies]
        rng, at_once = np.random.default_rng([seed, 7]), max(1, 4_000_000 // blocks)
        most: list[float] = []
        with use_one_thread():
            while len(most) < _DRAWS:
                drawn = rng.standard_normal((min(at_once, _DRAWS - len(most)), blocks)) @ scaled
                most += abs(drawn).max(axis=1).tolist()
        level = LEVEL * varies.sum() / columns
        width[varies] = np.quantile(most, 1 - level) * spread[varies]
    low = np.where(rare, -compute_rare_bound(-1), mean - width)
    high = np.where(rare, compute_rare_bound(1), mean + width)
    return low, high
