"""Calibration and margins of scores, compared with scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from winosmith import Dataset, Prediction
from winosmith.errors import DataError
from winosmith.metrics import Graded, grade, measure_calibration, measure_margins
from winosmith.testing import make_twins

DATA = make_twins(400)


def make_predictions(confidence: np.ndarray, right: np.ndarray) -> Graded:
    """Return the data graded with these confidences in the chosen options, correct or not."""
    predictions = []
    for problem, p, is_right in zip(DATA, confidence, right, strict=True):
        choice = problem.answer or 0 if is_right else 1 - (problem.answer or 0)
        scores = [float(np.log(1 - p)) - 3.0] * 2
        scores[choice] = float(np.log(p)) - 3.0
        predictions.append(Prediction(problem.id, choice, tuple(scores)))
    return grade(DATA, predictions)


RNG = np.random.default_rng(4)
CONFIDENCE = RNG.uniform(0.5, 0.999, len(DATA))
HONEST = make_predictions(CONFIDENCE, RNG.random(len(DATA)) < CONFIDENCE)
BOASTFUL = make_predictions(np.full(len(DATA), 0.99), RNG.random(len(DATA)) < 0.7)


def test_brier_score_and_log_loss_match_scikit_learn() -> None:
    """Ours is the two-class Brier score, twice scikit-learn's."""
    found = measure_calibration(HONEST)
    answers = np.array([p.answer for p in DATA])
    raw = np.exp(np.array([p.scores for p in HONEST.predictions]))
    second = raw[:, 1] / raw.sum(axis=1)
    assert found.brier == pytest.approx(2 * brier_score_loss(answers, second))
    assert found.log_loss == pytest.approx(log_loss(answers, second))
    assert found.confidence == pytest.approx(CONFIDENCE.mean())


def test_null_contains_only_a_calibrated_solvers_ece() -> None:
    honest, boastful = measure_calibration(HONEST), measure_calibration(BOASTFUL)
    assert honest.ece_null[1] <= honest.ece <= honest.ece_null[2]
    right = BOASTFUL.credit.mean()
    assert boastful.ece == pytest.approx(0.99 - right)
    assert boastful.ece > 5 * boastful.ece_null[2]
    assert len(boastful.bins) == 1
    assert boastful.bins[0].accuracy.n == len(DATA)


def test_null_is_clustered_and_independent_of_order() -> None:
    """Halves that are correct together vary as much by chance as half as many single problems."""
    confidence = np.repeat(RNG.uniform(0.5, 0.999, len(DATA) // 2), 2)
    together = make_predictions(
        confidence, np.repeat(RNG.random(len(DATA) // 2) < confidence[::2], 2)
    )
    single = [replace(problem, twin_id=None) for problem in DATA]
    apart = grade(Dataset(single), together.predictions)
    half = grade(Dataset(single[::2]), together.predictions[::2])
    high = [measure_calibration(graded).ece_null[2] for graded in (together, apart, half)]
    assert high[0] == pytest.approx(high[2], rel=0.1)
    assert high[0] > 1.3 * high[1]
    back = grade(Dataset([*DATA][::-1]), together.predictions)
    assert measure_calibration(back).ece_null == pytest.approx(
        measure_calibration(together).ece_null, rel=1e-12
    )


def test_bins_partition_the_problems() -> None:
    found = measure_calibration(HONEST)
    assert sum(each.accuracy.n for each in found.bins) == len(DATA)
    assert all(each.low < each.confidence <= each.high for each in found.bins)
    gaps = [each.accuracy.n * abs(each.confidence - each.accuracy.value) for each in found.bins]
    assert found.ece == pytest.approx(sum(gaps) / len(DATA))


def test_scores_far_apart_do_not_overflow() -> None:
    """Scores of ±1e6 are probabilities of 0 and 1; an incorrect answer costs 1e6 nats or more."""
    predictions = [Prediction(p.id, 0, (1e6, -1e6)) for p in DATA]
    found = measure_calibration(grade(DATA, predictions))
    assert found.confidence == 1.0
    assert np.isfinite(found.log_loss)


def test_ranking_matches_scikit_learns_roc_auc() -> None:
    found = measure_margins(HONEST)
    lead = [abs(p.scores[0] - p.scores[1]) for p in HONEST.predictions]
    assert found.ranking == pytest.approx(roc_auc_score(HONEST.credit, lead))
    own = [
        np.subtract(*p.scores) * (1, -1)[problem.answer]
        for p, problem in zip(HONEST.predictions, DATA, strict=True)
    ]
    assert found.quartiles == pytest.approx(np.quantile(own, [0.25, 0.5, 0.75]))
    surest = {p.problem_id: abs(p.scores[0] - p.scores[1]) for p in HONEST.predictions}
    wrong = [p.id for p, right in zip(DATA, HONEST.credit, strict=True) if not right]
    assert list(found.surest_wrong) == sorted(wrong, key=lambda key: -surest[key])[:3]


def test_ranking_of_ties_and_of_perfect_solvers() -> None:
    flat = grade(DATA, [Prediction(p.id, 0, (1.0, 1.0)) for p in DATA])
    assert (measure_margins(flat).ranking, measure_margins(flat).surest_wrong) == (0.5, ())
    assert (measure_calibration(flat).confidence, measure_calibration(flat).ece) == (0.5, 0.0)
    perfect = measure_margins(make_predictions(CONFIDENCE, np.ones(len(DATA), bool)))
    assert (perfect.ranking, perfect.surest_wrong) == (None, ())


def test_predictions_without_scores_are_refused() -> None:
    bare = grade(DATA, [Prediction(p.id, 0) for p in DATA])
    for measure in (measure_calibration, measure_margins):
        with pytest.raises(DataError, match=r"needs? scores; the prediction for '0-0' has none"):
            measure(bare)
