"""Find wrong keys, and items that are too easy or too hard, from models' answers.

A repair sets some of these items aside before cues are learnt (`choose_items_to_set_aside`),
because an item with a wrong key looks like an item whose key no cue selects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from winosmith import metrics
from winosmith.answers import Answers, Log
from winosmith.audit._items import Bools, Floats, Ints, Items
from winosmith.audit._planted import Choices, PlantedKeys, find_training_obstacle, rank_items
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.report import percent
from winosmith.results import HIDDEN, IF_ANY, Result, computed, shown

MIN_MODELS = 3
"""Minimum number of models that must agree for an item to be a suspect."""

_MAX_SUSPECTS = 10_000

OPTIONS_UNKNOWN = "the answers only state whether they are correct, not which option was chosen"
"""Reason why keys can be neither proposed nor planted."""


@dataclass(frozen=True, slots=True)
class Suspect(Result):
    """An item whose key may be wrong.

    Attributes:
        id: id of the item.
        other: the proposed key, as the number of the option that models agree on, from 0. None if
            the answers only state whether they are correct.
        agreement: the weight of the models that chose this option (or, if `other` is None, that are
            incorrect), as a fraction of the weight of all models that answered, 0–1.
        models: number of models that agree.
        proposed: text of the proposed key; None if there is none.
        key: text of the item's key.
        place: location of the item, such as "quiz.jsonl:12"; None if unknown.
    """

    id: str = field(metadata=shown("item"))
    other: int | None
    agreement: float = field(metadata=shown("agreement", partial(percent, digits=0)))
    models: int = field(metadata=shown("models"))
    proposed: str | None = field(default=None, metadata=shown("proposed key", json=False))
    key: str = field(default="", metadata=shown("key", json=False))
    place: str | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswers(Result):
    """The answers of a model.

    Attributes:
        accuracy: accuracy on the items that the model was asked; invalid answers are incorrect.
        invalid: number of invalid answers.
        missing: number of items that the model was not asked.
        log: facts from the model's log; None if there is no log.
        below_chance: accuracy of the valid answers; None if it is not below chance.
    """

    accuracy: metrics.Proportion = field(metadata=HIDDEN)
    invalid: int
    missing: int
    log: Log | None = field(metadata=IF_ANY)
    below_chance: metrics.Proportion | None = field(metadata=IF_ANY)

    @property
    @computed()
    def right(self) -> float:
        """The model's accuracy, 0–1."""
        return self.accuracy.value

    @property
    @computed()
    def interval(self) -> tuple[float, float]:
        """The interval of the model's accuracy."""
        return self.accuracy.interval

    @property
    @computed(key="answered")
    def asked_count(self) -> int:
        """Number of items that the model was asked to answer."""
        return self.accuracy.n


@dataclass(frozen=True, slots=True)
class Triage(Result):
    """The findings from models' answers.

    Attributes:
        models: the answers of each model by name, the most accurate model first.
        suspects: at most 10,000 items whose key may be wrong, the most suspect first: ranked by
            `wrong_keys` or, without it, by the agreement of good models on another option.
        wrong_keys: the ranking and bounds from planted wrong keys; None if no planted keys can be
            learnt from.
        planting_obstacle: reason why planted keys can't be learnt from; "" if they can.
        saturated: items that every model solves.
        missed: items that no model solves.
    """

    models: Mapping[str, ModelAnswers]
    suspects: tuple[Suspect, ...]
    wrong_keys: PlantedKeys | None
    planting_obstacle: str = field(metadata={**IF_ANY, "key": "not_planted"})
    saturated: tuple[str, ...] = field(metadata={"json": len})
    missed: tuple[str, ...]

    @property
    def proposes_keys(self) -> bool:
        """Whether the answers state the chosen options, so that keys can be proposed."""
        return self.planting_obstacle != OPTIONS_UNKNOWN


