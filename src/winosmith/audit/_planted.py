"""Rank items by how suspect their keys are, and bound the number of wrong keys.

The keys of a few items are changed at random ("planted"), and a classifier learns from models'
answers to separate these items from the others. The classifier then ranks all items with their
actual keys. The ranks of held-out planted keys show how well a wrong key is detected, which bounds
the number of wrong keys (`bound_wrong_keys`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, log
from typing import Literal

import numpy as np

from winosmith.audit._items import MIN_BLOCKS, Bools, Floats, Ints, Items
from winosmith.results import HIDDEN, Result, computed, shown

MIN_MODELS = 4
"""Minimum number of models with different answers; fewer can't be divided into quarters."""

VISIBILITIES = (1.0, 0.75, 0.5)
"""Values of visibility for which a bound is computed; see `WrongKeysBound`."""

_DRAWS = 33
"""Number of draws. Each draw plants wrong keys in 3 % of the blocks. Together, the draws cover all
blocks."""

_MAX_PLANTED_KEYS = 20_000
"""Number of planted keys after which drawing stops, to save time in large data sets."""

_FOLDS, _REPETITIONS = 2, 10
"""Number of cross-fitting folds, and number of repetitions with different folds, so that the
ranking hardly depends on the seed."""

_RIDGE = 1.0
"""Ridge penalty on standardised features. A penalty of .01 or 100 gives the same ranking of
MMLU-Redux and MMLU-Pro, except for a few items."""

_MAX_ACCURACY = 0.98
"""Maximum accuracy used for a model's log odds, so that no single model decides an item."""

_LEVEL = 0.05
"""Probability that a bound is incorrect."""

Kind = Literal["random", "attractive"]
KINDS: dict[Kind, str] = {
    "random": "another option at random",
    "attractive": "the most attractive other option",
}
"""Kinds of planted keys. The most attractive option is the option (other than the key) whose voters
have the highest total weight."""


@dataclass(frozen=True, slots=True)
class WrongKeysBound(Result):
    """A conditional upper bound on the number of wrong keys.

    The condition is that wrong keys are detected at least `visibility` times as often as planted
    keys: for each rank, the probability that a wrong key has at least this rank is at least
    `visibility` times the probability that a planted key has it. The condition can't be tested
    without human judges. Keys for which no listed option is correct, and questions with two correct
    options, are not counted.

    Attributes:
        planted: kind of the planted keys; see `KINDS`.
        visibility: ratio of the detection rate of wrong keys to that of planted keys, 0–1.
        most: maximum number of blocks with a wrong key, at 95 % confidence; None if the data can't
            exclude any number.
    """

    planted: Kind = field(metadata=shown("planted", KINDS.__getitem__))
    visibility: float = field(metadata=shown("detection rate relative to planted keys", "g"))
    most: int | None = field(metadata=shown("wrong keys at most", ","))

    @property
    @computed()
    def in_words(self) -> str:
        """The bound and its condition as a phrase."""
        number = f"at most {self.most:,}" if self.most is not None else "no bound"
        times = "as often" if self.visibility == 1 else f"{self.visibility:g} times as often"
        return f"{number}, if a wrong key is detected {times} as a planted one"


@dataclass(frozen=True)
class PlantedKeys(Result):
    """A ranking of items and bounds on the number of wrong keys, learnt from planted keys.

    Attributes:
        blocks: number of blocks (groups of copies, twins and look-alikes).
        planted: number of blocks in which a wrong key of each kind was planted.
        bounds: bounds on the number of blocks with a wrong key; see `WrongKeysBound`.
        scores: (n,) suspicion of each item, higher for more suspect items: minus the mean logarithm
            of its ranks by `seen` and by agreement, as fractions.
        seen: (n,) suspicion according to the classifiers: minus the mean logarithm of the fraction
            of untouched blocks that are at least as suspect.
        beyond: for each kind, (planted, partitions), the fraction of untouched blocks that are at
            least as suspect as the planted key, 0–1.
        ranks: (planted,) for each key planted at random, the fraction of items whose `scores` are
            at least as high, 0–1.
    """

    blocks: int
    planted: int
    bounds: tuple[WrongKeysBound, ...] = field(metadata={"rows": True})
    scores: Floats = field(metadata=HIDDEN)
    seen: Floats = field(metadata=HIDDEN)
    beyond: Mapping[Kind, Floats] = field(metadata=HIDDEN)
    ranks: Floats = field(metadata=HIDDEN)

    def sentences(self) -> list[str]:
        """Return sentences with the bounds and their conditions."""
        return [
            f"Number of the {self.blocks:,} blocks in which the key is wrong and another option is "
            f"correct, if the planted key is {KINDS[kind]}: "
            + "; ".join(one.in_words for one in self.bounds if one.planted == kind)
            + "."
            for kind in KINDS
        ]


