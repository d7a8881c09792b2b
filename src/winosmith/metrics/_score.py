"""The score of one solver on a data set: accuracy, twins, groups, calibration, and guessing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.answers import best_of
from winosmith.blocks import plain
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics._calibration import Calibration, Margins, calibration, margins
from winosmith.metrics._graded import Graded
from winosmith.metrics._groups import carried, columns_with
from winosmith.metrics._intervals import Proportion, proportion
from winosmith.problem import Scalar
from winosmith.report import Signature, sign

Floats = npt.NDArray[np.float64]

MOST_GROUPS = 30
"""A field with more values than this has no table of its own."""


@dataclass(frozen=True)
class Score:
    """What a solver's predictions are worth.

    Attributes:
        accuracy: over all problems; its chance level is the mean of 1/k for k options.
        p_value: the probability that guessing does as well; see `guessing_p_value`.
        twins: the share of whole twins with both halves right; None without twins.
        comparisons: the share of two-way comparisons won; None where every problem has two
            options, or the scores that it takes are missing; see `comparisons_score`.
        groups: field → value → accuracy on the problems with that value: "options" when their
            number differs, domain and source where they are known, and what was asked for.
        refused: field → why its values can't be compared for this solver; they are in no group.
        notes: field → what a reader must know of the comparison.
        calibration, margins: of the scores; None without them.
        against_scores: how many answers don't choose their best score; the choice counts.
        signature: of the data and the predictions.
    """

    accuracy: Proportion
    p_value: float
    twins: Proportion | None
    comparisons: Proportion | None
    groups: Mapping[str, Mapping[str, Proportion]]
    calibration: Calibration | None
    margins: Margins | None
    against_scores: int
    signature: Signature
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the score as JSON can hold it."""
        return {
            "accuracy": self.accuracy.record(),
            "p_value_of_guessing": self.p_value,
            "twins": self.twins and self.twins.record(),
            "comparisons": self.comparisons and self.comparisons.record(),
            "groups": {
                name: {value: found.record() for value, found in values.items()}
                for name, values in self.groups.items()
            },
            **({"refused": dict(self.refused)} if self.refused else {}),
            **({"notes": dict(self.notes)} if self.notes else {}),
            "calibration": self.calibration and self.calibration.record(),
            "margins": self.margins and self.margins.record(),
            **({"against_scores": self.against_scores} if self.against_scores else {}),
            "signature": str(self.signature),
        }


def score(graded: Graded, *, by: Sequence[str] = (), seed: int = 0) -> Score:
    """Score predictions beside their answers.

    Args:
        graded: from `grade`.
        by: fields whose values are scored apart: "origin.author", "lineage.root", a key of
            `extra` such as "winogender.gender". A field whose values are the same input for the
            solver is refused with the reason (`carried`). Every key that ends in ".associative" or
            ".switchable" is taken without asking (Trichelair et al. 2019).
        seed: of the null of the calibration.

    Raises:
        DataError: a field that the data set does not have, or with too many values.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(20)
    >>> found = score(grade(data, [Prediction(p.id, 0) for p in data]))
    >>> found.accuracy.value, found.twins.value, found.p_value
    (0.5, 0.0, 1.0)
    """
    groups, refused, notes = _groups(graded, by)
    return Score(
        graded.share(chance=guessing_level(graded)),
        guessing_p_value(graded),
        twin_score(graded),
        comparisons_score(graded),
        groups,
        calibration(graded, seed) if graded.scored else None,
        margins(graded) if graded.scored else None,
        graded.against_scores,
        sign(graded.dataset, seed, predictions=graded.digest[:12]),
        refused,
        notes,
    )


def twin_score(graded: Graded) -> Proportion | None:
    """Return the share of whole twins with both halves right; None when there is no twin.

    Guessing gives 1/4 with two options (Abdou et al. 2020 call it pair accuracy). A solver that
    ignores the trigger has none. A tied half counts as what it is worth: two of them, with two
    options, are 1/4 of a twin, as for one that guesses.
    """
    twins = graded.dataset.twins
    if not twins:
        return None
    pairs = np.array(twins)
    guess = np.mean(
        [np.prod([1 / len(graded.dataset[row].options) for row in rows]) for rows in twins]
    )
    both = graded.credit[pairs].prod(axis=1)
    ties = int(graded.tied[pairs].any(axis=1).sum())
    return proportion(both, graded.clusters[pairs[:, 0]], chance=float(guess), ties=ties)


def comparisons_score(graded: Graded) -> Proportion | None:
    """Return the share of two-way comparisons won: the right option against each wrong one.

    A problem with k options is k − 1 comparisons; guessing wins half. The 60 Pronoun
    Disambiguation Problems are the 80 comparisons of WinoGrande's tables 5 and 6. Equal scores are
    half a comparison won. None when every problem has two options (it would be the accuracy), or
    when a problem with more has no scores.
    """
    if all(len(problem.options) == 2 for problem in graded.dataset):
        return None
    won: list[float] = []
    of: list[int] = []
    for row, (problem, prediction) in enumerate(
        zip(graded.dataset, graded.predictions, strict=True)
    ):
        answer, scores = problem.answer or 0, prediction.scores
        if len(problem.options) == 2:
            won.append(prediction.credit(answer))
        elif scores:
            own = scores[answer]
            rivals = (*scores[:answer], *scores[answer + 1 :])
            beaten = (best_of((own, rival)) for rival in rivals)
            won += [1 / len(best) if 0 in best else 0.0 for best in beaten]
        else:
            return None
        of += [row] * (len(problem.options) - 1)
    return proportion(won, graded.clusters[of], chance=0.5, ties=won.count(0.5))


