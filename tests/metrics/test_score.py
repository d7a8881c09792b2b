"""Scores of a solver: accuracy, twins, comparisons, groups, forgetting, and calibration."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from tests.conftest import examples
from tests.metrics.answering import right_but
from winosmith import Dataset, Lineage, Origin, Prediction, Problem, answers, formats
from winosmith.errors import DataError
from winosmith.metrics import (
    Graded,
    compare,
    find_clusters,
    grade,
    measure_calibration,
    measure_forgetting,
    measure_margins,
    paired_p_value,
    score,
)
from winosmith.problem import Extra
from winosmith.recast import to_pairs
from winosmith.testing import make_twins

DATA = make_twins(20, singles=4)


def test_twin_counts_only_with_both_halves_correct():
    found = score(right_but(DATA, {0, 1, 2}))
    assert (found.twins.right, found.twins.n, found.twins.chance) == (18, 20, 0.25)
    assert (found.accuracy.right, found.accuracy.n, found.accuracy.clusters) == (41, 44, 24)
    assert found.comparisons is None
    assert found.calibration is None


def test_singles_have_no_twin_score():
    assert score(right_but(make_twins(0, singles=5))).twins is None


def test_missing_answers_bound_the_accuracy():
    data = make_twins(1)
    graded = right_but(data)
    assert score(grade(data, graded.predictions, missing=2)).possible == (0.5, 1.0)
    assert score(graded).possible is None


def test_groups_are_scored_separately():
    """Domains, sources and marked subsets are groups by default; other fields on request."""
    data = Dataset(
        replace(
            p,
            origin=Origin(domain="social" if row < 10 else "physical", author=f"w{row % 3}"),
            extra=Extra({"wsc.associative": row < 4}),
        )
        for row, p in enumerate(DATA)
    )
    found = score(right_but(data, {0, 1}), by=["origin.author"])
    assert {name: list(values) for name, values in found.groups.items()} == {
        "origin.domain": ["physical", "social"],
        "wsc.associative": ["False", "True"],
        "origin.author": ["w0", "w1", "w2"],
    }
    assert found.groups["origin.domain"]["social"].right == 8
    assert found.groups["wsc.associative"]["True"].n == 4
    assert {of.chance for groups in found.groups.values() for of in groups.values()} == {0.5}
    assert sum(of.n for of in found.groups["origin.author"].values()) == len(data)


def test_row_numbers_start_at_1():
    found = score(right_but(make_twins(2), {0}), by=["row number"]).groups["row number"]
    assert {row: of.right for row, of in found.items()} == {"1": 0, "2": 1, "3": 1, "4": 1}


def test_unknown_and_unique_fields_are_refused():
    with pytest.raises(DataError, match="'author' is not a field that differs"):
        score(right_but(DATA), by=["author"])
    with pytest.raises(DataError, match="the field 'id' has 44 values"):
        score(right_but(DATA), by=["id"])


def test_column_name_needs_no_prefix():
    data = Dataset(replace(one, extra=Extra({"a.Level": at % 2, "a.K": at % 2, "b.K": at % 3}))
                   for at, one in enumerate(DATA))  # fmt: skip
    found = score(right_but(data), by=["Level", "a.Level"]).groups
    assert (
        found["Level"] == found["a.Level"] == score(right_but(data), by=["level"]).groups["level"]
    )
    with pytest.raises(DataError, match="'K' is not a field that differs"):
        score(right_but(data), by=["K"])


def test_signature_depends_on_the_predictions():
    one, other = score(right_but(DATA)), score(right_but(DATA, {1}))
    assert str(one.signature) != str(other.signature)
    assert one.record()["signature"] == str(one.signature)


@pytest.mark.data
def test_60_pdp_problems_are_80_comparisons(data_dir):
    """With 2 to 5 options, guessing gives 45.25 % of problems and 50 % of comparisons."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    rng = np.random.default_rng(0)
    scores = [tuple(rng.normal(size=len(p.options)).tolist()) for p in data]
    predictions = [
        Prediction(p.id, int(np.argmax(own)), own) for p, own in zip(data, scores, strict=True)
    ]
    found = score(grade(data, predictions))
    assert (found.accuracy.n, found.comparisons.n) == (60, 80)
    assert found.accuracy.chance == pytest.approx((45 / 2 + 12 / 3 + 1 / 4 + 2 / 5) / 60)
    counts = {options: own.n for options, own in found.groups["options"].items()}
    assert counts == {"2": 45, "3": 12, "4": 1, "5": 2}
    won = 0
    for problem, own in zip(data, scores, strict=True):
        for pair in to_pairs([problem]):
            mine = [own[problem.options.index(option)] for option in pair.options]
            won += int(np.argmax(mine)) == pair.answer
    assert found.comparisons.right == won


