"""Thin items, so that no cue selects their keys more often than by chance, and bound what is left.

Each unit gets a probability of staying, learnt from a set of blocks (`Thinning.learn`):

- a conditional logit of the flagged cues, and of a word model if it is significant, gives each
  option a *posterior*: the probability that it is the key, without reading;
- a unit stays with the probability σ(4 − λ·d). For each cue, d contains the selection of the key
  minus the mean over the options; two more entries are for the logarithm of the posterior, and for
  the option with the highest posterior. λ solves Σ σ(4 − λ·d) d = 0: the accuracy of each entry on
  the remaining items is chance. (The mirror filter's objective "chance" holds only for the option
  with the highest posterior: another option may be correct too often, so that the shortest option
  takes the role of the longest.)

No unit is removed with certainty, or because it is beyond a threshold: after a cut, the cue would
be incorrect too often, which would again be a cue.

An item with a wrong key looks like an item whose key no cue selects, so thinning keeps it more
often than a sound item. Planted wrong keys show this effect (`Thinning.measure_concentration`).

The evidence for a repair is the accuracy of rules on held-out blocks (`bound_accuracies`). On the
items that a repair saw, every cue is at chance by construction. Therefore, blocks are split into
halves, and each half is thinned by rules learnt from the other half. On each thinned half, every
cue is measured, and so is a word model fitted to the other thinned half. If a cue is extreme by
chance in one half, the other half is thinned too much, and the half itself too little. These errors
have opposite signs, and their mean is near 0 for any repair that is correct on average. So the
width of a bound is evidence, but its centre is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from winosmith.audit import _items
from winosmith.audit._audit import AuditSettings
from winosmith.audit._battery import score_cues
from winosmith.audit._cues import CUES, Cue
from winosmith.audit._items import MIN_BLOCKS, Bools, Floats, Ints, Items
from winosmith.audit._probes import cross_fit_scores, extract_features, fit_probe
from winosmith.debias import Logit
from winosmith.errors import DataError
from winosmith.metrics import MAX_P
from winosmith.options import Fraction, declaration
from winosmith.parallel import use_one_thread
from winosmith.report import percent
from winosmith.results import Result, computed

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_KEEP_LOGIT = 4.0
"""A unit with d = 0 is kept with probability σ(4) = 0.98."""

_FLAGGED_PENALTY, _OTHER_PENALTY = 0.01, 1.0
"""Factors of the penalty λ² / 2: for flagged cues and the posterior, and for all other cues, whose
deviations in a small data set are mostly random."""

_SYNTHETIC_SETS, _MAX_SYNTHETIC_ITEMS = 20, 5000
"""Number of synthetic sets with planted wrong keys, and maximum number of items in each. With 5,000
MMLU-Redux items, a set takes 0.8 s, and all sets together take a tenth of the repair's time."""

_PLANTED_FRACTION, _MIN_PLANTED = 0.02, 10
"""Fraction and minimum number of units that get a wrong key in a synthetic set. With fewer units,
differences between sets are mostly random."""


