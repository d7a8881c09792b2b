"""Wrong keys in a repair: items set aside because models doubt them, and the effect on the rest.

An item with a wrong key looks like one whose key no cue selects, so thinning keeps it more often
than a sound item. Models' answers reveal some of these items, which are set aside before cues are
learnt (`choose_items_to_set_aside`). For the others, planted wrong keys show the effect of thinning
(`measure_concentration`).
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

MOST_SET_ASIDE = 0.02
"""The greatest fraction of the items that is set aside if no number is given."""

_AS_STRONG = 0.9
"""The agreement on a suspect's other option must be as large as that on this fraction of keys."""

SETS = 20
"""Number of synthetic sets with planted wrong keys."""

_PLANTED, _MIN_PLANTED = 0.02, 10
"""Fraction of the units that get a wrong key in a synthetic set, and their least number: with
fewer, most of the differences between sets are chance."""

_MOST_ITEMS = 5000
"""Larger sets are represented by this number of items, in whole blocks drawn at random. One set of
5,000 MMLU-Redux items takes 0.8 s, all `SETS` of them a tenth of the repair's time."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """The accuracy of a model, 0–1, on the items that it answered; None if there are none.

    Attributes:
        before: on the set as it came.
        without: on the same without the items set aside.
        after: on the items that are kept.
    """

    before: float | None = field(metadata=shown("before", ".1%"))
    without: float | None = field(metadata=shown("without those set aside", ".1%"))
    after: float | None = field(metadata=shown("kept", ".1%"))


@dataclass(frozen=True, slots=True)
class DoubtedKeys(Result):
    """The items whose keys models doubt most.

    Attributes:
        set_aside: the suspects set aside, those with the greatest agreement first.
        as_strong: number of suspects that meet the rule, including those beyond `MOST_SET_ASIDE`;
            the number of all suspects if a number was given.
        threshold: the least agreement by the rule, 0–1; None if a number was given, or if there
            are too few models for the rule.
        accuracy: accuracy of each model by its name, before and after the repair; empty until it is
            done.
    """

    set_aside: tuple[Suspect, ...] = field(metadata={"key": "items"})
    as_strong: int
    threshold: float | None
    accuracy: Mapping[str, Accuracy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Concentration:
    """The effect of thinning on the rate of wrong keys, in synthetic sets made from the items.

    Attributes:
        factor: rate of wrong keys after thinning divided by the rate before, mean of the sets.
        low, high: the 95 % interval of that mean (Student's t).
        sets: number of sets.
        planted: number of wrong keys planted in each.
        items: number of items in each.
        of: number of items in the set.
    """

    factor: float
    low: float
    high: float
    sets: int
    planted: int
    items: int
    of: int


def select_answers(answers: Mapping[str, Answers], data: Dataset) -> dict[str, Answers]:
    """Return the answers to the items of a data set, without the models that have none."""
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
    """Choose the items to set aside: those on which models agree most on another option.

    Without a number, an item is set aside if at least three models agree on the other option, it
    has more weight than the key, and its agreement reaches what nine of ten of the keys reach on
    which models agree. (A fixed limit would find no wrong key of models that are often mistaken:
    eight models with an accuracy of 75 % seldom agree on anything to 90 %. Confident learning sets
    its limits by the labelled items in the same way; Northcutt, Jiang and Chuang 2021.) At most
    `MOST_SET_ASIDE` of the items are set aside, as most suspects of good models are sound items.

    Args:
        items: with their keys, without copies.
        answers: answers of models that answered some of them.
        number: number of suspects to set aside; None for the rule.
        seed: random seed of the order of suspects with the same agreement of as many models.
        checked: ids of items that are no suspects, because people have checked their keys.

    Raises:
        DataError: an answer is not an option of its item.
    """
    votes = Votes.from_answers(items, answers)
    place = {problem.id: at for at, problem in enumerate(items.problems)}
    lots = np.random.default_rng([seed, 8]).permutation(len(items))
    found = sorted(
        (one for one in find_suspects(items, votes) if one.id not in checked),
        key=lambda one: (-round(one.agreement, 9), -one.models, lots[place[one.id]]),
    )
    if number is not None:
        return DoubtedKeys(tuple(found[:number]), len(found), None)
    agreement = votes.agreement(items)
    on_key = agreement[np.arange(len(items)), items.keys]
    agreement[np.arange(len(items)), items.keys] = 0.0
    agreed = np.sort(on_key[on_key > agreement.max(axis=1)])
    if len(votes.chosen) < MIN_MODELS or not len(agreed):
        return DoubtedKeys((), 0, None)
    threshold = float(agreed[int((1 - _AS_STRONG) * len(agreed))])
    strong = [
        one
        for one in found
        if one.models >= MIN_MODELS
        and one.agreement >= threshold - 1e-9
        and one.agreement > on_key[place[one.id]]
    ]
    return DoubtedKeys(tuple(strong[: int(MOST_SET_ASIDE * len(items))]), len(strong), threshold)


def compare_accuracies(
    data: Dataset, answers: Mapping[str, Answers], set_aside: Sequence[str], kept: Sequence[str]
) -> dict[str, Accuracy]:
    """Return the accuracy of each model before and after a repair, the best before first.

    An invalid answer is incorrect.

    Args:
        data: the set as it came.
        answers: answers of the models.
        set_aside: ids of the items set aside.
        kept: ids of the items kept.
    """
    keys = {problem.id: problem.answer for problem in data if problem.answer is not None}
    without = keys.keys() - set(set_aside)

    def accuracy(given: Answers, names: set[str]) -> float | None:
        credit = [given.by_id[name].credit(keys[name]) for name in names if name in given.by_id]
        return sum(credit) / len(credit) if credit else None

    found = {
        model: Accuracy(
            accuracy(given, {*keys}), accuracy(given, without), accuracy(given, {*kept})
        )
        for model, given in answers.items()
    }
    return dict(sorted(found.items(), key=lambda one: -(one[1].before or 0.0)))


def draw_items(items: Items, seed: int) -> Bools:
    """Return which items are in the synthetic sets, (n,): all, or some blocks of a large set."""
    if len(items) <= _MOST_ITEMS:
        return np.ones(len(items), np.bool_)
    order = np.random.default_rng([seed, 9]).permutation(items.blocks)
    sizes = np.cumsum(np.bincount(items.block)[order])
    drawn = order[: max(1, int(np.searchsorted(sizes, _MOST_ITEMS, side="right")))]
    return np.isin(items.block, drawn)


def measure_concentration(
    items: Items,
    refit: Callable[[Items], Floats],
    of: int,
    seed: int,
    report_done: ReportDone = lambda _: None,
) -> Concentration:
    """Measure by what factor thinning multiplies the rate of wrong keys.

    In each of `SETS` synthetic sets, units drawn at random get another of their options as the key,
    drawn at random too. Each set is thinned by the cues that the repair found, refitted to its own
    items, and every item counts by its probability to stay. Real wrong keys may differ: they
    are seldom random options.

    Args:
        items: those that are thinned, or some of them, with the keys that they have.
        refit: returns the probability to stay of each unit, (units,), for items with other keys.
        of: number of items that are thinned.
        seed: random seed of the wrong keys.
        report_done: called with the number of sets done.
    """
    from scipy.stats import t

    rng = np.random.default_rng([seed, 10])
    units = len(items.unit_firsts)
    planted = max(_MIN_PLANTED, round(_PLANTED * units))
    factors, count = [], 0
    for done in range(SETS):
        wrong = rng.choice(units, planted, replace=False)
        keys: Ints = items.unit_key.copy()
        shift = 1 + (rng.random(planted) * (items.unit_counts[wrong] - 1)).astype(int)
        keys[wrong] = (keys[wrong] + shift) % items.unit_counts[wrong]
        stays = refit(items.with_keys(keys))[items.unit]
        is_wrong = np.isin(items.unit, wrong)
        count += int(is_wrong.sum())
        factors.append(stays[is_wrong].sum() / stays.sum() / is_wrong.mean())
        report_done(done + 1)
    mean, error = float(np.mean(factors)), float(np.std(factors, ddof=1)) / SETS**0.5
    width = float(t.ppf(0.975, SETS - 1)) * error
    return Concentration(
        mean, mean - width, mean + width, SETS, round(count / SETS), len(items), of
    )