@dataclass(frozen=True)
class Choices:
    """Models' choices as arrays, with options and models in a canonical order.

    Attributes:
        chosen: (models, n) the chosen options, from 0; -1 if a model chose none.
        asked: (models, n) whether the model was asked.
        copy_of: (n,) a number that an item shares with its copies.
    """

    chosen: Ints
    asked: Bools
    keys: Ints
    counts: Ints
    block: Ints
    copy_of: Ints

    @classmethod
    def from_items(cls, items: Items, chosen: Ints, asked: Bools) -> Choices:
        """Sort the options of each item by their texts, and the models by their choices."""
        places = np.zeros((len(items), int(items.counts.max())), int)
        for item, texts in enumerate(items.texts):
            places[item, sorted(range(len(texts)), key=texts.__getitem__)] = range(len(texts))
        rows = np.arange(len(items))
        fixed = np.where(chosen >= 0, places[rows, chosen], -1)
        order = sorted(
            np.flatnonzero(asked.any(axis=1)),
            key=lambda model: (fixed[model].tobytes(), asked[model].tobytes()),
        )
        keys, copy_of = places[rows, items.keys], np.unique(items.originals, return_inverse=True)[1]
        return cls(fixed[order], asked[order], keys, items.counts, items.block, copy_of)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each item, (n,): an item and its copies have a total weight of 1."""
        return np.asarray(1 / np.bincount(self.copy_of)[self.copy_of])

    @cached_property
    def chance(self) -> float:
        return float(np.average(1 / self.counts, weights=self.weights))

    @cached_property
    def vote_positions(self) -> Ints:
        """The flat index of each vote in an array with the shape (n, most options)."""
        flat = np.arange(len(self.keys)) * int(self.counts.max()) + self.chosen
        return flat[self.chosen >= 0]

    def compute_ability(self, keys: Ints) -> Floats:
        """Return the accuracy of each model on all blocks except the item's own, (models, n), 0–1.

        One correct and one incorrect answer are added, so that the accuracy is never 0 or 1.
        """
        weights = self.weights
        right = (self.chosen == keys) * weights
        asked = self.asked * weights
        blocks = int(self.block.max()) + 1
        flat = np.arange(len(right))[:, None] * blocks + self.block

        def exclude_own_block(values: Floats) -> Floats:
            own = np.bincount(flat.ravel(), values.ravel(), len(values) * blocks)
            return np.asarray(values.sum(axis=1, keepdims=True) - own[flat])

        return (exclude_own_block(right) + 1) / (exclude_own_block(asked) + 2)

    def sum_by_option(self, values: Floats) -> Floats:
        """Sum the values of the models that chose each option; its shape is (n, most options)."""
        shape = len(self.keys), int(self.counts.max())
        flat = np.bincount(self.vote_positions, values[self.chosen >= 0], shape[0] * shape[1])
        return np.asarray(flat, np.float64).reshape(shape)


def find_training_obstacle(choices: Choices) -> str:
    """Return the reason why a model can't be trained on planted keys, or ""."""
    blocks = int(choices.block.max()) + 1
    if blocks < MIN_BLOCKS:
        return (
            f"its items form {blocks} block{'s' * (blocks > 1)} (groups of copies, twins and "
            f"look-alikes), but {MIN_BLOCKS} are needed"
        )
    different = len(np.unique(choices.chosen, axis=0))
    if different == 1 < len(choices.chosen):
        return "all models give the same answers"
    if different < MIN_MODELS:
        return (
            f"there {'is 1 model' if different == 1 else f'are {different} models'} with different "
            f"answers, but {MIN_MODELS} are needed"
        )
    if (choices.compute_ability(choices.keys) <= choices.chance).all():
        return "no model is better than chance"
    return ""


