"""What models' answers tell of the items: wrong keys, items that are too easy or too hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from winosmith.answers import Answers, Log
from winosmith.audit._items import Bools, Floats, Ints, Items
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError
from winosmith.metrics import (
    Proportion,
    below_chance,
    clusters,
    detectable_difference,
    grade,
    holm,
    paired_p_value,
    proportion,
)
from winosmith.problem import BLANK, Extra
from winosmith.report import percent, probability
from winosmith.results import Result, shown

FEWEST = 3
"""So many models at least must agree for an item to be a suspect."""

_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Suspect(Result):
    """An item whose key may be wrong.

    Attributes:
        id: of the item.
        other: the option that models agree on, from 0.
        agreement: the weight of those that chose it, of all that answered, 0–1.
        models: how many chose it.
    """

    id: str
    other: int
    agreement: float
    models: int


@dataclass(frozen=True, slots=True)
class Against(Result):
    """Two models next to each other.

    Attributes:
        better, worse: their names.
        difference: of their shares right.
        psi: the fraction of items on which one is right and the other is not.
        p_value: that the two are as good, by the exact test that keeps blocks together
            (`metrics.paired_p_value`).
        adjusted: `p_value` after Holm's correction for all pairs.
        detectable: the least difference that is found in four of five sets as large, at that psi;
            None if none is.
        design: by how much blocks widen it, squared: the design effect, 1 or more.
    """

    better: str
    worse: str
    difference: float = field(metadata=shown("difference", percent))
    psi: float = field(metadata=shown("differ on", percent))
    p_value: float = field(metadata=shown("p", probability))
    adjusted: float = field(metadata=shown("Holm", probability))
    detectable: float | None = field(metadata=shown("detectable", percent))
    design: float


@dataclass(frozen=True, slots=True)
class Triage(Result):
    """What models' answers tell.

    Attributes:
        accuracies: of each model on the items that it was asked, the best first; an invalid answer
            is incorrect.
        suspects: items by how strongly good models agree on another option, the strongest first.
        saturated: items that every model gets right.
        missed: items that none gets right.
        pairs: each model next to the next best.
        invalid: number of invalid answers of each model.
        missing: number of items that each model was not asked.
        logs: the facts that the models' logs state, by the models' names.
        below_chance: by its name, each model whose valid answers are below chance.
    """

    accuracies: Mapping[str, Proportion]
    suspects: tuple[Suspect, ...]
    saturated: tuple[str, ...]
    missed: tuple[str, ...]
    pairs: tuple[Against, ...]
    invalid: Mapping[str, int]
    missing: Mapping[str, int]
    logs: Mapping[str, Log]
    below_chance: Mapping[str, Proportion]

    @property
    def right(self) -> dict[str, float]:
        """The accuracy of each model, 0–1, the best first."""
        return {name: of.value for name, of in self.accuracies.items()}

    @property
    def answered(self) -> dict[str, int]:
        """The number of items that each model was asked."""
        return {name: of.n for name, of in self.accuracies.items()}

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "models": {
                name: {
                    "right": of.value,
                    "interval": list(of.interval),
                    "answered": of.n,
                    "invalid": self.invalid[name],
                    "missing": self.missing[name],
                    **({"log": log} if (log := self.logs[name].record()) else {}),
                    **(
                        {"below_chance": self.below_chance[name].record()}
                        if name in self.below_chance
                        else {}
                    ),
                }
                for name, of in self.accuracies.items()
            },
            "suspects": [suspect.record() for suspect in self.suspects],
            "saturated": len(self.saturated),
            "missed": list(self.missed),
            "pairs": [pair.record() for pair in self.pairs],
        }


def triage(items: Items, answers: Mapping[str, Answers]) -> Triage:
    """Rank items by what models chose.

    A model's weight is its accuracy above chance, in which an invalid answer is incorrect. A
    suspect's agreement is the weight of the models that chose one other option, of all that chose
    one: invalid answers and ties are not votes.

    Args:
        items: with their keys.
        answers: of the models, by their names.

    Raises:
        DataError: there is no model, or an answer is none of an item's options.
    """
    if not answers:
        raise DataError("there are no models' answers")
    votes = Votes.of(items, answers)
    there, right, shares = votes.asked, votes.credit, votes.accuracy
    order = sorted(range(len(answers)), key=lambda model: (-shares[model], model))
    names = list(answers)
    asked = there.any(axis=0)
    ids = [problem.id for problem in items.problems]
    dataset = Dataset(items.problems)
    labels = clusters(dataset)
    pairs = [
        _against(items, labels, names[one], names[other], right[one], right[other],
                 there[one] & there[other])
        for one, other in pairwise(order)
        if (there[one] & there[other]).any()
    ]  # fmt: skip
    adjusted = holm([pair.p_value for pair in pairs])
    models = [model for model in order if there[model].any()]
    below = {}
    for model in models:
        given, own = answers[names[model]].shared(dataset)
        graded = grade(given, own.predictions, labels[there[model]])
        below[names[model]] = below_chance(graded)
    return Triage(
        {
            names[model]: proportion(
                right[model, there[model]],
                labels[there[model]],
                ties=int(((right > 0) & (right < 1))[model].sum()),
            )
            for model in models
        },
        suspects(items, votes),
        tuple(ids[at] for at in np.flatnonzero(((right == 1) | ~there).all(axis=0) & asked)),
        tuple(ids[at] for at in np.flatnonzero(~(right > 0).any(axis=0) & asked)),
        tuple(replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)),
        {names[model]: int((there[model] & ~votes.valid[model]).sum()) for model in models},
        {names[model]: int((~there[model]).sum()) for model in models},
        {name: given.log for name, given in answers.items()},
        {name: found for name, found in below.items() if found},
    )


@dataclass(frozen=True)
class Votes:
    """The options that models chose.

    Attributes:
        chosen: (models, n) the options, from 0; -1 for no vote: an invalid answer, a tie, or an
            item that the model was not asked.
        asked: (models, n) whether the model was asked.
        valid: (models, n) whether its answer is an option or a tie.
        credit: (models, n) the value of its answer, 0–1; an invalid one is incorrect.
        accuracy: (models,) its mean credit on the items that it was asked, 0–1.
        weights: (models,) accuracy above chance, 0–1: 0 at chance or less, 1 if all are correct.
    """

    chosen: Ints
    asked: Bools
    valid: Bools
    credit: Floats
    accuracy: Floats
    weights: Floats

    @classmethod
    def of(cls, items: Items, answers: Mapping[str, Answers]) -> Votes:
        """Take the answers to some items.

        Raises:
            DataError: an answer is not an option of its item.
        """
        shape = len(answers), len(items)
        chosen, credit = np.full(shape, -1), np.zeros(shape)
        asked, valid = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        for model, (name, given) in enumerate(answers.items()):
            for item, problem in enumerate(items.problems):
                prediction = given.by_id.get(problem.id)
                if prediction is None:
                    continue
                if max(prediction.chosen, default=0) >= len(problem.options):
                    raise DataError(
                        f"{name}: the answer to {problem.id!r} is option "
                        f"{prediction.chosen[-1] + 1}; there are {len(problem.options)}"
                    )
                asked[model, item], valid[model, item] = True, bool(prediction.chosen)
                credit[model, item] = prediction.credit(int(items.keys[item]))
                if len(prediction.chosen) == 1:
                    chosen[model, item] = prediction.chosen[0]
        accuracy = credit.sum(axis=1) / np.maximum(1, asked.sum(axis=1))
        weights = np.clip((accuracy - items.chance) / (1 - items.chance), 0.0, None)
        return cls(chosen, asked, valid, credit, accuracy, weights)

    def agreement(self, items: Items) -> Floats:
        """Return the agreement on each option of each item, (n, most options), 0–1.

        It is the weight of the models that chose the option, of all that chose one.
        """
        found = np.zeros((len(items), int(items.counts.max())))
        for chosen, weight in zip(self.chosen, self.weights, strict=True):
            there = np.flatnonzero(chosen >= 0)
            found[there, chosen[there]] += weight
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        return found


def suspects(items: Items, votes: Votes) -> tuple[Suspect, ...]:
    """Return the items on which models agree on another option, the greatest agreement first.

    At least three models must agree, or all if there are fewer. At most 10,000 are returned.
    """
    agreement = votes.agreement(items)
    agreement[np.arange(len(items)), items.keys] = 0.0
    other = agreement.argmax(axis=1)
    models = (votes.chosen == other).sum(axis=0)
    least = min(FEWEST, len(votes.weights))
    found = [
        Suspect(
            items.problems[at].id, int(other[at]), float(agreement[at, other[at]]), int(models[at])
        )
        for at in np.flatnonzero((agreement.max(axis=1) > 0) & (models >= least))
    ]
    return tuple(sorted(found, key=lambda one: (-one.agreement, one.id))[:_LISTED])


_PLACES = 5
"""Options that a test sheet and the platform have places for."""


def for_people(dataset: Dataset, ids: Sequence[str], *, plain: bool = False) -> Filtered:
    """Return items as people are asked them: of a question, the answer is a blank after it.

    `extra` tells where an item is from: `audit.set`, the name of the data set, and `audit.id`. What
    models chose is not told.

    Args:
        dataset: the split.
        ids: of the items, in the order in which people are to be asked.
        plain: omit, too, what holds a further `_`, for which a site has no place.

    Raises:
        DataError: there is no item of such an id.
    """
    asked, reasons = [], {}
    for row, name in enumerate(ids):
        problem = dataset[dataset.row(name)]
        sentence = problem.sentence.rstrip()
        if problem.blank is None:
            blank = len(sentence) + 1
            problem = replace(problem, sentence=f"{sentence} {BLANK}", blank=blank)
        source = {"audit.id": problem.id, "audit.set": dataset.name or "data"}
        asked.append(replace(problem, lineage=None, extra=Extra({**problem.extra, **source})))
        if len(problem.options) > _PLACES:
            reasons[row] = f"it has {len(problem.options)} options; people are shown {_PLACES}"
        elif plain and not problem.blank_is_plain:
            reasons[row] = f"it holds a further {BLANK!r}"
    return Dataset(asked, dataset.name).drop(reasons, "people")


def _against(
    items: Items, labels: Ints, better: str, worse: str, one: Floats, other: Floats, both: Bools
) -> Against:
    labels, first, second = labels[both], one[both], other[both]
    off = first - second
    n, psi = len(off), float((off != 0).mean())
    centred = off - off.mean()
    square = float((centred**2).sum())
    design = float((np.bincount(labels, centred) ** 2).sum()) / square if square else 1.0
    # Halves of twins may err against each other, copies can't: they are never more than one item.
    design = max(design, float((1 / items.weights[both]).mean()))
    p_value = paired_p_value(first, second, labels)
    return Against(
        better, worse, float(off.mean()), psi, p_value, p_value,
        detectable_difference(n, psi, design=design) if psi else None, design,
    )  # fmt: skip
