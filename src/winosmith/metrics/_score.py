"""Score a solver on a data set: accuracy, twins, groups, calibration, and guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import formats, report
from winosmith.blocks import find_whole_twins, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.metrics import _proportion
from winosmith.metrics._graded import Graded, check_comparable, get_checked_columns, grade_models
from winosmith.metrics._proportion import INTERVAL, SIZE, Proportion, format_rate, proportion
from winosmith.prediction import find_best_options
from winosmith.problem import Scalar
from winosmith.report import Signature, percent, probability, signature_of, to_fixed
from winosmith.results import Result, shown

MAX_GROUPS = 30
"""A field with more values than this can't be scored by value."""


@dataclass(frozen=True)
class Score(Result):
    """The results of scoring a solver's predictions.

    Attributes:
        accuracy: The accuracy on all problems; its chance level is the mean of 1/k for k options.
        p_value: The probability that guessing is at least as accurate; see `guessing_p_value`.
        twins: The fraction of whole twins with both halves correct; None if there are no twins.
        comparisons: The fraction of comparisons in which the correct option scores higher; None if
            every problem has two options, or if scores are missing. See `score_comparisons`.
        groups: For each field, the accuracy on the problems with each of its values. The fields are
            "options" if the number of options varies, the domain and source if known, and the
            requested fields.
        refused: For each refused field, why its values can't be compared for this solver. Refused
            fields are not in `groups`.
        notes: For each field with a caveat about comparing its values, the caveat.
        calibration, margins: The calibration and margins of the scores, if any.
        against_scores: The number of answers whose option does not have the highest score.
        invalid: The number of answers that match no option and are therefore incorrect.
        missing: The number of problems without a prediction, which are excluded from the accuracy.
        possible: The accuracy on all problems if all missing answers are incorrect, and if all are
            correct; None if no answer is missing.
        signature: The signature of the data and the predictions.
        below_chance: The accuracy of the valid answers if below chance; see `detect_below_chance`.
    """

    accuracy: Proportion
    p_value: float = field(metadata=shown("p(guess)", probability))
    twins: Proportion | None
    comparisons: Proportion | None
    groups: Mapping[str, Mapping[str, Proportion]]
    calibration: Calibration | None
    margins: Margins | None
    against_scores: int = field(metadata=shown("answers that contradict the scores"))
    invalid: int
    missing: int
    possible: tuple[float, float] | None
    signature: Signature
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    below_chance: Proportion | None = None

    def sentences(self) -> list[str]:
        """Return sentences that state the accuracy, the chance level and the test conditions."""
        own = self.accuracy
        return [
            f"{own.in_words} items are answered correctly ({percent(own.value)}; 95 % interval "
            f"{report.percent_span(own.interval)} %, by blocks of twins, families and copies). "
            f"Guessing gives {percent(own.chance or 0)} (exact one-sided "
            f"{report.p_value(self.p_value)}, with the labels of a block permuted together).",
            f"Conditions: {self.signature}.",
        ]

    def charts(self, name: str = "Confidence") -> list[report.Svg]:
        """Return a list with a chart of accuracy by confidence; empty if there are no scores."""
        own = self.calibration
        if own is None:
            return []
        rows = [
            report.ConfidenceBin(b.confidence, b.accuracy.value, *b.accuracy.interval, b.accuracy.n)
            for b in own.bins
        ]
        note = f"calibration error {own.ece:.3f}; mean if calibrated: {own.ece_null[0]:.3f}"
        return [report.draw_reliability(rows, name=name, note=note)]