def test_copies_do_not_narrow_the_interval_of_comparisons():
    rng = np.random.default_rng(0)
    data = [
        replace(p, options=(*p.options, "the shelf"), id=f"{p.id}{time}", twin_id=None)
        for time in "ab" for p in make_twins(30)
    ]  # fmt: skip
    scores = [tuple(row) for row in rng.normal(size=(60, 3))] * 2
    said = [Prediction(p.id, int(np.argmax(s)), s) for p, s in zip(data, scores, strict=True)]
    once, twice = (score(grade(Dataset(data[:n]), said[:n])).comparisons for n in (60, 120))
    assert once is not None
    assert twice is not None
    assert twice.interval == pytest.approx(once.interval)


@pytest.mark.data
def test_comparisons_need_scores(data_dir):
    """Choices alone don't show which of several comparisons were won."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    assert score(grade(data, [Prediction(p.id, 0) for p in data])).comparisons is None


@pytest.mark.data
def test_published_predictions_for_winogrande_dev(data_dir):
    """A public list (Winogrande-Lattice) has 1,005 of 1,267 problems and 168 of 284 twins correct.

    It contains labels and logits; each label is the option with the larger logit.
    """
    data = formats.read(data_dir / "winogrande/dev.jsonl")
    path = data_dir / "winogrande_predictions/martinalex7_predictions_test_proba.csv"
    graded = grade(data, answers.read(path, data)[path.stem].predictions)
    found = score(graded)
    assert graded.score_conflict_count == 0
    assert (found.accuracy.right, found.accuracy.n) == (1005, 1267)
    assert (found.twins.right, found.twins.n) == (168, 284)
    assert found.accuracy.design_effect > 1.1
    # it is confident and often incorrect
    assert found.calibration.ece > 10 * found.calibration.ece_null[2]


Scores = dict[str, tuple[float, float]]


def _measure_all(data: Dataset, scores: Sequence[Scores]) -> dict[str, Any]:
    """Return all metrics of two solvers and of their comparison, without signatures."""
    one, other = (
        grade(data, [Prediction(p.id, int(np.argmax(of[p.id])), of[p.id]) for p in data])
        for of in scores
    )
    pair = compare({"a": one, "b": other}).record()
    found = {"score": score(one).record(), "margins": measure_margins(one).record(), "pair": pair}
    return {name: {**part, "signature": None} for name, part in found.items()}


def _draw_scores(rng: np.random.Generator) -> list[Scores]:
    """Return random scores of two solvers for `DATA`, by id."""
    made = rng.normal(0, 1, (2, len(DATA), 2)).round(3)
    return [{p.id: (a, b) for p, (a, b) in zip(DATA, of.tolist(), strict=True)} for of in made]


@examples(10)
@given(st.integers(0, 2**32 - 1))
def test_results_do_not_depend_on_the_order_of_problems(seed):
    """Accuracy, twins, calibration, margins, p-values and intervals agree to 12 digits."""
    rng = np.random.default_rng(seed)
    scores = _draw_scores(rng)
    mixed = Dataset([DATA[int(row)] for row in rng.permutation(len(DATA))])
    first, second = (json.dumps(_measure_all(data, scores), indent=0) for data in (DATA, mixed))
    for a, b in zip(first.splitlines(), second.splitlines(), strict=True):
        number = re.search(r"-?\d+\.\d+(e-\d+)?", a)
        if a != b and number:  # sums in another order differ in the last digits
            other = re.sub(r"^[^\d-]*", "", b).rstrip(",")
            assert float(other) == pytest.approx(float(number[0]), abs=1e-12)
        else:
            assert a == b


def test_copies_do_not_narrow_intervals():
    scores = _draw_scores(np.random.default_rng(1))
    copies = [replace(p, id=f"{p.id}x", twin_id=p.twin_id and f"{p.twin_id}x") for p in DATA]
    doubled = [{**of, **{f"{key}x": both for key, both in of.items()}} for of in scores]
    once, twice = _measure_all(DATA, scores), _measure_all(Dataset([*DATA, *copies]), doubled)
    for name in ("accuracy", "twins"):
        assert twice["score"][name]["value"] == once["score"][name]["value"]
        assert twice["score"][name]["interval"] == pytest.approx(
            once["score"][name]["interval"], abs=0.02
        )
    assert twice["score"]["p_value"] == pytest.approx(once["score"]["p_value"])
    (pair,), (again,) = once["pair"]["pairs"], twice["pair"]["pairs"]
    assert again["p_value"] == pytest.approx(pair["p_value"])
    assert again["interval"] == pytest.approx(pair["interval"], abs=0.02)


BEFORE = make_twins(50)


def test_forgotten_and_learned_problems_are_counted():
    before, after = right_but(BEFORE, {0, 9}), right_but(BEFORE, {9, 20, 31, 40})
    found = measure_forgetting(before, after)
    assert (found.before.right, found.after.right) == (98, 96)
    assert (found.forgotten, found.learned) == (3, 1)
    assert found.change == pytest.approx(-0.02)
    assert found.interval[0] < -0.02 < found.interval[1]
    assert found.p_value == paired_p_value(after.credit, before.credit, after.clusters)
    assert json.loads(json.dumps(found.record(), allow_nan=False)) == found.record()
    found = measure_forgetting(after, after)
    assert (found.change, found.forgotten, found.learned, found.p_value) == (0, 0, 0, 1)


def test_forgetting_on_different_data_sets_is_refused():
    with pytest.raises(DataError, match="is measured on one data set"):
        measure_forgetting(right_but(BEFORE), right_but(make_twins(50, seed=1)))


PAIRS = make_twins(5, singles=2)
RIGHT = [Prediction(p.id, p.answer or 0, (0.0, 1.0)[:: 2 * (p.answer or 0) - 1]) for p in PAIRS]


def test_prediction_order_does_not_matter():
    assert grade(PAIRS, RIGHT[::-1]).credit.all()
    assert grade(PAIRS, RIGHT[::-1]).digest == grade(PAIRS, RIGHT).digest


def test_digest_covers_choices_and_scores():
    first = grade(PAIRS, RIGHT).digest
    assert grade(PAIRS, [replace(RIGHT[0], choice=1 - RIGHT[0].choice), *RIGHT[1:]]).digest != first
    assert grade(PAIRS, [replace(RIGHT[0], scores=(0.5, 0.25)), *RIGHT[1:]]).digest != first


@pytest.mark.parametrize(
    ("data", "predictions", "reason"),
    [
        (PAIRS, RIGHT[4:], r"4 of 12 problems have no prediction \('0-0', '0-1', '1-0', …\)"),
        (PAIRS[:6], RIGHT, r"6 predictions with an unknown id \('3-0', '3-1', '4-0', …\)"),
        (PAIRS, [*RIGHT, *RIGHT], "12 problems have several predictions"),
        (
            PAIRS.blind(),
            RIGHT,
            "the answers of 12 of 12 problems are withheld .* needs all answers",
        ),
        (PAIRS, [Prediction("0-0", 3), *RIGHT[1:]], "choice 3 of '0-0' is not one of 2 options"),
        (
            PAIRS,
            [Prediction("0-0", 0, (1.0,)), *RIGHT[1:]],
            "the 1 scores of '0-0' don't match 2 options",
        ),
        (Dataset(), [], "there are no problems to score"),
    ],
)
def test_invalid_input_is_refused(data, predictions, reason):
    with pytest.raises(DataError, match=reason):
        grade(data, predictions)


def test_family_is_one_cluster():
    data = make_twins(0, singles=4)
    perturbed = [replace(p, lineage=Lineage(data[0].id, data[0].id)) for p in data[1:3]]
    assert find_clusters(Dataset([data[0], *perturbed, data[3]])).tolist() == [0, 0, 0, 1]


def test_tie_gets_fractional_credit():
    data = make_twins(2)
    said = [
        Prediction(data.ids[0], data[0].answer or 0),
        Prediction(data.ids[1], 0, (0.5, 0.5)),
        Prediction(data.ids[2], 0, tied=(0, 1)),
        Prediction(data.ids[3], data[3].answer or 0, (1.0, -1.0) if data[3].answer else (-1.0, 1)),
    ]
    found = grade(data, said)
    assert found.credit.tolist() == [1, 0.5, 0.5, 1]
    assert found.tied.tolist() == [False, True, True, False]
    assert (found.ties, found.score_conflict_count) == (2, 1)


def test_answer_graded_as_incorrect_is_not_a_tie():
    data = Dataset([Problem(name, "Why?", ("a", "b", "c"), 0, blank=None) for name in "wxyz"])
    said = [
        Prediction("w", 1, tied=(1, 2)),
        Prediction("x", 0, tied=(0, 2)),
        Prediction("y", 1, (0.0, 1.0, 1.0)),
        Prediction("z", 0, tied=(0, 1, 2)),
    ]
    assert grade(data, said).tied.tolist() == [False, True, True, True]


MANY = make_twins(400)


def make_predictions(confidence: np.ndarray, right: np.ndarray) -> Graded:
    """Return the data graded with these confidences in the chosen options, correct or not."""
    predictions = []
    for problem, p, is_right in zip(MANY, confidence, right, strict=True):
        choice = problem.answer or 0 if is_right else 1 - (problem.answer or 0)
        scores = [float(np.log(1 - p)) - 3.0] * 2
        scores[choice] = float(np.log(p)) - 3.0
        predictions.append(Prediction(problem.id, choice, tuple(scores)))
    return grade(MANY, predictions)


RNG = np.random.default_rng(4)
CONFIDENCE = RNG.uniform(0.5, 0.999, len(MANY))
HONEST = make_predictions(CONFIDENCE, RNG.random(len(MANY)) < CONFIDENCE)
BOASTFUL = make_predictions(np.full(len(MANY), 0.99), RNG.random(len(MANY)) < 0.7)


def test_brier_score_and_log_loss_match_scikit_learn():
    """Ours is the two-class Brier score, twice scikit-learn's."""
    found = measure_calibration(HONEST)
    answers = np.array([p.answer for p in MANY])
    raw = np.exp(np.array([p.scores for p in HONEST.predictions]))
    second = raw[:, 1] / raw.sum(axis=1)
    assert found.brier == pytest.approx(2 * brier_score_loss(answers, second))
    assert found.log_loss == pytest.approx(log_loss(answers, second))
    assert found.confidence == pytest.approx(CONFIDENCE.mean())