def rank_items(choices: Choices, seed: int) -> PlantedKeys:
    """Rank items by how suspect their keys are, and bound the number of wrong keys.

    Each block gets a wrong key in one of 33 draws: an item drawn at random from the block, and all
    copies of this item, get another option as the key. A ridge logistic regression on the features
    of `compute_features` separates items with planted keys from untouched items. An item is scored
    only by classifiers that were not fitted on its block. It is compared only with untouched items
    of the same draw that the classifier was not fitted on either. In data sets of more than 20,000
    blocks, draws stop after 20,000 planted keys, and only these blocks are fitted.

    Items are ranked by the geometric mean of two ranks: their rank by the classifiers, and their
    rank by agreement on the most attractive other option. No model knows the planted keys, so
    classifiers learn to trust the best models. If some models have memorised wrong keys, agreement
    finds more of them; see docs/wrong-keys.md.
    """
    found = {kind: _cross_fit(choices, kind, np.random.default_rng([seed, 14])) for kind in KINDS}
    blocks = int(choices.block.max()) + 1
    bounds = tuple(
        WrongKeysBound(kind, visibility, bound_wrong_keys(beyond, blocks, visibility))
        for kind, (_, beyond, _) in found.items()
        for visibility in VISIBILITIES
    )
    seen, beyond, agreed = found["random"]
    agreement = compute_features(choices, choices.keys)[0][:, 1]
    weights = choices.weights
    scores = (seen - np.log(_compute_fraction_above(agreement, weights, agreement))) / 2
    planted = -np.log(beyond.mean(axis=1) * _compute_fraction_above(agreement, weights, agreed)) / 2
    ranks = _compute_fraction_above(scores, weights, planted)
    every = {kind: own for kind, (_, own, _) in found.items()}
    return PlantedKeys(blocks, len(beyond), bounds, scores, seen, every, ranks)


def _compute_fraction_above(values: Floats, weights: Floats, limits: Floats) -> Floats:
    levels, place = np.unique(np.round(values, 9), return_inverse=True)
    above = np.append(np.bincount(place, weights)[::-1].cumsum()[::-1], weights.min())
    return np.asarray(above[np.searchsorted(levels, np.round(limits, 9))] / weights.sum())


def bound_wrong_keys(beyond: Floats, blocks: int, visibility: float) -> int | None:
    """Compute an upper bound on the number of blocks with a wrong key; None if there is no bound.

    If N of B blocks have a wrong key, at most t·B of these are among the t·B most suspect blocks.
    Under the condition, their expected number is at least N·v·P(t), where P(t) is the probability
    that a planted key is among the t·B most suspect blocks. By the one-sided inequality of
    Dvoretzky, Kiefer and Wolfowitz for two samples, the observed fractions of m planted and of N
    wrong keys differ by √(ln 20 · (1/N + 1/m) / 2) more than expected at any t with a probability
    of at most 5 %. The bound is the maximum N with N·(v·P(t) − √(ln 20 · (1/N + 1/m) / 2)) ≤ t·B at
    every t. See Massart (1990) and Wei and Dudley (2012). For two samples, the constant is proved
    only for large samples; docs/wrong-keys.md shows simulations.

    Args:
        beyond: (m, …) for each planted key, the fraction of untouched blocks that are at least as
            suspect, 0–1. Additional axes are repeated partitions, whose mean is used.
        blocks: number B of blocks.
        visibility: the ratio v of the detection rate of wrong keys to that of planted keys.

    >>> bound_wrong_keys(np.zeros(1000), 1000, 1.0)
    1
    >>> bound_wrong_keys(np.linspace(0, 1, 1000), 1000, 1.0) is None
    True
    """
    m, variance = len(beyond), -log(_LEVEL) / 2
    t, times = np.unique(np.ceil(np.round(beyond.ravel() * blocks, 6)), return_counts=True)
    a = visibility * times.cumsum() / beyond.size
    # N a - t = sqrt(variance (N + N²/m)), the larger root of its square
    square, half = a**2 - variance / m, a * t + variance / 2
    can = square > 0
    roots = np.sqrt(np.maximum(half**2 - square * t**2, 0))
    most = ((half + roots)[can] / square[can]).min() if can.any() else np.inf
    return floor(most + 1e-9) if most < blocks else None


def _choose_planted_keys(
    choices: Choices, kind: Kind, rng: np.random.Generator
) -> tuple[Bools, Ints, Ints]:
    """Return which items get wrong keys, the draw that changes each block, and the wrong keys.

    All results have the shape (n,). The draw is that of the item's block, or -1 if no draw changes
    the block.
    """
    block, copy_of, keys = choices.block, choices.copy_of, choices.keys
    blocks = int(block.max()) + 1
    draws = min(_DRAWS, max(3, ceil(_MAX_PLANTED_KEYS / ceil(blocks / _DRAWS))))
    place = rng.permutation(blocks) % _DRAWS
    draw_ids = np.where(place < draws, place, -1)[block]
    # copies share these numbers; the item with the highest priority in its block is changed
    priority, shift = (rng.random(int(copy_of.max()) + 1)[copy_of] for _ in range(2))
    highest = np.full(blocks, -1.0)
    np.maximum.at(highest, block, priority)
    other = (keys + 1 + (shift * (choices.counts - 1)).astype(int)) % choices.counts
    if kind == "attractive":
        _, other = compute_features(choices, keys)
    return (priority == highest[block]) & (draw_ids >= 0), draw_ids, other