def detect_below_chance(graded: Graded) -> Proportion | None:
    """Return the accuracy of the valid answers if it is significantly below chance (p ≤ 0.05).

    Invalid answers are omitted, because they are incorrect but choose no option.
    """
    valid = [row for row, one in enumerate(graded.predictions) if one.chosen]
    if not valid:
        return None
    predictions = tuple(graded.predictions[row] for row in valid)
    some = Graded(graded.dataset.select(valid), predictions, graded.clusters[valid])
    found = some.measure_accuracy(with_chance=True)
    is_below = found.value < (found.chance or 0)  # checked first because the p-value takes long
    is_below = is_below and guessing_p_value(some, lower_tail=True) <= _proportion.MAX_P
    return found if is_below else None


def describe_below_chance(accuracy: Proportion) -> str:
    """Return a clause that reports an accuracy below chance, with the usual reasons for it.

    >>> describe_below_chance(proportion([0] * 8, range(8), chance=0.5))[:69]
    'below chance: 0 of 8 valid answers are correct, and guessing gives 50'
    """
    return (
        f"below chance: {accuracy.in_words} valid answers are correct, and guessing gives "
        f"{percent(accuracy.chance or 0)}; the options may be in a different order, or "
        "numbered from a different start"
    )


def score(
    answers: Any,
    data: Dataset | formats.Readable | None = None,
    *,
    by: Sequence[str] = (),
    seed: int = 0,
) -> Score:
    """Score the predictions of one model.

    Args:
        answers: The answers of one model: a file, a table, `answers.Answers`, or the result of
            `grade`; see `grade_models`.
        data: The problems; None if `answers` are graded.
        by: Fields whose values are scored separately: "origin.author", "lineage.root", or a key of
            `extra` such as "winogender.gender". If two values give the solver the same input, the
            field is refused with a reason (`check_comparable`). Keys that end in ".associative" or
            ".switchable" are always included (Trichelair et al. 2019).
        seed: The random seed for the null distribution of the calibration.

    Raises:
        DataError: A field is unknown or has too many values.

    >>> from winosmith.testing import make_twins
    >>> data = make_twins(20)
    >>> found = score([{"id": problem.id, "choice": "A"} for problem in data], data)
    >>> found.accuracy.value, found.twins.value, found.p_value
    (0.5, 0.0, 1.0)
    """
    models = grade_models(answers, data)
    if len(models) != 1:
        raise InputError(
            f"these are the answers of {len(models)} models ({', '.join(map(repr, models))}); "
            "score each separately, or `compare` them"
        )
    (graded,) = models.values()
    groups, refused, notes = _score_groups(graded, by)
    possible = None
    if graded.missing:
        n, correct = len(graded.credit) + graded.missing, float(graded.credit.sum())
        possible = correct / n, (correct + graded.missing) / n
    return Score(
        graded.measure_accuracy(with_chance=True),
        guessing_p_value(graded),
        score_twins(graded),
        score_comparisons(graded),
        groups,
        measure_calibration(graded, seed) if graded.scored else None,
        measure_margins(graded) if graded.scored else None,
        graded.score_conflict_count,
        graded.invalid_count,
        graded.missing,
        possible,
        signature_of(graded.dataset, seed, predictions=graded.digest[:12]),
        refused,
        notes,
        detect_below_chance(graded),
    )


def score_twins(graded: Graded) -> Proportion | None:
    """Return the fraction of whole twins with both halves correct; None if there are no twins.

    Abdou et al. (2020) call this fraction pair accuracy. With two options, guessing gives 1/4. A
    solver that ignores the trigger scores 0. A twin's credit is the product of its halves' credits:
    two halves that are ties between two options score 1/4, like guessing.
    """
    twins = graded.dataset.twins
    if not twins:
        return None
    pairs = np.array(twins)
    guess = graded.chances[pairs].prod(axis=1).mean()
    both = graded.credit[pairs].prod(axis=1)
    ties = int(graded.tied[pairs].any(axis=1).sum())
    halves = np.sort(graded.copies[pairs], axis=1)
    copies = np.unique(halves, axis=0, return_inverse=True)[1].reshape(-1)
    clusters = graded.clusters[pairs[:, 0]]
    return proportion(both, clusters, copies=copies, chance=float(guess), ties=ties)


