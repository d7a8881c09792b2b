"""Does a solver know when it is right? Its scores' calibration, and their margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.answers import Prediction
from winosmith.errors import DataError
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import Proportion, percentiles

BINS = 15
"""Bins of equal width over 0–1, as Guo et al. (2017) have them."""

NULL_DRAWS = 200
"""Draws of what a perfectly calibrated solver would show."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The problems whose chosen option has a probability in one bin.

    Attributes:
        low, high: the bin's edges, 0–1; the upper one belongs to it.
        confidence: the mean probability of the chosen options, 0–1.
        accuracy: the share that is right, with its interval.
    """

    low: float
    high: float
    confidence: float
    accuracy: Proportion


@dataclass(frozen=True)
class Calibration:
    """How well probabilities match what is right.

    The probabilities are the softmax of the scores as they are, so scores are taken for
    log-probabilities up to a constant. Scores of another kind can be ranked, not calibrated.

    Attributes:
        ece: the expected calibration error, 0–1: the mean over problems of |accuracy − confidence|
            of their bin (Naeini et al. 2015; Guo et al. 2017, equation 3).
        null: the mean, and the 2.5 and 97.5 percentile, of the ECE of a solver with the same
            confidences that is perfectly calibrated; it is never 0.
        brier: the mean over problems of Σ_k (p_k − [k is right])², 0–2 (Brier 1950); guessing
            between two options gives 0.5.
        log_loss: the mean of −ln p of the right option, in nats; guessing gives ln k.
        confidence: the mean probability of the chosen options, 0–1.
        bins: those that hold a problem, in order.
    """

    ece: float
    null: tuple[float, float, float]
    brier: float
    log_loss: float
    confidence: float
    bins: tuple[ReliabilityBin, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "ece": self.ece,
            "ece_null": dict(zip(("mean", "low", "high"), self.null, strict=True)),
            "brier": self.brier,
            "log_loss": self.log_loss,
            "confidence": self.confidence,
            "bins": [
                {
                    "low": found.low,
                    "high": found.high,
                    "confidence": found.confidence,
                    **found.accuracy.record(),
                }
                for found in self.bins
            ],
        }


def calibration(graded: Graded, seed: int = 0) -> Calibration:
    """Return how well the softmax of the scores matches what is right.

    `seed` is of the draws for the null. Each of these is right with the probability that the
    solver states; the problems are taken for independent.

    Raises:
        DataError: a prediction has no scores.
    """
    need_scores(graded, "calibration")
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
    drawn = np.random.default_rng([seed, len(chosen)]).random((NULL_DRAWS, len(chosen))) < chosen
    null = [_ece(chosen, draw, bins) for draw in drawn]
    return Calibration(
        _ece(chosen, graded.credit, bins),
        (float(np.mean(null)), *percentiles(null)),
        float((off**2).sum(axis=1).mean()),
        -float(log_probabilities[rows, answers].mean()),
        float(chosen.mean()),
        tuple(_bin(graded, chosen, bins, int(number)) for number in np.unique(bins)),
    )


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
class Margins:
    """How far the right option's score lies above the best wrong one's.

    Attributes:
        quartiles: the 25th, 50th and 75th percentile of the margin, in the scores' own unit.
        ranking: the probability that a random right answer has a larger lead (of the chosen over
            the next option) than a random wrong one: 0.5 when the lead tells nothing, 1 at best;
            None when all or none are right. A tie has no lead, and is right for its share.
        surest_wrong: the ids of wrong answers with the largest lead, three at most; no ties.
    """

    quartiles: tuple[float, float, float]
    ranking: float | None
    surest_wrong: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "quartiles": list(self.quartiles),
            "ranking": self.ranking,
            "surest_wrong": list(self.surest_wrong),
        }


def margins(graded: Graded) -> Margins:
    """Return how far apart the scores of right and wrong options are.

    Raises:
        DataError: a prediction has no scores.
    """
    need_scores(graded, "margins")
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


def need_scores(graded: Graded, what: str) -> None:
    """Refuse predictions without scores, with a DataError that names the first."""
    bare = next((p.problem_id for p in graded.predictions if not p.scores), None)
    if bare is not None:
        raise DataError(f"{what} needs scores; the prediction for {bare!r} has none")


def _margin_and_lead(prediction: Prediction, answer: int) -> tuple[float, float]:
    scores, choice = prediction.scores, prediction.choice
    best_wrong = max(score for option, score in enumerate(scores) if option != answer)
    margin = scores[answer] - best_wrong
    if len(prediction.chosen) > 1:
        return margin, 0.0
    next_best = max(score for option, score in enumerate(scores) if option != choice)
    return margin, scores[choice] - next_best
