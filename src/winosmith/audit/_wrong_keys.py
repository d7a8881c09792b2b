"""Wrong keys in a repair: items set aside because models doubt them, and the effect of thinning.

An item with a wrong key looks like an item whose key no cue selects, so thinning keeps it more
often than a sound item. Models' answers reveal some of these items, which are set aside before cues
are learnt (`choose_items_to_set_aside`). For the others, planted wrong keys show the effect of
thinning (`measure_concentration`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from winosmith.answers import Answers
from winosmith.audit._items import Bools, Floats, Ints, Items, ReportDone
from winosmith.audit._triage import MIN_MODELS, Suspect, Votes, find_suspects
from winosmith.dataset import Dataset
from winosmith.results import Result, shown

MAX_SET_ASIDE = 0.02
"""Maximum fraction of items that are set aside if no number is given."""

_AGREEMENT_QUANTILE = 0.9
"""Items set aside by default must reach this quantile of the agreement on agreed keys."""

SYNTHETIC_SETS = 20
"""Number of synthetic sets with planted wrong keys."""

_PLANTED_FRACTION, _MIN_PLANTED = 0.02, 10
"""Fraction and minimum number of units that get a wrong key in a synthetic set. With fewer units,
differences between sets are mostly random."""

_MAX_ITEMS = 5000
"""Maximum number of items in a synthetic set, in whole random blocks. With 5,000 MMLU-Redux items,
a set takes 0.8 s, and all `SYNTHETIC_SETS` of them take a tenth of the repair's time."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """A model's accuracy before and after a repair, 0–1; None if it answered no items.

    Attributes:
        before: accuracy on the original data set.
        without: accuracy on the original data set without the items set aside.
        after: accuracy on the kept items.
    """

    before: float | None = field(metadata=shown("before", ".1%"))
    without: float | None = field(metadata=shown("without those set aside", ".1%"))
    after: float | None = field(metadata=shown("kept", ".1%"))


@dataclass(frozen=True, slots=True)
class DoubtedKeys(Result):
    """The items whose keys models doubt most.

    Attributes:
        set_aside: the suspects set aside, in descending order of agreement.
        as_strong: number of suspects that meet the rule, including those beyond `MAX_SET_ASIDE`;
            the number of all suspects if a number was given.
        threshold: minimum agreement for the rule, 0–1; None if a number was given, or if there are
            too few models for the rule.
        accuracy: accuracy of each model by name, before and after the repair; empty until the
            repair is done.
    """

    set_aside: tuple[Suspect, ...] = field(metadata={"key": "items"})
    as_strong: int
    threshold: float | None
    accuracy: Mapping[str, Accuracy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Concentration:
    """The effect of thinning on the rate of wrong keys, measured on synthetic data sets.

    Attributes:
        factor: mean ratio of the rate of wrong keys after thinning to the rate before.
        low, high: 95 % interval of this mean (Student's t).
        sets: number of synthetic data sets.
        planted: number of wrong keys planted in each synthetic set.
        items: number of items in each synthetic set.
        of: number of items in the repaired data set.
    """

    factor: float
    low: float
    high: float
    sets: int
    planted: int
    items: int
    of: int


def select_answers(answers: Mapping[str, Answers], data: Dataset) -> dict[str, Answers]:
    """Select the answers to the items of a data set; drop models that answered none."""
    ids = {*data.ids}
    found = {}
    for model, given in answers.items():
        own = tuple(one for one in given.predictions if one.problem_id in ids)
        if any(one.chosen for one in own):
            found[model] = replace(given, predictions=own)
    return found


def choose_items_to_set_aside(
    items: Items,
    answers: Mapping[str, Answers],
    number: int | None,
    seed: int,
    checked: Collection[str] = (),
) -> DoubtedKeys:
    """Choose items to set aside: those where models agree most on an option other than the key.

    Without a number, an item is set aside if at least three models agree on the other option, this
    option has more weight than the key, and its agreement is at least the 10th percentile of the
    agreement on keys that models agree on. (A fixed limit would not work for models that are often
    incorrect: eight models with an accuracy of 75 % seldom have an agreement of 90 %. Confident
    learning sets its limits in the same way; Northcutt, Jiang and Chuang 2021.) At most the
    fraction `MAX_SET_ASIDE` of the items is set aside, because most suspects of good models are
    sound items.

    Args:
        items: items with keys, without copies.
        answers: answers from models that answered some of the items.
        number: number of suspects to set aside; None for the rule.
        seed: random seed for the order of suspects with the same agreement and number of models.
        checked: ids of items whose keys people have checked, which are never suspects.

    Raises:
        DataError: an answer is not an option of its item.
    """
    votes = Votes.from_answers(items, answers)
    place = {problem.id: at for at, problem in enumerate(items.problems)}
    tie_break = np.random.default_rng([seed, 8]).permutation(len(items))
    found = sorted(
        (one for one in find_suspects(items, votes) if one.id not in checked),
        key=lambda one: (-round(one.agreement, 9), -one.models, tie_break[place[one.id]]),
    )
    if number is not None:
        return DoubtedKeys(tuple(found[:number]), len(found), None)
    agreement = votes.compute_agreement(items)
    on_key = agreement[np.arange(len(items)), items.keys]
    agreement[np.arange(len(items)), items.keys] = 0.0
    agreed = np.sort(on_key[on_key > agreement.max(axis=1)])
    if len(votes.chosen) < MIN_MODELS or not len(agreed):
        return DoubtedKeys((), 0, None)
    threshold = float(agreed[int((1 - _AGREEMENT_QUANTILE) * len(agreed))])
    strong = [
        one
        for one in found
        if one.models >= MIN_MODELS
        and one.agreement >= threshold - 1e-9
        and one.agreement > on_key[place[one.id]]
    ]
    return DoubtedKeys(tuple(strong[: int(MAX_SET_ASIDE * len(items))]), len(strong), threshold)


def compare_accuracies(
    data: Dataset, answers: Mapping[str, Answers], set_aside: Sequence[str], kept: Sequence[str]
) -> dict[str, Accuracy]:
    """Compare models' accuracies before and after a repair, with the best model before it first.

    Invalid answers are incorrect. Items set aside, and items kept, are given by their ids.
    """
    keys = {problem.id: problem.answer for problem in data if problem.answer is not None}
    without = keys.keys() - set(set_aside)

    def measure(answers: Answers, ids: set[str]) -> float | None:
        credit = [answers.by_id[name].credit(keys[name]) for name in ids if name in answers.by_id]
        return sum(credit) / len(credit) if credit else None

    found = {
        model: Accuracy(measure(given, {*keys}), measure(given, without), measure(given, {*kept}))
        for model, given in answers.items()
    }
    return dict(sorted(found.items(), key=lambda one: -(one[1].before or 0.0)))


def draw_items(items: Items, seed: int) -> Bools:
    """Draw the items of the synthetic sets; return a mask, (n,). Large data sets are sampled."""
    if len(items) <= _MAX_ITEMS:
        return np.ones(len(items), np.bool_)
    order = np.random.default_rng([seed, 9]).permutation(items.block_count)
    sizes = np.cumsum(np.bincount(items.block)[order])
    drawn = order[: max(1, int(np.searchsorted(sizes, _MAX_ITEMS, side="right")))]
    return np.isin(items.block, drawn)


def measure_concentration(
    items: Items,
    refit: Callable[[Items], Floats],
    total: int,
    seed: int,
    report_done: ReportDone = lambda _: None,
) -> Concentration:
    """Measure the factor by which thinning multiplies the rate of wrong keys.

    In each of `SYNTHETIC_SETS` synthetic sets, random units get a random incorrect option as the
    key. Each set is thinned by the cues of the repair, refitted to the set, and every item is
    weighted by its probability of staying. The factor for real wrong keys may differ, because these
    are seldom random options.

    Args:
        items: the thinned items, or a sample of them, with their actual keys.
        refit: returns the probability that each unit stays, (units,), given items with other keys.
        total: number of thinned items.
        seed: random seed of the wrong keys.
        report_done: called with the number of completed sets.
    """
    from scipy.stats import t

    rng = np.random.default_rng([seed, 10])
    units = len(items.unit_firsts)
    planted = max(_MIN_PLANTED, round(_PLANTED_FRACTION * units))
    factors, count = [], 0
    for done in range(SYNTHETIC_SETS):
        wrong = rng.choice(units, planted, replace=False)
        keys: Ints = items.unit_key.copy()
        shift = 1 + (rng.random(planted) * (items.unit_counts[wrong] - 1)).astype(int)
        keys[wrong] = (keys[wrong] + shift) % items.unit_counts[wrong]
        stays = refit(items.with_keys(keys))[items.unit]
        is_wrong = np.isin(items.unit, wrong)
        count += int(is_wrong.sum())
        factors.append(stays[is_wrong].sum() / stays.sum() / is_wrong.mean())
        report_done(done + 1)
    mean, error = float(np.mean(factors)), float(np.std(factors, ddof=1)) / SYNTHETIC_SETS**0.5
    width = float(t.ppf(0.975, SYNTHETIC_SETS - 1)) * error
    return Concentration(
        mean,
        mean - width,
        mean + width,
        SYNTHETIC_SETS,
        round(count / SYNTHETIC_SETS),
        len(items),
        total,
    )