def triage(items: Items, answers: Mapping[str, Answers], *, seed: int = 0) -> Triage:
    """Rank items by how suspect their keys are, using models' answers.

    A model's weight is its accuracy above chance; invalid answers count as incorrect. A suspect's
    agreement is the weight of the models that chose the proposed key, as a fraction of the weight
    of all models that chose an option; invalid answers and ties are not votes. If possible,
    suspects are ranked by a classifier of planted wrong keys (`_planted.rank_items`), which also
    bounds the number of wrong keys.

    Args:
        items: items with keys.
        answers: answers of models, by the models' names.
        seed: random seed of the planted keys.

    Raises:
        DataError: there are no models, or an answer is not an option of its item.
    """
    if not answers:
        raise DataError("no model's answers were given")
    votes = Votes.from_answers(items, answers)
    there, right, shares = votes.asked, votes.credit, votes.accuracy
    order = sorted(range(len(answers)), key=lambda model: (-shares[model], model))
    names = list(answers)
    asked = there.any(axis=0)
    ids = [problem.id for problem in items.problems]
    dataset = Dataset(items.problems)
    labels = metrics.find_clusters(dataset)
    models = {}
    for model in (one for one in order if there[one].any()):
        asked_of, given = there[model], answers[names[model]]
        problems, own = given.select_answered(dataset)
        ties = int(((right > 0) & (right < 1))[model].sum())
        invalid, missing = (asked_of & ~votes.valid[model]).sum(), (~asked_of).sum()
        log = given.log if given.log.record() else None
        graded = metrics.grade(problems, own.predictions, labels[asked_of])
        accuracy = metrics.proportion(
            right[model, asked_of], labels[asked_of], copies=graded.copies, ties=ties
        )
        below = metrics.detect_below_chance(graded)
        models[names[model]] = ModelAnswers(accuracy, int(invalid), int(missing), log, below)
    planted, why = None, OPTIONS_UNKNOWN
    if votes.only_graded:
        wrong = there & (right == 0)
        weight = votes.weights @ wrong / np.maximum(votes.weights @ there, 1e-300)
        found = _list_suspects(items, weight, wrong)
    else:
        is_tie = votes.valid & (votes.chosen < 0)
        choices = Choices.from_items(items, votes.chosen, there & ~is_tie)
        why = find_training_obstacle(choices)
        planted = None if why else rank_items(choices, seed)
        found = find_suspects(items, votes)
    if planted:
        place = dict(zip(ids, planted.scores.tolist(), strict=True))
        found = tuple(sorted(found, key=lambda one: -place[one.id]))
    return Triage(
        models,
        found[:_MAX_SUSPECTS],
        planted,
        why,
        tuple(ids[at] for at in np.flatnonzero(((right == 1) | ~there).all(axis=0) & asked)),
        tuple(ids[at] for at in np.flatnonzero(~(right > 0).any(axis=0) & asked)),
    )


@dataclass(frozen=True)
class Votes:
    """The options chosen by models, as arrays.

    Attributes:
        chosen: (models, n) the chosen option, from 0; -1 for no vote: an invalid answer, a tie, or
            an item that the model was not asked.
        asked: (models, n) whether the model was asked.
        valid: (models, n) whether the answer is an option or a tie.
        credit: (models, n) the value of the answer, 0–1; invalid answers are incorrect.
        accuracy: (models,) mean credit on the items that the model was asked, 0–1.
        weights: (models,) accuracy above chance, 0–1: 0 at chance or less, 1 if all are correct.
        only_graded: whether most incorrect answers only state that they are incorrect. Such answers
            are ties of all options except the key, in items with three or more options.
    """

    chosen: Ints
    asked: Bools
    valid: Bools
    credit: Floats
    accuracy: Floats
    weights: Floats
    only_graded: bool

    @classmethod
    def from_answers(cls, items: Items, answers: Mapping[str, Answers]) -> Votes:
        shape = len(answers), len(items)
        chosen, credit = np.full(shape, -1), np.zeros(shape)
        asked, valid, graded = (np.zeros(shape, np.bool_) for _ in range(3))
        for model, (name, given) in enumerate(answers.items()):
            for item, problem in enumerate(items.problems):
                prediction = given.by_id.get(problem.id)
                if prediction is None:
                    continue
                if max(prediction.chosen, default=0) >= len(problem.options):
                    raise DataError(
                        f"{name}: the answer to {problem.id!r} is option "
                        f"{prediction.chosen[-1] + 1}, but the problem has only "
                        f"{len(problem.options)} options"
                    )
                asked[model, item], valid[model, item] = True, bool(prediction.chosen)
                credit[model, item] = prediction.credit(int(items.keys[item]))
                if len(prediction.chosen) == 1:
                    chosen[model, item] = prediction.chosen[0]
                graded[model, item] = len(prediction.chosen) == len(problem.options) - 1 > 1 and (
                    credit[model, item] == 0
                )
        accuracy = credit.sum(axis=1) / np.maximum(1, asked.sum(axis=1))
        weights = np.clip((accuracy - items.chance) / (1 - items.chance), 0.0, None)
        incorrect = valid & (credit == 0)
        return cls(
            chosen, asked, valid, credit, accuracy, weights,
            2 * int(graded.sum()) > int(incorrect.sum()),
        )  # fmt: skip

    def compute_agreement(self, items: Items) -> Floats:
        """Return the weight of the models that chose each option, (n, most options), 0–1.

        The weight is a fraction of the weight of all models that chose an option of the item.
        """
        found = np.zeros((len(items), int(items.counts.max())))
        for chosen, weight in zip(self.chosen, self.weights, strict=True):
            there = np.flatnonzero(chosen >= 0)
            found[there, chosen[there]] += weight
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        return found