def _cross_fit(
    choices: Choices, kind: Kind, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Cross-fit classifiers that detect planted keys.

    Returns:
        The suspicion of each item, (n,); for each planted key, the fraction of blocks that are at
        least as suspect, (m, repetitions); and the agreement on the most attractive option other
        than the planted key, (m,).
    """
    block, weights, keys = choices.block, choices.weights, choices.keys
    n, blocks = len(block), int(block.max()) + 1
    planted, draw_ids, other = _choose_planted_keys(choices, kind, rng)
    draws = int(draw_ids.max()) + 1
    seen = np.stack([
        compute_features(choices, np.where(planted & (draw_ids == draw), other, keys))[0]
        for draw in range(draws)
    ])  # fmt: skip
    item = np.flatnonzero(planted)
    item = item[np.argsort(block[item], kind="stable")]
    item = item[np.diff(block[item], prepend=-1) > 0]  # copies have the same key
    agreed = seen[draw_ids[item], item, 1]
    seen -= np.average(seen.mean(axis=0), axis=0, weights=weights)
    scale = np.sqrt(np.average((seen**2).mean(axis=0), axis=0, weights=weights))
    seen /= np.where(scale > 1e-9, scale, 1.0)
    # each planted item in its draw, and each item in a draw that did not change its block
    untouched = np.flatnonzero(draw_ids >= 0)
    elsewhere = (draw_ids + 1 + rng.integers(draws - 1, size=blocks)[block]) % draws
    source = np.concatenate([np.flatnonzero(planted), untouched])
    known = seen[np.concatenate([draw_ids[planted], elsewhere[untouched]]), source]
    is_planted = np.repeat([1.0, 0.0], [planted.sum(), len(untouched)])
    line = np.zeros(seen.shape[2] + 1)
    by_block = np.argsort(block, kind="stable")
    scores, beyond = np.zeros(n), np.full((blocks, _REPETITIONS), np.nan)
    for time in range(_REPETITIONS):
        fold = rng.permutation(blocks) % _FOLDS
        for one in range(_FOLDS):
            fit = fold[block[source]] != one
            line = fit_ridge(known[fit], is_planted[fit], weights[source[fit]], line)
            held = by_block[fold[block[by_block]] == one]
            suspicion = np.round((seen @ line[:-1])[:, held], 9)
            own, of_planted = _compare_within_draws(
                suspicion, block[held], planted[held], draw_ids[held]
            )
            scores[held] += own
            np.fmin.at(beyond, (block[held[planted[held]]], time), of_planted)
    return scores / _REPETITIONS, beyond[~np.isnan(beyond[:, 0])], agreed


def _compare_within_draws(
    suspicion: Floats, block: Ints, planted: Bools, draw_ids: Ints
) -> tuple[Floats, Floats]:
    """Compare the scores that one classifier gives to items, within each draw.

    `suspicion` contains the scores of items on which the classifier was not fitted, (draws, n). The
    blocks of the items are ascending. `draw_ids` are the draws in which the items' blocks were
    changed, or -1.

    Returns:
        For each item, minus the mean logarithm of the fraction of blocks that are at least as
        suspect, in draws that did not change the item; and for each planted item, the fraction of
        untouched blocks that are at least as suspect. Each item's own block is included.
    """
    changed = draw_ids == np.arange(len(suspicion))[:, None]
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    strongest = np.maximum.reduceat(np.where(changed, -np.inf, suspicion), starts, axis=1)
    strongest.sort(axis=1)
    untouched = np.isfinite(strongest).sum(axis=1)
    ahead = len(starts) - np.stack(
        [np.searchsorted(blocks, items) for blocks, items in zip(strongest, suspicion, strict=True)]
    )
    ranks = np.where(changed, 0, np.log(np.maximum(ahead, 1) / untouched[:, None]))
    draw, item = draw_ids[planted], np.flatnonzero(planted)
    beyond = (ahead[draw, item] + 1) / (untouched[draw] + 1)
    return -ranks.sum(axis=0) / (~changed).sum(axis=0), beyond


def compute_features(choices: Choices, keys: Ints) -> tuple[Floats, Ints]:
    """Compute the features of models' choices in each item, given the keys.

    A model's weight is its accuracy above chance on the items of other blocks. The features are:

    - the weight of the models that chose the key, the most attractive other option, and the next
      one, as fractions; and the difference of the first two;
    - the log odds of the first two options if each model is correct with a probability of its
      accuracy, and otherwise chooses an incorrect option at random (the model of Dawid and Skene,
      1979, with one parameter per model);
    - the correlation of models' accuracy with choosing the key, and with choosing the other option;
    - the fractions of the best and of the worst quarter of models that chose the key, and that
      chose the other option;
    - the entropy of the weights, the logarithm of the number of options, and the fraction of models
      that chose an option;
    - whether no model chose the key, and whether all chose the other option. In these two cases, an
      undefined correlation is set to 0. Without these features, the classifier would treat an item
      on which all models agree as ordinary.

    Returns:
        (n, 16) the features, and (n,) the most attractive option that is not the key.
    """
    rows, counts, voted = np.arange(len(keys)), choices.counts, choices.chosen >= 0
    ability = choices.compute_ability(keys)
    weight = np.clip((ability - choices.chance) / (1 - choices.chance), 0, None)
    votes = choices.sum_by_option(voted.astype(float))
    number = votes.sum(axis=1)
    some = np.maximum(number, 1)
    mean = np.where(voted, ability, 0).sum(axis=0) / some
    deviation = np.where(voted, ability - mean, 0)
    spread = np.sqrt((deviation**2).sum(axis=0) / some)
    ratio = np.clip(ability, 1 - _MAX_ACCURACY, _MAX_ACCURACY)
    odds = choices.sum_by_option(np.clip(np.log(ratio * (counts - 1) / (1 - ratio)), 0, None))
    shares = _normalise(choices.sum_by_option(weight))
    agree = votes / some[:, None]
    width = spread[:, None] * np.sqrt(agree * (1 - agree))
    level = np.divide(
        choices.sum_by_option(deviation) / some[:, None],
        width,
        out=np.zeros_like(width),
        where=width > 1e-9,
    )
    quarter = max(1, len(ability) // 4)
    order = np.sort(ability, axis=0)
    best = _normalise(choices.sum_by_option((ability >= order[-quarter]).astype(float)))
    worst = _normalise(choices.sum_by_option((ability <= order[quarter - 1]).astype(float)))
    there = np.arange(shares.shape[1]) < counts[:, None]
    others = np.where(there, shares, -1.0)
    others[rows, keys] = -1.0
    other = others.argmax(axis=1)
    leading = others[rows, other]
    others[rows, other] = 0.0
    on_key = shares[rows, keys]
    values = [
        on_key,
        leading,
        others.max(axis=1),
        on_key - leading,
        odds[rows, keys] - odds[rows, other],
        level[rows, keys],
        level[rows, other],
        best[rows, keys],
        worst[rows, keys],
        best[rows, other],
        worst[rows, other],
        -(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1),
        np.log(counts),
        number / len(ability),
        votes[rows, keys] == 0,
        (votes[rows, other] == number) & (number > 0),
    ]
    return np.column_stack(values), other


def _normalise(totals: Floats) -> Floats:
    return np.asarray(totals / np.maximum(totals.sum(axis=1, keepdims=True), 1e-12))


def fit_ridge(values: Floats, is_planted: Floats, weights: Floats, start: Floats) -> Floats:
    """Fit a ridge logistic regression; return the coefficients, with the intercept last.

    `values` are standardised features, (n, features). `start` contains initial coefficients, such
    as the result of a similar fit.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    rows = np.column_stack([values, np.ones(len(values))])
    ridge = np.append(np.full(values.shape[1], _RIDGE), 1e-6)

    def loss(coef: Floats) -> tuple[float, Floats]:
        odds = rows @ coef
        value = weights @ (np.logaddexp(0, odds) - is_planted * odds) + ridge @ coef**2 / 2
        return float(value), rows.T @ (weights * (expit(odds) - is_planted)) + ridge * coef

    def curvature(coef: Floats) -> Floats:
        chance = expit(rows @ coef)
        weighted = rows * (weights * chance * (1 - chance))[:, None]
        return np.asarray(weighted.T @ rows + np.diag(ridge))

    found = minimize(loss, start, jac=True, hess=curvature, method="trust-exact")
    return np.asarray(found.x)