def test_null_contains_only_a_calibrated_solvers_ece():
    honest, boastful = measure_calibration(HONEST), measure_calibration(BOASTFUL)
    assert honest.ece_null[1] <= honest.ece <= honest.ece_null[2]
    right = BOASTFUL.credit.mean()
    assert boastful.ece == pytest.approx(0.99 - right)
    assert boastful.ece > 5 * boastful.ece_null[2]
    assert len(boastful.bins) == 1
    assert boastful.bins[0].accuracy.n == len(MANY)


def test_null_is_clustered_and_independent_of_order():
    """Halves that are correct together vary as much by chance as half as many single problems."""
    confidence = np.repeat(RNG.uniform(0.5, 0.999, len(MANY) // 2), 2)
    together = make_predictions(
        confidence, np.repeat(RNG.random(len(MANY) // 2) < confidence[::2], 2)
    )
    single = [replace(problem, twin_id=None) for problem in MANY]
    apart = grade(Dataset(single), together.predictions)
    half = grade(Dataset(single[::2]), together.predictions[::2])
    high = [measure_calibration(graded).ece_null[2] for graded in (together, apart, half)]
    assert high[0] == pytest.approx(high[2], rel=0.1)
    assert high[0] > 1.3 * high[1]
    back = grade(Dataset([*MANY][::-1]), together.predictions)
    assert measure_calibration(back).ece_null == pytest.approx(
        measure_calibration(together).ece_null, rel=1e-12
    )


def test_bins_partition_the_problems():
    found = measure_calibration(HONEST)
    assert sum(each.accuracy.n for each in found.bins) == len(MANY)
    assert all(each.low < each.confidence <= each.high for each in found.bins)
    gaps = [each.accuracy.n * abs(each.confidence - each.accuracy.value) for each in found.bins]
    assert found.ece == pytest.approx(sum(gaps) / len(MANY))


def test_scores_far_apart_do_not_overflow():
    """Scores of ±1e6 are probabilities of 0 and 1; an incorrect answer costs 1e6 nats or more."""
    predictions = [Prediction(p.id, 0, (1e6, -1e6)) for p in MANY]
    found = measure_calibration(grade(MANY, predictions))
    assert found.confidence == 1.0
    assert np.isfinite(found.log_loss)


def test_ranking_matches_scikit_learns_roc_auc():
    found = measure_margins(HONEST)
    lead = [abs(p.scores[0] - p.scores[1]) for p in HONEST.predictions]
    assert found.ranking == pytest.approx(roc_auc_score(HONEST.credit, lead))
    own = [
        np.subtract(*p.scores) * (1, -1)[problem.answer]
        for p, problem in zip(HONEST.predictions, MANY, strict=True)
    ]
    assert found.quartiles == pytest.approx(np.quantile(own, [0.25, 0.5, 0.75]))
    surest = {p.problem_id: abs(p.scores[0] - p.scores[1]) for p in HONEST.predictions}
    wrong = [p.id for p, right in zip(MANY, HONEST.credit, strict=True) if not right]
    assert list(found.surest_wrong) == sorted(wrong, key=lambda key: -surest[key])[:3]


def test_ranking_of_ties_and_of_perfect_solvers():
    flat = grade(MANY, [Prediction(p.id, 0, (1.0, 1.0)) for p in MANY])
    assert (measure_margins(flat).ranking, measure_margins(flat).surest_wrong) == (0.5, ())
    assert (measure_calibration(flat).confidence, measure_calibration(flat).ece) == (0.5, 0.0)
    perfect = measure_margins(make_predictions(CONFIDENCE, np.ones(len(MANY), bool)))
    assert (perfect.ranking, perfect.surest_wrong) == (None, ())


def test_predictions_without_scores_are_refused():
    bare = grade(MANY, [Prediction(p.id, 0) for p in MANY])
    for measure in (measure_calibration, measure_margins):
        with pytest.raises(DataError, match=r"needs? scores; the prediction for '0-0' has none"):
            measure(bare)