def find_suspects(items: Items, votes: Votes) -> tuple[Suspect, ...]:
    """Find the items on which models agree on an option other than the key, sorted by agreement.

    At least three models must agree, or all models if there are fewer.
    """
    agreement = votes.compute_agreement(items)
    agreement[np.arange(len(items)), items.keys] = 0.0
    other = agreement.argmax(axis=1)
    return _list_suspects(items, agreement.max(axis=1), votes.chosen == other, other)


def _list_suspects(
    items: Items, agreement: Floats, agrees: Bools, other: Ints | None = None
) -> tuple[Suspect, ...]:
    """List the items on which enough models agree, in descending order of agreement.

    `agrees` has the shape (models, n).
    """
    models = agrees.sum(axis=0)
    found = []
    for at in np.flatnonzero((agreement > 0) & (models >= min(MIN_MODELS, len(agrees)))).tolist():
        problem, key = items.problems[at], items.problems[at].options[items.keys[at]]
        option = None if other is None else int(other[at])
        text = None if option is None else problem.options[option]
        share, count = float(agreement[at]), int(models[at])
        found.append(Suspect(problem.id, option, share, count, text, key))
    return tuple(sorted(found, key=lambda one: (-one.agreement, one.id)))


MAX_SET_ASIDE = 0.02
"""Maximum fraction of items that are set aside if no number is given."""

_FRACTION_OF_AGREED_KEYS = 0.9
"""Fraction of the agreed keys with at least the agreement that is required for setting an item
aside by default."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """A model's accuracy before and after a repair, 0–1; None if the model answered no items.

    Attributes:
        before: accuracy on the original data set.
        without_set_aside: accuracy on the original data set without the items set aside.
        after: accuracy on the kept items.
    """

    before: float | None = field(metadata=shown("before", ".1%"))
    without_set_aside: float | None = field(
        metadata={**shown("without those set aside", ".1%"), "key": "without"}
    )
    after: float | None = field(metadata=shown("kept", ".1%"))


@dataclass(frozen=True, slots=True)
class DoubtedKeys(Result):
    """The suspects that a repair sets aside: the items whose keys the models doubt most.

    Attributes:
        set_aside: the suspects set aside, in descending order of agreement.
        strong_count: number of suspects that meet the rule, including those beyond `MAX_SET_ASIDE`;
            the number of all suspects if a number was given.
        threshold: minimum agreement for the rule, 0–1; None if a number was given, or if there are
            too few models for the rule.
        accuracy: accuracy of each model by name, before and after the repair; empty until the
            repair is done.
    """

    set_aside: tuple[Suspect, ...] = field(metadata={"key": "items"})
    strong_count: int = field(metadata={"key": "as_strong"})
    threshold: float | None
    accuracy: Mapping[str, Accuracy] = field(default_factory=dict)


FOREIGN_ANSWERS = "no answer has the id of an item; do the answers belong to a different data set?"


def select_answers(answers: Mapping[str, Answers], data: Dataset) -> dict[str, Answers]:
    """Select the answers to the items of a data set, and drop models without such an answer."""
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
    """Choose the items on which models agree most on an option other than the key.

    If `number` is None, an item is set aside if three conditions are met: at least three models
    agree on the other option, this option has more weight than the key, and its agreement is at
    least the 10th percentile of the agreement on keys that models agree on. A fixed limit would not
    work for models that are often incorrect: eight models with an accuracy of 75 % seldom have an
    agreement of 90 %. Confident learning sets its limits in the same way; see Northcutt, Jiang and
    Chuang (2021). At most the fraction `MAX_SET_ASIDE` of the items is set aside, because most
    suspects of good models are sound items.

    `items` must not contain copies. `checked` are the ids of items whose keys people have checked;
    these items are never set aside.
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
    threshold = float(agreed[int((1 - _FRACTION_OF_AGREED_KEYS) * len(agreed))])
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
    """Compare models' accuracies before and after a repair.

    The models are sorted by their accuracy before the repair, the best first. Invalid answers are
    incorrect. `set_aside` and `kept` are ids of items.
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
