"""The score of one solver on a data set: accuracy, twins, groups, calibration, and guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import formats, report
from winosmith.blocks import plain, whole_twins
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.metrics._graded import Graded, check_comparable, find_columns, grade_models
from winosmith.metrics._proportion import (
    INTERVAL,
    SIZE,
    Proportion,
    null_interval,
    proportion,
    rate,
)
from winosmith.prediction import Prediction, best_of
from winosmith.problem import Scalar
from winosmith.report import Signature, fixed, percent, probability, sign, span
from winosmith.results import Result, shown

MOST_GROUPS = 30
"""A field with more values than this has no table of its own."""


@dataclass(frozen=True)
class Score(Result):
    """What a solver's predictions are worth.

    Attributes:
        accuracy: over all problems; its chance level is the mean of 1/k for k options.
        p_value: the probability that guessing does as well; see `guessing_p_value`.
        twins: the fraction of whole twins with both halves right; None without twins.
        comparisons: the fraction of two-way comparisons won; None if every problem has two
            options, or the scores that it takes are missing; see `comparisons_score`.
        groups: field → value → accuracy on the problems with that value: "options" when their
            number differs, domain and source where they are known, and what was asked for.
        refused: field → why its values can't be compared for this solver; they are in no group.
        notes: field → what a reader must know of the comparison.
        calibration, margins: of the scores; None without them.
        against_scores: how many answers don't choose their best score; the choice counts.
        invalid: number of answers that are none of the options; they are incorrect.
        missing: number of problems that the solver was not asked; they are not in the accuracy.
        possible: the least and the greatest possible accuracy on all problems, if any is missing:
            with every missing answer incorrect, or correct; None otherwise.
        signature: of the data and the predictions.
        below_chance: the accuracy of the valid answers if it is below chance; see `below_chance`.
    """

    accuracy: Proportion
    p_value: float = field(metadata=shown("p(guess)", probability))
    twins: Proportion | None
    comparisons: Proportion | None
    groups: Mapping[str, Mapping[str, Proportion]]
    calibration: Calibration | None
    margins: Margins | None
    against_scores: int
    invalid: int
    missing: int
    possible: tuple[float, float] | None
    signature: Signature
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    below_chance: Proportion | None = None

    def sentences(self) -> list[str]:
        """Return the accuracy next to chance, and the conditions."""
        own = self.accuracy
        return [
            f"{own.in_words} items are answered correctly ({percent(own.value)}; 95 % interval "
            f"{span(own.interval)} %, by blocks of twins, families and copies). Guessing gives "
            f"{percent(own.chance or 0)} (exact one-sided {report.p_value(self.p_value)}, with "
            "the labels of a block permuted together).",
            f"Conditions: {self.signature}.",
        ]

    def charts(self, name: str = "Confidence") -> list[report.Svg]:
        """Return the accuracy at each level of confidence; none without scores."""
        own = self.calibration
        if own is None:
            return []
        rows = [
            report.Stated(b.confidence, b.accuracy.value, *b.accuracy.interval, b.accuracy.n)
            for b in own.bins
        ]
        note = f"calibration error {own.ece:.3f}, if calibrated {own.ece_null[0]:.3f}"
        return [report.reliability(rows, name=name, note=note)]


def below_chance(graded: Graded) -> Proportion | None:
    """Return the accuracy of the valid answers if guessing is as bad with p ≤ 0.05; None otherwise.

    Invalid answers are incorrect without any choice, so they are not compared with guessing.
    """
    valid = [row for row, one in enumerate(graded.predictions) if one.chosen]
    if not valid:
        return None
    predictions = tuple(graded.predictions[row] for row in valid)
    some = Graded(graded.dataset.select(valid), predictions, graded.clusters[valid])
    found = some.share(chance=guessing_level(some))
    is_below = found.value < (found.chance or 0)  # first, as the p-value takes long
    return found if is_below and guessing_p_value(some, as_badly=True) <= _RARE else None


def below_chance_sentence(found: Proportion) -> str:
    """Return what `below_chance` found and its usual reasons, without a full stop.

    >>> below_chance_sentence(proportion([0] * 8, range(8), chance=0.5))[:69]
    'below chance: 0 of 8 valid answers are correct, and guessing gives 50'
    """
    return (
        f"below chance: {found.in_words} valid answers are correct, and guessing gives "
        f"{percent(found.chance or 0)}; its options may be in another order, or counted from "
        "another number"
    )


_RARE = 0.05


def score(
    answers: Any,
    data: Dataset | formats.Readable | None = None,
    *,
    by: Sequence[str] = (),
    seed: int = 0,
) -> Score:
    """Score the predictions of a model next to the answers.

    Args:
        answers: of one model, as `grade_models` takes them: a file, a table, `answers.Answers`, or
            the result of `grade`.
        data: the problems; None if `answers` are graded.
        by: fields whose values are scored apart: "origin.author", "lineage.root", a key of
            `extra` such as "winogender.gender". A field whose values are the same input for the
            solver is refused with the reason (`check_comparable`). Every key that ends in
            ".associative" or ".switchable" is included by default (Trichelair et al. 2019).
        seed: of the null of the calibration.

    Raises:
        DataError: a field that the data set does not have, or with too many values.
        InputError: the answers are of several models, or there are no problems.

    >>> from winosmith.testing import made_twins
    >>> data = made_twins(20)
    >>> found = score([{"id": problem.id, "choice": "A"} for problem in data], data)
    >>> found.accuracy.value, found.twins.value, found.p_value
    (0.5, 0.0, 1.0)
    """
    models = grade_models(answers, data)
    if len(models) != 1:
        raise InputError(
            f"these are the answers of {len(models)} models ({', '.join(map(repr, models))}); "
            "score each by itself, or `compare` them"
        )
    (graded,) = models.values()
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
        graded.invalid,
        graded.missing,
        possible_accuracy(graded),
        sign(graded.dataset, seed, predictions=graded.digest[:12]),
        refused,
        notes,
        below_chance(graded),
    )


def possible_accuracy(graded: Graded) -> tuple[float, float] | None:
    """Return the least and greatest possible accuracy with the missing answers; None without any.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(1)
    >>> possible_accuracy(grade(data, [Prediction(p.id, p.answer) for p in data], missing=2))
    (0.5, 1.0)
    """
    if not graded.missing:
        return None
    n, correct = len(graded.credit) + graded.missing, float(graded.credit.sum())
    return correct / n, (correct + graded.missing) / n


def twin_score(graded: Graded) -> Proportion | None:
    """Return the fraction of whole twins with both halves right; None when there is no twin.

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
    """Return the fraction of two-way comparisons won: the right option against each wrong one.

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
    known = find_columns(graded.dataset, by)
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
            comparable = check_comparable(graded, name, column)
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


def guessing_p_value(graded: Graded, *, as_badly: bool = False) -> float:
    """Return the probability that guessing has as many right, or more; or fewer, if `as_badly`.

    The null turns the labels of a cluster's problems all together: the options of each are in a
    circle, sorted by their text, and every answer of the cluster moves on by the same number of
    places, each number of the k as probable. With two options that keeps the answers or flips them,
    so a twin keeps its opposite answers; with more, copies move as one and count as one piece of
    evidence. It does not depend on the order in which options are written. What is tied is worth
    1 / (options tied) in each turn that puts the answer among them. The distribution of the sum is
    exact (by convolution); where ties among many different numbers of options leave more sums than
    can be counted, turns are drawn 20,000 times, and p = (1 + #) / (1 + 20,000). Without clusters
    this is the one-sided binomial test (Poisson-binomial for mixed numbers of options); with them
    it takes what problems must share for no evidence. A solver that ignores the trigger has one
    half of every twin right, and p = 1; so has one that can't decide anything.

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
    unit = math.lcm(*(len(own) or 1 for own in chosen))  # credits are whole numbers of 1/unit
    steps = [
        _turned([chosen[row] for row in rows], options, unit)
        for (_, options), rows in together.items()
    ]
    seen = round(float(graded.credit.sum()) * unit) - sum(int(step.min()) for step in steps)
    steps = [step - step.min() for step in steps]
    if sum(int(step.max()) for step in steps) > _LONGEST:
        rng = np.random.default_rng(0)
        drawn = np.zeros(_TURNS, np.int64)
        for step in steps:
            drawn += step[rng.integers(0, len(step), _TURNS)]
        reached = (drawn <= seen) if as_badly else (drawn >= seen)
        return (1 + int(reached.sum())) / (1 + _TURNS)
    distribution = np.ones(1)
    for step in steps:
        before, distribution = distribution, np.zeros(len(distribution) + int(step.max()))
        for place, count in zip(*np.unique(step, return_counts=True), strict=True):
            distribution[place:][: len(before)] += count / len(step) * before
    tail = distribution[: seen + 1] if as_badly else distribution[max(seen, 0) :]
    return float(min(1.0, tail.sum()))


_LONGEST, _TURNS = 2_000_000, 20_000
"""Beyond how many parts of a credit turns are drawn, and how often."""


def _chosen_from_answer(graded: Graded, row: int) -> list[int]:
    """Return how far on from the answer each chosen option stands, 0 to k − 1, sorted by text.

    As copies are compared (`blocks.plain`), so that their options are in the same places.
    """
    problem = graded.dataset[row]
    options = problem.options
    order = sorted(range(len(options)), key=lambda at: (plain(options[at]), options[at]))
    place = {option: at for at, option in enumerate(order)}
    answer = place[problem.answer or 0]  # `grade` has seen that it is known
    return [(place[option] - answer) % len(options) for option in graded.predictions[row].chosen]


def _turned(chosen: Sequence[Sequence[int]], options: int, unit: int) -> npt.NDArray[np.int64]:
    """Return the credit of a cluster in each turn of its labels, in units, (options,).

    Args:
        chosen: how far on from its answer each chosen option of a problem stands.
        options: how many each problem has.
        unit: of credit.
    """
    credit = np.zeros(options, dtype=np.int64)  # of each turn
    for places in chosen:
        credit[list(places)] += unit // (len(places) or 1)
    return credit


BINS = 15
"""Bins of equal width over 0–1, as Guo et al. (2017) have them."""

NULL_DRAWS = 1_000
"""Draws of what a perfectly calibrated solver would show."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReliabilityBin(Result):
    """The problems whose chosen option has a probability in one bin.

    Attributes:
        low, high: the bin's edges, 0–1; the upper one belongs to it.
        confidence: the mean probability of the chosen options, 0–1.
        accuracy: the share that is right, with its interval.
    """

    low: float = field(metadata=shown("above", percent))
    high: float = field(metadata=shown("to", percent))
    confidence: float = field(metadata=shown("mean", percent))
    accuracy: Proportion = field(metadata=shown("problems", SIZE, ("right", rate), INTERVAL))


@dataclass(frozen=True)
class Calibration(Result):
    """How well probabilities match what is right.

    The probabilities are the softmax of the scores as they are, so scores are taken for
    log-probabilities up to a constant. Scores of another kind can be ranked, not calibrated.

    Attributes:
        ece: the expected calibration error, 0–1: the mean over problems of |accuracy − confidence|
            of their bin (Naeini et al. 2015; Guo et al. 2017, equation 3).
        ece_null: the mean and the interval (`null_interval`) of the ECE of a solver with the same
            confidences that is perfectly calibrated; it is never 0.
        brier: the mean over problems of Σ_k (p_k − [k is right])², 0–2 (Brier 1950); guessing
            between two options gives 0.5.
        log_loss: the mean of −ln p of the right option, in nats; guessing gives ln k.
        confidence: the mean probability of the chosen options, 0–1.
        bins: those that hold a problem, in order.
    """

    ece: float = field(metadata=shown("ECE", partial(fixed, form=".3f")))
    ece_null: tuple[float, float, float] = field(
        metadata=shown("null", lambda null: fixed(null[2], ".3f"))
    )
    brier: float = field(metadata=shown("Brier", partial(fixed, form=".3f")))
    log_loss: float = field(metadata=shown("log loss", partial(fixed, form=".2f")))
    confidence: float = field(metadata=shown("stated", percent))
    bins: tuple[ReliabilityBin, ...]


def calibration(graded: Graded, seed: int = 0) -> Calibration:
    """Return how well the softmax of the scores matches what is right.

    `seed` is of the draws for the null. Each of these is right with the probability that the
    solver states. The halves of a twin, and copies, are right or wrong together, or the one where
    the other is not, as they are for the solver; all else is taken for independent.

    Raises:
        DataError: a prediction has no scores.
    """
    require_scores(graded, "calibration")
    log_probabilities = _log_softmax([prediction.scores for prediction in graded.predictions])
    answers = [problem.answer or 0 for problem in graded.dataset]
    rows = np.arange(len(answers))
    off = np.exp(log_probabilities)
    chosen = np.array(
        [float(off[row, list(p.chosen)].mean()) for row, p in enumerate(graded.predictions)]
    )
    off[rows, answers] -= 1
    edges = np.ceil(np.round(chosen * BINS, 9))  # 1/3 is an edge, whatever the last digit
    bins = np.clip(edges.astype(np.int64) - 1, 0, BINS - 1)
    null = [_ece(chosen, drawn, bins) for drawn in _calibrated(graded, chosen, seed)]
    return Calibration(
        _ece(chosen, graded.credit, bins),
        (float(np.mean(null)), *null_interval(null)),
        float((off**2).sum(axis=1).mean()),
        -float(log_probabilities[rows, answers].mean()),
        float(chosen.mean()),
        tuple(_bin(graded, chosen, bins, int(number)) for number in np.unique(bins)),
    )


def _calibrated(graded: Graded, chosen: Floats, seed: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield what is right where what is stated is true, (n,), whatever the order of the problems.

    In a twin of two options what is right of both halves hangs on one fact, which is drawn once.
    """
    unit = np.empty(len(chosen), dtype=np.int64)
    for number, rows in enumerate(whole_twins(graded.dataset)):
        unit[rows] = number
    like = np.lexsort((np.bincount(unit, graded.credit), np.bincount(unit, chosen)))
    place = np.argsort(like)[unit]
    first, rng = graded.credit >= 0.5, np.random.default_rng([seed, len(chosen)])
    for _ in range(NULL_DRAWS):
        fact = rng.random(len(like))[place]
        yield np.where(first, fact, 1 - fact) < chosen


def _log_softmax(scores: Sequence[tuple[float, ...]]) -> Floats:
    """Return ln p of each option, (n, most options); −inf where a problem has fewer."""
    from scipy.special import log_softmax

    table = np.full((len(scores), max(map(len, scores))), -np.inf)
    for row, own in enumerate(scores):
        table[row, : len(own)] = own
    log_probabilities: Floats = log_softmax(table, axis=1)
    return log_probabilities


def _ece(chosen: Floats, right: npt.NDArray[Any], bins: npt.NDArray[np.int64]) -> float:
    gaps = np.bincount(bins, right - chosen, minlength=BINS)
    return float(np.abs(gaps).sum() / len(chosen))


def _bin(
    graded: Graded, chosen: Floats, bins: npt.NDArray[np.int64], number: int
) -> ReliabilityBin:
    inside = bins == number
    return ReliabilityBin(
        number / BINS,
        (number + 1) / BINS,
        float(chosen[inside].mean()),
        graded.share(inside),
    )


@dataclass(frozen=True, slots=True)
class Margins(Result):
    """How far the right option's score lies above the best wrong one's.

    Attributes:
        quartiles: the 25th, 50th and 75th percentile of the margin, in the scores' own unit.
        ranking: the probability that a random right answer has a larger lead (of the chosen over
            the next option) than a random wrong one: 0.5 when the lead tells nothing, 1 at best;
            None when all or none are right. A tie has no lead, and is right for its share.
        surest_wrong: the ids of wrong answers with the largest lead, three at most; no ties.
    """

    quartiles: tuple[float, float, float]
    ranking: float | None = field(metadata=shown("ranking", partial(fixed, form=".2f")))
    surest_wrong: tuple[str, ...]


def margins(graded: Graded) -> Margins:
    """Return how far apart the scores of right and wrong options are.

    Raises:
        DataError: a prediction has no scores.
    """
    require_scores(graded, "margins")
    margin, lead = np.array(
        [
            _margin_and_lead(prediction, problem.answer or 0)
            for problem, prediction in zip(graded.dataset, graded.predictions, strict=True)
        ]
    ).T
    right, wrong = graded.credit, 1 - graded.credit
    ranking = None
    if right.sum() > 0 and wrong.sum() > 0:  # the Mann-Whitney statistic as a probability
        _, place = np.unique(lead, return_inverse=True)
        rights, wrongs = np.bincount(place, right), np.bincount(place, wrong)
        below = np.cumsum(wrongs) - wrongs / 2
        ranking = float(rights @ below / (right.sum() * wrong.sum()))
    surest = [
        row for row in np.argsort(-lead, kind="stable") if not right[row] and not graded.tied[row]
    ][:3]
    low, middle, high = np.quantile(margin, [0.25, 0.5, 0.75])
    return Margins(
        (float(low), float(middle), float(high)),
        ranking,
        tuple(graded.dataset[int(row)].id for row in surest),
    )


def require_scores(graded: Graded, what: str) -> None:
    """Refuse predictions without scores, with a DataError that names the first."""
    bare = next((p.problem_id for p in graded.predictions if not p.scores), None)
    if bare is not None:
        raise DataError(f"{what} needs scores; the prediction for {bare!r} has none")


def _margin_and_lead(prediction: Prediction, answer: int) -> tuple[float, float]:
    scores, choice = prediction.scores, prediction.choice or 0  # with scores, it is not invalid
    best_wrong = max(score for option, score in enumerate(scores) if option != answer)
    margin = scores[answer] - best_wrong
    if len(prediction.chosen) > 1:
        return margin, 0.0
    next_best = max(score for option, score in enumerate(scores) if option != choice)
    return margin, scores[choice] - next_best
