"""Thin items, so that no cue selects their keys more often than by chance.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from winosmith.audit import _items
from winosmith.audit._audit import AuditSettings
from winosmith.audit._battery import LEVEL, score_cues
from winosmith.audit._cues import Cue
from winosmith.audit._items import Bools, Floats, Ints, Items, Step
from winosmith.audit._probes import cross_fit_scores, extract_features, fit_probe
from winosmith.debias import Logit
from winosmith.errors import DataError
from winosmith.options import Fraction, declaration
from winosmith.parallel import use_one_thread
from winosmith.report import percent
from winosmith.results import Result

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
        stays_at: (units, most options) probability that the unit would stay if its key were at the
            position; 0 beyond the options. None if the rules were read from a file.
    """

    cues: tuple[str, ...]
    has_position_cue: bool
    has_word_model: bool
    posterior: Floats
    stays: Floats
    stays_at: Floats | None = None


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
        if how.probe_draws and part.block_count >= _items.MIN_BLOCKS:
            probe = fit_probe(part, "options", draws=how.probe_draws, seed=how.seed)
            has_word_model = probe.p <= LEVEL
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
            chance, exists = 1 / items.unit_counts, units.exists.astype(float)
            return LearntRules((), has_position_cue, False, chance, np.ones(len(chance)), exists)
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
        at = np.zeros(units.exists.shape)
        at[units.exists] = stays
        posterior = np.exp(log_posterior[units.keys])
        return LearntRules(cues, has_position_cue, has_word_model, posterior, stays[units.keys], at)

    def measure_concentration(self, rules: LearntRules, step: Step) -> Concentration | None:
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