def score_comparisons(graded: Graded) -> Proportion | None:
    """Return the fraction of comparisons in which the correct option outscores an incorrect one.

    A problem with k options has k − 1 comparisons, and guessing wins half of them. The 60 Pronoun
    Disambiguation Problems have 80 comparisons, as in WinoGrande's tables 5 and 6. Equal scores
    count as half a win. The result is None if every problem has two options (it would equal the
    accuracy), or if a problem with more options has no scores.
    """
    if all(len(problem.options) == 2 for problem in graded.dataset):
        return None
    won: list[float] = []
    of: list[int] = []
    same: list[int] = []
    numbers: dict[tuple[int, str], int] = {}  # of comparisons; copies of a problem share them
    for row, (problem, prediction) in enumerate(
        zip(graded.dataset, graded.predictions, strict=True)
    ):
        answer, scores = problem.answer or 0, prediction.scores
        if len(problem.options) == 2:
            won.append(prediction.credit(answer))
        elif scores:
            own = scores[answer]
            rivals = (*scores[:answer], *scores[answer + 1 :])
            beaten = (find_best_options((own, rival)) for rival in rivals)
            won += [1 / len(best) if 0 in best else 0.0 for best in beaten]
        else:
            return None
        of += [row] * (len(problem.options) - 1)
        others = (*problem.options[:answer], *problem.options[answer + 1 :])
        keys = ((int(graded.copies[row]), normalize_tokens(other)) for other in others)
        same += [numbers.setdefault(key, len(numbers)) for key in keys]
    return proportion(won, graded.clusters[of], copies=same, chance=0.5, ties=won.count(0.5))


Groups = tuple[dict[str, dict[str, Proportion]], dict[str, str], dict[str, str]]
"""For each field: the accuracies by value, the reasons for refusing the field, and the notes."""


def _score_groups(graded: Graded, by: Sequence[str]) -> Groups:
    known = get_checked_columns(graded.dataset, by)
    labels = [key for key in known if key.endswith((".associative", ".switchable"))]
    wanted = dict.fromkeys(("origin.domain", "origin.source", *sorted(labels), *by))
    counts = [len(problem.options) for problem in graded.dataset]
    values: dict[str, Sequence[Scalar]] = {"options": counts} if len(set(counts)) > 1 else {}
    values |= {name: known[name] for name in wanted if name in known}
    groups: dict[str, dict[str, Proportion]] = {}
    refused: dict[str, str] = {}
    notes: dict[str, str] = {}
    for name, column in values.items():
        rows: dict[Scalar, list[int]] = {}
        for row, value in enumerate(column):
            rows.setdefault(value, []).append(row)
        count = len(rows.keys() - {None})
        if count > MAX_GROUPS:
            if name in by:
                raise DataError(
                    f"the field {name!r} has {count:,} values; at most {MAX_GROUPS} can be shown"
                )
            continue
        comparable = check_comparable(graded, name, column)
        if comparable.refused:
            refused[name] = comparable.refused
            continue
        if comparable.note:
            notes[name] = comparable.note
        numbers = sorted(value for value in rows if isinstance(value, int | float))
        texts = sorted(value for value in rows if isinstance(value, str))
        ordered: list[Scalar] = [*numbers, *texts, *(rows.keys() & {None})]
        groups[name] = {
            "—" if value is None else str(value): graded.measure_accuracy(
                rows[value], with_chance=True
            )
            for value in ordered
        }
    return groups, refused, notes