@declaration
class RepairSettings(AuditSettings):
    """Settings of a repair."""

    set_aside: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Number of items to set aside in each file because models doubt their keys; 0 for none.
    By default, all items for which models agree strongly on another option, but at most 2 %."""
    least_kept: Fraction = 0.2
    """Minimum fraction of items that a repair must keep; otherwise it is refused. The rate of wrong
    keys can rise by a factor of up to 1 / (the fraction kept)."""


@dataclass(frozen=True)
class LearntRules:
    """Rules learnt from some blocks, and the resulting probabilities of all units.

    Attributes:
        has_position_cue: whether a position cue is flagged.
        has_word_model: whether the word model is significant.
        posterior: (units,) posterior of each key, 0–1.
        stays: (units,) probability that the unit stays, 0–1.
    """

    cues: tuple[str, ...]
    has_position_cue: bool
    has_word_model: bool
    posterior: Floats
    stays: Floats


@dataclass(frozen=True, slots=True)
class Concentration(Result):
    """The effect of thinning on the rate of wrong keys, measured on synthetic data sets.

    Attributes:
        factor: mean ratio of the rate of wrong keys after thinning to the rate before.
        low, high: 95 % interval of this mean (Student's t).
        sets: number of synthetic data sets.
        planted: number of wrong keys planted in each synthetic set.
        items: number of items in each synthetic set.
        total_items: number of items in the repaired data set.
    """

    factor: float
    low: float
    high: float
    sets: int
    planted: int
    items: int
    total_items: int = field(metadata={"key": "of"})


@dataclass(frozen=True)
class Thinning:
    """The thinning of prepared items.

    Attributes:
        fixed: (n,) whether the order of an item's options has a meaning.
        cues: see `audit`.
    """

    items: Items
    fixed: Bools
    cues: Sequence[Cue]
    settings: RepairSettings

    @cached_property
    def cue_scores(self) -> dict[str, Floats]:
        """The scores of each content cue, (options,), 0–1, by the cue's name."""
        read = self.items.select_readable_cues([cue for cue in self.cues if cue.about == "content"])
        shares = _items.TIE_SHARES[self.items.count_ties(read)]
        return {cue.name: shares[:, at] for at, cue in enumerate(read)}

    @cached_property
    def position_scores(self) -> list[Floats]:
        """For each position, 1 for the options of fixed items there and otherwise 0, (options,).

        The list is empty if there are no fixed items.
        """
        if not self.fixed.any():
            return []
        at = np.concatenate([np.arange(count) for count in self.items.counts])
        fixed = np.repeat(self.fixed, self.items.counts)
        return [
            ((at == place) & fixed).astype(float) for place in range(int(self.items.counts.max()))
        ]

    @cached_property
    def word_features(self) -> csr_matrix:
        return extract_features(self.items, "options")[1]

    def learn(self, training: Bools) -> LearntRules:
        """Learn the rules from the items that `training` marks, which are whole blocks."""
        part = self.items if training.all() else self.items.subset(training)
        how = self.settings
        flagged = score_cues(part, self.cues, draws=how.draws, seed=how.seed).flagged
        cues = tuple(found.cue for found in flagged if found.cue in self.cue_scores)
        has_position_cue = any(found.about == "position" for found in flagged)
        has_word_model = False
        if how.probe_draws and part.block_count >= MIN_BLOCKS:
            probe = fit_probe(part, "options", draws=how.probe_draws, seed=how.seed)
            has_word_model = probe.p <= MAX_P
        return self.fit(training, cues, has_position_cue, has_word_model)

    def fit(
        self, training: Bools, cues: tuple[str, ...], has_position_cue: bool, has_word_model: bool
    ) -> LearntRules:
        """Fit the posterior of the given rules to the items that `training` marks."""
        items = self.items
        columns = [self.cue_scores[cue] for cue in cues]
        if has_position_cue:
            columns += self.position_scores
        units = _Units(items)
        if not (columns or has_word_model):
            chance = 1 / items.unit_counts
            return LearntRules((), has_position_cue, False, chance, np.ones(len(chance)))
        with use_one_thread():
            if has_word_model:
                weights, seed = training.astype(float), self.settings.seed
                columns.append(cross_fit_scores(items, self.word_features, weights, seed))
            in_training = training[items.unit_starts]
            means = units.compute_mean_scores(columns)
            log_posterior = units.compute_log_posterior(means, in_training)
            balanced = [*self.cue_scores.values(), *self.position_scores]
            top = _items.split_ties(log_posterior, units.starts, items.unit_counts, 1e-9)
            entries = np.column_stack([units.compute_mean_scores(balanced), top, log_posterior])
            is_flagged = [name in cues for name in self.cue_scores]
            is_flagged += [True] * (len(self.position_scores) + 2)
            penalty = np.where(is_flagged, _FLAGGED_PENALTY, _OTHER_PENALTY)
            deviations = units.subtract_means(entries)
            stays = _fit_probabilities(deviations, units.keys[in_training], penalty)
        posterior = np.exp(log_posterior[units.keys])
        return LearntRules(cues, has_position_cue, has_word_model, posterior, stays[units.keys])

    def measure_concentration(self, rules: LearntRules, step: _items.Step) -> Concentration | None:
        """Measure the factor by which thinning multiplies the rate of wrong keys.

        In each synthetic set (all items, or random blocks of at most `_MAX_SYNTHETIC_ITEMS` items),
        random units get a random incorrect option as the key. Each set is
        thinned by the given rules, refitted to the set, and every item is weighted by its
        probability of staying. The factor may differ for wrong keys in real data, which are seldom
        random options. None is returned if nothing is thinned.
        """
        from scipy.stats import t

        if not (
            rules.cues or rules.has_word_model or (rules.has_position_cue and self.position_scores)
        ):
            return None
        part, items, sets = self, self.items, _SYNTHETIC_SETS
        if len(items) > _MAX_SYNTHETIC_ITEMS:
            order = np.random.default_rng([self.settings.seed, 9]).permutation(items.block_count)
            sizes = np.cumsum(np.bincount(items.block)[order])
            blocks = max(1, int(np.searchsorted(sizes, _MAX_SYNTHETIC_ITEMS, side="right")))
            drawn = np.isin(items.block, order[:blocks])
            items = items.subset(drawn)
            part = replace(self, items=items, fixed=self.fixed[drawn])
        what = f"repair: measuring the effect on wrong keys in {sets} sets of {len(items):,} items"
        step(what)
        report_done = _items.make_reporter(step, what, sets, "sets")
        known = {"cue_scores": part.cue_scores, "position_scores": part.position_scores}
        if rules.has_word_model:
            known["word_features"] = part.word_features
        rng, units = np.random.default_rng([self.settings.seed, 10]), len(items.unit_starts)
        planted = max(_MIN_PLANTED, round(_PLANTED_FRACTION * units))
        factors, count = [], 0
        for done in range(sets):
            wrong = rng.choice(units, planted, replace=False)
            keys: Ints = items.unit_key.copy()
            shift = 1 + (rng.random(planted) * (items.unit_counts[wrong] - 1)).astype(int)
            keys[wrong] = (keys[wrong] + shift) % items.unit_counts[wrong]
            synthetic = replace(part, items=items.with_keys(keys))
            vars(synthetic).update(known)  # they don't depend on keys
            everything = np.ones(len(items), np.bool_)
            fitted = synthetic.fit(
                everything, rules.cues, rules.has_position_cue, rules.has_word_model
            )
            stays, is_wrong = fitted.stays[items.unit], np.isin(items.unit, wrong)
            count += int(is_wrong.sum())
            factors.append(stays[is_wrong].sum() / stays.sum() / is_wrong.mean())
            report_done(done + 1)
        mean, error = float(np.mean(factors)), float(np.std(factors, ddof=1)) / sets**0.5
        width = float(t.ppf(0.975, sets - 1)) * error
        return Concentration(
            mean, mean - width, mean + width, sets, round(count / sets), len(items), len(self.items)
        )

    def require_enough_kept(self, rules: LearntRules, kept_count: int, total: int) -> None:
        least = self.settings.least_kept
        if kept_count and kept_count > least * total - 1e-6:
            return
        own = self.items.find_correct_options(self.items.unit_key)
        right = {cue: float(self.cue_scores[cue][own].mean()) for cue in rules.cues}
        cue = max(right, key=lambda name: right[name], default=None)
        if cue is None:
            by = "the words of the options reveal nearly every key"
            rewrite = "rewrite incorrect options so that they have the same words as keys"
        else:
            many = round((right[cue] - self.items.chance) * total)
            by = f"“{cue}” is correct for {percent(right[cue])} of the items"
            rewrite = f"rewrite options so that “{cue}” is incorrect for about {many:,} more items"
        lower = int(100 * kept_count / total) / 100
        accept = f", or accept the loss with `least_kept={lower}`" if lower else ""
        few = "no item"
        if kept_count:
            few = f"only {kept_count:,} of {total:,} items ({percent(kept_count / total)})"
        raise DataError(
            f"{few} would be kept, but at least {percent(least, 0)} must be: {by}. Instead of "
            f"removing items, {rewrite}{accept}"
        )


class _Units:
    """Units, with a row for each possible position of a unit's key.

    Attributes:
        exists: (units, most options) whether a position exists.
        starts: (units,) the first row of each unit.
        keys: (units,) the row of each unit's key.
    """

    def __init__(self, items: Items):
        self._items, counts = items, items.unit_counts
        self.exists = np.arange(int(counts.max())) < counts[:, None]
        self.starts = np.cumsum(counts) - counts
        self.keys = self.starts + items.unit_key

    def compute_mean_scores(self, columns: Sequence[Floats]) -> Floats:
        """Return the mean score of a unit's items at each key position, (rows, columns)."""
        sizes = np.bincount(self._items.unit)[:, None, None]
        scores = self._items.compute_unit_scores(np.column_stack(columns))
        return np.asarray((scores / sizes)[self.exists])

    def compute_log_posterior(self, rows: Floats, training: Bools) -> Floats:
        """Return each row's log probability under a conditional logit of the training units."""
        counts = self._items.unit_counts
        turns = np.zeros((len(rows), 1), np.float32)
        turns[self.keys] = 1
        logit = Logit(rows.astype(np.float32), C=1.0, starts=self.starts)
        z = rows @ logit.fit(training[:, None].astype(np.float32), turns)[:, 0]
        z -= np.repeat(np.maximum.reduceat(z, self.starts), counts)
        total = np.log(np.add.reduceat(np.exp(z), self.starts))
        return np.asarray(z - np.repeat(total, counts))

    def subtract_means(self, rows: Floats) -> Floats:
        counts = self._items.unit_counts
        means = np.add.reduceat(rows, self.starts, axis=0) / counts[:, None]
        return np.asarray(rows - np.repeat(means, counts, axis=0))


def _fit_probabilities(deviations: Floats, training: Ints, penalty: Floats) -> Floats:
    """Fit the probability that each row stays, (rows,), so that weighted training rows sum to 0.

    The probabilities are σ(4 − λ·d), with the λ that minimises the sum of log(1 + e^(4 − λ·d)),
    apart from the penalty: the derivative is −Σ σ d, so the columns of the remaining rows sum to 0.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    seen = deviations[training]

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = _KEEP_LOGIT - seen @ weights
        value = np.logaddexp(0, z).sum() + penalty @ weights**2 / 2
        return float(value) / len(seen), (penalty * weights - expit(z) @ seen) / len(seen)

    found = minimize(loss, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-12})  # fmt: skip
    return np.asarray(expit(_KEEP_LOGIT - deviations @ found.x).round(9))


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
        shares = _items.split_ties(scores, items.starts, items.counts)
        words[asked] = _compute_excess_scores(items, shares[:, None])[asked, 0]
    if len(np.unique(items.block[stays > 0])) < MIN_BLOCKS or stays.sum() < MIN_BLOCKS:
        return Proof((), float(stays.sum()))
    excess = np.column_stack([_compute_excess_scores(items, _items.TIE_SHARES[ties]), words])
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
        share = beta.ppf(1 - MAX_P / columns / 2, count + 1, np.maximum(there - count, 1))
        each = np.maximum(part.max(axis=0), np.where(count > 0, most, 1.0) * block_stays)
        return np.asarray(np.where(count < there, share, 1.0) * each * there / total)

    spread = np.sqrt((influence**2).sum(axis=0))
    rare = heard.sum(axis=0) < _MIN_BOOTSTRAP_BLOCKS
    varies = ~rare & (spread > 1e-9)
    # A rule with the same score in all observed blocks may have another score in unseen blocks.
    width = np.full(columns, beta.ppf(1 - MAX_P / columns / 2, 1, there))
    width *= block_stays * there / total
    if varies.any():
        scaled = influence[:, varies] / spread[varies]
        rng, at_once = np.random.default_rng([seed, 7]), max(1, 4_000_000 // blocks)
        most: list[float] = []
        with use_one_thread():
            while len(most) < _DRAWS:
                drawn = rng.standard_normal((min(at_once, _DRAWS - len(most)), blocks)) @ scaled
                most += abs(drawn).max(axis=1).tolist()
        level = MAX_P * varies.sum() / columns
        width[varies] = np.quantile(most, 1 - level) * spread[varies]
    low = np.where(rare, -compute_rare_bound(-1), mean - width)
    high = np.where(rare, compute_rare_bound(1), mean + width)
    return low, high