Groups = tuple[dict[str, dict[str, Proportion]], dict[str, str], dict[str, str]]
"""By field: the groups, why there are none, and what to know of them."""


def _groups(graded: Graded, by: Sequence[str]) -> Groups:
    known = columns_with(graded.dataset, by)
    wanted = dict.fromkeys(("origin.domain", "origin.source", *_subsets(graded.dataset), *by))
    found = {"options": [len(problem.options) for problem in graded.dataset]}
    values: dict[str, Sequence[Scalar]] = {
        **({} if len(set(found["options"])) == 1 else found),
        **{name: known[name] for name in wanted if name in known},
    }
    groups: dict[str, dict[str, Proportion]] = {}
    refused: dict[str, str] = {}
    notes: dict[str, str] = {}
    for name, column in values.items():
        different = {value for value in column if value is not None}
        if len(different) <= MOST_GROUPS:
            comparable = carried(graded, name, column)
            if comparable.refused:
                refused[name] = comparable.refused
                continue
            if comparable.note:
                notes[name] = comparable.note
            groups[name] = _by_value(graded, column)
        elif name in by:
            raise DataError(
                f"the field {name!r} has {len(different):,} values; {MOST_GROUPS} can be shown"
            )
    return groups, refused, notes


def _subsets(dataset: Dataset) -> list[str]:
    keys = {key for problem in dataset for key in problem.extra}
    return sorted(key for key in keys if key.endswith((".associative", ".switchable")))


def _by_value(graded: Graded, column: Sequence[Scalar]) -> dict[str, Proportion]:
    rows: dict[Scalar, list[int]] = {}
    for row, value in enumerate(column):
        rows.setdefault(value, []).append(row)
    ordered = sorted(rows, key=lambda value: (value is None, not isinstance(value, int | float),
                                              value if isinstance(value, int | float) else 0,
                                              str(value)))  # fmt: skip
    return {
        "—" if value is None else str(value): graded.share(
            rows[value],
            float(np.mean([1 / len(graded.dataset[row].options) for row in rows[value]])),
        )
        for value in ordered
    }


def guessing_level(graded: Graded) -> float:
    """Return the accuracy that guessing gives on average, 0–1: the mean of 1/k for k options."""
    return float(np.mean([1 / len(problem.options) for problem in graded.dataset]))


def guessing_p_value(graded: Graded) -> float:
    """Return the probability that guessing has as many right, or more.

    The null turns the labels of a cluster's problems all together: the options of each stand in a
    circle, sorted by their text, and every answer of the cluster moves on by the same number of
    places, each number of the k as probable. With two options that keeps the answers or flips them,
    so a twin keeps its opposite answers; with more, copies move as one and count as one piece of
    evidence. It does not depend on the order in which options are written. What is tied is worth
    1 / (options tied) in each turn that puts the answer among them. The distribution of the sum is
    exact (by convolution). Without clusters this is the one-sided binomial test (Poisson-binomial
    for mixed numbers of options); with them it takes what problems must share for no evidence. A
    solver that ignores the trigger has one half of every twin right, and p = 1; so has one that
    can't decide anything.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(0, singles=5)
    >>> guessing_p_value(grade(data, [Prediction(p.id, p.answer) for p in data]))  # 1/2 to the 5th
    0.03125
    """
    together: dict[tuple[int, int], list[int]] = {}
    for row, cluster in enumerate(graded.clusters):
        together.setdefault((int(cluster), len(graded.dataset[row].options)), []).append(row)
    chosen = [_chosen_from_answer(graded, row) for row in range(len(graded.dataset))]
    unit = math.lcm(*map(len, chosen))  # credits are whole numbers of 1/unit
    certain, distribution = 0, np.ones(1)
    for (_, options), rows in together.items():
        step = _turned([chosen[row] for row in rows], options, unit)
        first, last = np.flatnonzero(step)[[0, -1]]
        certain += int(first)
        if last > first:
            distribution = np.convolve(distribution, step[first : last + 1])
    seen = round(float(graded.credit.sum()) * unit) - certain
    return float(min(1.0, distribution[max(seen, 0) :].sum()))


def _chosen_from_answer(graded: Graded, row: int) -> list[int]:
    """Return how far on from the answer each chosen option stands, 0 to k − 1, sorted by text.

    As copies are compared (`blocks.plain`), so that their options stand in the same places.
    """
    problem = graded.dataset[row]
    options = problem.options
    order = sorted(range(len(options)), key=lambda at: (plain(options[at]), options[at]))
    place = {option: at for at, option in enumerate(order)}
    answer = place[problem.answer or 0]  # `grade` has seen that it is known
    return [(place[option] - answer) % len(options) for option in graded.predictions[row].chosen]


def _turned(chosen: Sequence[Sequence[int]], options: int, unit: int) -> Floats:
    """Return how probable each credit of a cluster is, in units, when its labels are turned.

    Args:
        chosen: how far on from its answer each chosen option of a problem stands.
        options: how many each problem has.
        unit: of credit.
    """
    credit = np.zeros(options, dtype=np.int64)  # of each turn
    for places in chosen:
        credit[list(places)] += unit // len(places)
    return np.bincount(credit) / options