def guessing_p_value(graded: Graded, *, lower_tail: bool = False) -> float:
    """Return the probability that guessing is at least (with `lower_tail`: at most) as accurate.

    In a draw under the null, the labels of a cluster's problems are rotated together. The k options
    of each problem form a circle, sorted by their text. All answers of the cluster move by the same
    number of positions, and each of the k rotations is equally probable. With two options, a
    rotation keeps or flips all answers, so the halves of a twin keep opposite answers; with more
    options, copies move together and are counted once. The order in which options are written has
    no effect on the null distribution. A tie has the credit 1 / (options tied) in each rotation in
    which the answer is among the tied options. An invalid answer is incorrect, but guessing always
    selects an option, so in the draws it is a guess (with `lower_tail`, it stays incorrect).

    The distribution of the sum is exact (by convolution). If ties among many different numbers of
    options allow too many possible sums, rotations are drawn 20,000 times, and
    p = (1 + #) / (1 + 20,000). Without clusters, this is the one-sided binomial test
    (Poisson-binomial for mixed numbers of options). With clusters, results that are tied by
    construction don't count as evidence: a solver that ignores the trigger gets exactly one half of
    every twin right, and p = 1. A solver whose answers are all ties also has p = 1.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import make_twins
    >>> data = make_twins(0, singles=5)
    >>> guessing_p_value(grade(data, [Prediction(p.id, p.answer) for p in data]))  # 1/2 to the 5th
    0.03125
    """
    together: dict[tuple[int, int], list[int]] = {}
    for row, cluster in enumerate(graded.clusters):
        together.setdefault((int(cluster), len(graded.dataset[row].options)), []).append(row)
    guess = [] if lower_tail else [0]  # an invalid answer is never evidence
    chosen = [_measure_distances(graded, row) or guess for row in range(len(graded.dataset))]
    unit = math.lcm(*(len(places) or 1 for places in chosen))  # credits are multiples of 1/unit
    steps = []  # the credit of each cluster, in units, for each rotation of its labels
    for (_, options), rows in together.items():
        credit = np.zeros(options, dtype=np.int64)
        for places in (chosen[row] for row in rows):
            credit[places] += unit // (len(places) or 1)
        steps.append(credit)
    seen = round(float(graded.credit.sum()) * unit) - sum(int(step.min()) for step in steps)
    steps = [step - step.min() for step in steps]
    if sum(int(step.max()) for step in steps) > _MAX_EXACT_SUM:
        rng = np.random.default_rng(0)
        drawn = np.zeros(_ROTATION_DRAWS, np.int64)
        for step in steps:
            drawn += step[rng.integers(0, len(step), _ROTATION_DRAWS)]
        reached = (drawn <= seen) if lower_tail else (drawn >= seen)
        return (1 + int(reached.sum())) / (1 + _ROTATION_DRAWS)
    distribution = np.ones(1)
    for step in steps:
        before, distribution = distribution, np.zeros(len(distribution) + int(step.max()))
        for place, count in zip(*np.unique(step, return_counts=True), strict=True):
            distribution[place:][: len(before)] += count / len(step) * before
    tail = distribution[: seen + 1] if lower_tail else distribution[max(seen, 0) :]
    return float(min(1.0, tail.sum()))


_MAX_EXACT_SUM, _ROTATION_DRAWS = 2_000_000, 20_000
"""Maximum sum, in credit units, for which the distribution is computed exactly, and the number of
rotations to draw for larger sums."""


def _measure_distances(graded: Graded, row: int) -> list[int]:
    """Return the cyclic distance, in options, from the answer to each chosen option.

    Options are sorted by `normalize_tokens`, so that copies have the same distances.
    """
    problem = graded.dataset[row]
    options = problem.options
    order = sorted(range(len(options)), key=lambda at: (normalize_tokens(options[at]), options[at]))
    place = {option: at for at, option in enumerate(order)}
    answer = place[problem.answer or 0]  # `grade` refuses unknown answers
    chosen = graded.predictions[row].chosen
    return [(place[option] - answer) % len(options) for option in chosen]


BINS = 15
"""Number of equal-width bins over 0–1, as in Guo et al. (2017)."""

NULL_DRAWS = 1_000
"""Number of simulated, perfectly calibrated solvers."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReliabilityBin(Result):
    """The problems whose chosen options have probabilities in the same bin.

    Attributes:
        low, high: The edges of the bin, 0–1; only the upper edge belongs to the bin.
        confidence: The mean probability of the chosen options, 0–1.
        accuracy: The fraction of correct answers, with its interval.
    """

    low: float = field(metadata=shown("above", percent))
    high: float = field(metadata=shown("to", percent))
    confidence: float = field(metadata=shown("mean", percent))
    accuracy: Proportion = field(
        metadata=shown("problems", SIZE, ("correct", format_rate), INTERVAL)
    )


@dataclass(frozen=True)
class Calibration(Result):
    """The calibration of a solver's probabilities.

    The probabilities are the softmax of the scores, so scores must be log-probabilities up to a
    constant; otherwise, the calibration is meaningless.

    Attributes:
        ece: The expected calibration error, 0–1: the mean over problems of |accuracy − confidence|
            of their bin (Naeini et al. 2015; Guo et al. 2017, equation 3).
        ece_null: The mean and the interval (`null_interval`) of the ECE of a perfectly calibrated
            solver with the same confidences; even the ECE of such a solver is never 0.
        brier: The mean over problems of Σ_k (p_k − [k is correct])², 0–2 (Brier 1950); guessing
            between two options gives 0.5.
        log_loss: The mean of −ln p for the correct options, in nats; guessing among k options gives
            ln k.
        confidence: The mean probability of the chosen options, 0–1.
        bins: The non-empty bins, in order.
    """

    ece: float = field(metadata=shown("ECE", partial(to_fixed, form=".3f")))
    ece_null: tuple[float, float, float] = field(
        metadata=shown("null", lambda null: to_fixed(null[2], ".3f"))
    )
    brier: float = field(metadata=shown("Brier", partial(to_fixed, form=".3f")))
    log_loss: float = field(metadata=shown("log loss", partial(to_fixed, form=".2f")))
    confidence: float = field(metadata=shown("stated", percent))
    bins: tuple[ReliabilityBin, ...]


def measure_calibration(graded: Graded, seed: int = 0) -> Calibration:
    """Measure the calibration of a solver's probabilities, which are the softmax of its scores.

    The null distribution is drawn with the random seed `seed`: each simulated answer is correct
    with the probability that the solver states. The halves of a twin, and copies, depend on each
    other as they do for the solver; everything else is treated as independent.

    Raises:
        DataError: A prediction has no scores.
    """
    from scipy.special import log_softmax

    require_scores(graded, "calibration")
    log_probabilities = np.asarray(log_softmax(_make_score_table(graded), axis=1))
    answers = [problem.answer or 0 for problem in graded.dataset]
    rows = np.arange(len(answers))
    errors = np.exp(log_probabilities)
    chosen = np.array(
        [float(errors[row, list(p.chosen)].mean()) for row, p in enumerate(graded.predictions)]
    )
    errors[rows, answers] -= 1
    edges = np.ceil(np.round(chosen * BINS, 9))  # 1/3 is an edge, regardless of its last digit
    bins = np.clip(edges.astype(np.int64) - 1, 0, BINS - 1)
    null = [_compute_ece(chosen, drawn, bins) for drawn in _draw_calibrated(graded, chosen, seed)]
    found = []
    for number in np.unique(bins).tolist():
        here, low, high = bins == number, number / BINS, (number + 1) / BINS
        accuracy = graded.measure_accuracy(here)
        found.append(ReliabilityBin(low, high, float(chosen[here].mean()), accuracy))
    return Calibration(
        _compute_ece(chosen, graded.credit, bins),
        (float(np.mean(null)), *_proportion.null_interval(null)),
        float((errors**2).sum(axis=1).mean()),
        -float(log_probabilities[rows, answers].mean()),
        float(chosen.mean()),
        tuple(found),
    )


def _draw_calibrated(graded: Graded, stated: Floats, seed: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield, for each draw, the (n,) mask of correct answers of a perfectly calibrated solver.

    The halves of a twin share one random number. The order of the problems has no effect.
    """
    unit = np.empty(len(stated), dtype=np.int64)
    for number, rows in enumerate(find_whole_twins(graded.dataset)):
        unit[rows] = number
    order = np.lexsort((np.bincount(unit, graded.credit), np.bincount(unit, stated)))
    rank = np.argsort(order)[unit]
    first, rng = graded.credit >= 0.5, np.random.default_rng([seed, len(stated)])
    for _ in range(NULL_DRAWS):
        fact = rng.random(len(order))[rank]
        yield np.where(first, fact, 1 - fact) < stated


def _make_score_table(graded: Graded) -> Floats:
    """Return the options' scores, padded with −inf to the shape (n, maximum number of options)."""
    scores = [prediction.scores for prediction in graded.predictions]
    table = np.full((len(scores), max(map(len, scores))), -np.inf)
    for row, own in enumerate(scores):
        table[row, : len(own)] = own
    return table


def _compute_ece(stated: Floats, correct: npt.NDArray[Any], bins: npt.NDArray[np.int64]) -> float:
    gaps = np.bincount(bins, correct - stated, minlength=BINS)
    return float(np.abs(gaps).sum() / len(stated))


@dataclass(frozen=True, slots=True)
class Margins(Result):
    """The margins between the scores of correct options and of the best incorrect options.

    Attributes:
        quartiles: The 25th, 50th and 75th percentile of the margin, in the unit of the scores.
        ranking: The probability that a random correct answer has a larger lead (the chosen option's
            score minus the next-best score) than a random incorrect answer: 0.5 if the lead is
            uninformative, 1 at best; None if all or no answers are correct. Ties have a lead of 0.
        surest_wrong: The ids of the incorrect answers with the largest lead, at most three.
    """

    quartiles: tuple[float, float, float]
    ranking: float | None = field(metadata=shown("ranking", partial(to_fixed, form=".2f")))
    surest_wrong: tuple[str, ...]


def measure_margins(graded: Graded) -> Margins:
    """Measure the margins between the scores of correct and incorrect options.

    Raises:
        DataError: A prediction has no scores.
    """
    require_scores(graded, "margins")
    scores, rows = _make_score_table(graded), np.arange(len(graded.dataset))

    def compute_lead(options: Sequence[int]) -> Floats:
        others = scores.copy()
        others[rows, options] = -np.inf
        return np.asarray(scores[rows, options] - others.max(axis=1))

    margin = compute_lead([problem.answer or 0 for problem in graded.dataset])
    lead = compute_lead([one.choice or 0 for one in graded.predictions])  # scores imply a choice
    lead[graded.tied] = 0.0
    right, wrong = graded.credit, 1 - graded.credit
    ranking = None
    if right.sum() > 0 and wrong.sum() > 0:  # the Mann-Whitney statistic, as a probability
        _, place = np.unique(lead, return_inverse=True)
        rights, wrongs = np.bincount(place, right), np.bincount(place, wrong)
        below = np.cumsum(wrongs) - wrongs / 2
        ranking = float(rights @ below / (right.sum() * wrong.sum()))
    surest = [
        row for row in np.argsort(-lead, kind="stable") if not right[row] and not graded.tied[row]
    ][:3]
    low, middle, high = np.quantile(margin, [0.25, 0.5, 0.75]).tolist()
    ids = tuple(graded.dataset[int(row)].id for row in surest)
    return Margins((low, middle, high), ranking, ids)


def require_scores(graded: Graded, metric: str) -> None:
    missing = next((p.problem_id for p in graded.predictions if not p.scores), None)
    if missing is not None:
        raise DataError(f"{metric} needs scores; the prediction for {missing!r} has none")
