"""A solver's score: accuracy, twins, comparisons and groups, and what further training loses."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.metrics.answering import right_but
from winosmith import Dataset, Lineage, Origin, Prediction, answers, formats
from winosmith.errors import DataError
from winosmith.metrics import (
    compare,
    find_clusters,
    grade,
    measure_forgetting,
    measure_margins,
    paired_p_value,
    score,
)
from winosmith.problem import Extra
from winosmith.recast import to_pairs
from winosmith.testing import make_twins

DATA = make_twins(20, singles=4)


def test_a_twin_needs_both_halves() -> None:
    """Three wrong halves in two twins leave 18 of 20 twins, and 41 of 44 problems."""
    found = score(right_but(DATA, {0, 1, 2}))
    assert found.twins is not None
    assert (found.twins.right, found.twins.n, found.twins.chance) == (18, 20, 0.25)
    assert (found.accuracy.right, found.accuracy.n, found.accuracy.clusters) == (41, 44, 24)
    assert found.comparisons is None
    assert found.calibration is None


def test_without_twins_there_is_no_twin_score() -> None:
    """Singles alone have no twin score."""
    assert score(right_but(make_twins(0, singles=5))).twins is None


def test_groups_are_scored_apart() -> None:
    """Domains, sources and marked subsets are groups without asking; other fields on request."""
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


def test_rows_are_numbered_from_1() -> None:
    """The row number is a field too: each of four rows is a group of its own."""
    found = score(right_but(make_twins(2), {0}), by=["row number"]).groups["row number"]
    assert {row: of.right for row, of in found.items()} == {"1": 0, "2": 1, "3": 1, "4": 1}


def test_a_field_that_is_not_there_is_named() -> None:
    """An unknown field, or one with a value for each problem, is refused."""
    with pytest.raises(DataError, match="'author' is not a field that differs"):
        score(right_but(DATA), by=["author"])
    with pytest.raises(DataError, match="the field 'id' has 44 values"):
        score(right_but(DATA), by=["id"])


def test_a_column_of_the_file_needs_no_prefix() -> None:
    """`Level` is `questions.Level`, unless the name of another column ends like this, too."""
    data = Dataset(replace(one, extra=Extra({"a.Level": at % 2, "a.K": at % 2, "b.K": at % 3}))
                   for at, one in enumerate(DATA))  # fmt: skip
    found = score(right_but(data), by=["Level", "a.Level"]).groups
    assert found["Level"] == found["a.Level"]
    with pytest.raises(DataError, match="'K' is not a field that differs"):
        score(right_but(data), by=["K"])


def test_the_record_is_signed_by_data_and_predictions() -> None:
    """Other predictions have another signature."""
    one, other = score(right_but(DATA)), score(right_but(DATA, {1}))
    assert str(one.signature) != str(other.signature)
    assert one.record()["signature"] == str(one.signature)


@pytest.mark.data
def test_the_60_pdps_are_80_comparisons(data_dir: Path) -> None:
    """60 questions with 2 to 5 options: 80 comparisons; guessing gives 45.25 % and 50 %."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    rng = np.random.default_rng(0)
    scores = [tuple(rng.normal(size=len(p.options)).tolist()) for p in data]
    predictions = [
        Prediction(p.id, int(np.argmax(own)), own) for p, own in zip(data, scores, strict=True)
    ]
    found = score(grade(data, predictions))
    assert found.comparisons is not None
    assert (found.accuracy.n, found.comparisons.n) == (60, 80)
    assert found.accuracy.chance == pytest.approx((45 / 2 + 12 / 3 + 1 / 4 + 2 / 5) / 60)
    assert {k: v.n for k, v in found.groups["options"].items()} == {
        "2": 45,
        "3": 12,
        "4": 1,
        "5": 2,
    }
    won = 0
    for problem, own in zip(data, scores, strict=True):
        for pair in to_pairs([problem]):
            mine = [own[problem.options.index(option)] for option in pair.options]
            won += int(np.argmax(mine)) == pair.answer
    assert found.comparisons.right == won


@pytest.mark.data
def test_comparisons_need_scores(data_dir: Path) -> None:
    """Choices alone can't tell which of several comparisons were won."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    assert score(grade(data, [Prediction(p.id, 0) for p in data])).comparisons is None


@pytest.mark.data
def test_the_published_predictions_for_winogrande_dev(data_dir: Path) -> None:
    """A public list of labels and logits (Winogrande-Lattice) has 1,005 of 1,267 and 168 of 284.

    Each of its labels is the option with the larger logit.
    """
    data = formats.read(data_dir / "winogrande/dev.jsonl")
    path = data_dir / "winogrande_predictions/martinalex7_predictions_test_proba.csv"
    graded = grade(data, answers.read(path, data)[path.stem].predictions)
    found = score(graded)
    assert graded.score_conflict_count == 0
    assert (found.accuracy.right, found.accuracy.n) == (1005, 1267)
    assert found.twins is not None
    assert (found.twins.right, found.twins.n) == (168, 284)
    assert found.accuracy.design_effect > 1.1
    assert found.calibration is not None
    assert found.calibration.ece > 10 * found.calibration.ece_null[2]  # it is sure, and often wrong


Scores = dict[str, tuple[float, float]]


def _told(data: Dataset, scores: Sequence[Scores]) -> dict[str, Any]:
    """Return all that is told of two solvers and of them beside each other, unsigned."""
    one, other = (
        grade(data, [Prediction(p.id, int(np.argmax(of[p.id])), of[p.id]) for p in data])
        for of in scores
    )
    pair = compare({"a": one, "b": other}).record()
    found = {"score": score(one).record(), "margins": measure_margins(one).record(), "pair": pair}
    for part in found.values():
        part.pop("signature", None)
    return found


def _scored(rng: np.random.Generator) -> list[Scores]:
    """Return scores of two solvers for `DATA`, by the ids."""
    made = rng.normal(0, 1, (2, len(DATA), 2)).round(3)
    return [{p.id: (a, b) for p, (a, b) in zip(DATA, of.tolist(), strict=True)} for of in made]


@examples(10)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_problems_changes_no_figure(seed: int) -> None:
    """Accuracy, twins, calibration, margins, p-values and intervals are those of a set."""
    rng = np.random.default_rng(seed)
    scores = _scored(rng)
    mixed = Dataset([DATA[int(row)] for row in rng.permutation(len(DATA))])
    first, second = (json.dumps(_told(data, scores), indent=0) for data in (DATA, mixed))
    for a, b in zip(first.splitlines(), second.splitlines(), strict=True):
        number = re.search(r"-?\d+\.\d+(e-\d+)?", a)
        if a != b and number:  # sums in another order end in another digit
            other = re.sub(r"^[^\d-]*", "", b).rstrip(",")
            assert float(other) == pytest.approx(float(number[0]), abs=1e-12)
        else:
            assert a == b


def test_every_problem_twice_tells_no_more() -> None:
    """Copies are right or wrong together: shares and p-values stay, and intervals do not narrow."""
    scores = _scored(np.random.default_rng(1))
    copies = [replace(p, id=f"{p.id}x", twin_id=p.twin_id and f"{p.twin_id}x") for p in DATA]
    doubled = [{**of, **{f"{key}x": both for key, both in of.items()}} for of in scores]
    once, twice = _told(DATA, scores), _told(Dataset([*DATA, *copies]), doubled)
    for name in ("accuracy", "twins"):
        assert twice["score"][name]["value"] == once["score"][name]["value"]
        assert twice["score"][name]["interval"] == pytest.approx(
            once["score"][name]["interval"], abs=0.02
        )
    guessing = "p_value"
    assert twice["score"][guessing] == pytest.approx(once["score"][guessing])
    (pair,), (again,) = once["pair"]["pairs"], twice["pair"]["pairs"]
    assert again["p_value"] == pytest.approx(pair["p_value"])
    assert again["interval"] == pytest.approx(pair["interval"], abs=0.02)


BEFORE = make_twins(50)


def test_what_was_lost_and_learned_is_counted() -> None:
    """Three forgotten and one learned are a change of −2 points of 100, with a paired test."""
    before, after = right_but(BEFORE, {0, 9}), right_but(BEFORE, {9, 20, 31, 40})
    found = measure_forgetting(before, after)
    assert (found.before.right, found.after.right) == (98, 96)
    assert (found.forgotten, found.learned) == (3, 1)
    assert found.change == pytest.approx(-0.02)
    assert found.interval[0] < -0.02 < found.interval[1]
    assert found.p_value == paired_p_value(after.credit, before.credit, after.clusters)
    assert json.loads(json.dumps(found.record(), allow_nan=False)) == found.record()


def test_nothing_changes_when_the_answers_stay() -> None:
    """The same answers before and after are no change, with a p-value of 1."""
    found = measure_forgetting(right_but(BEFORE, {3}), right_but(BEFORE, {3}))
    assert (found.change, found.forgotten, found.learned, found.p_value) == (0, 0, 0, 1)


def test_forgetting_is_measured_on_one_data_set() -> None:
    """Answers to different problems are refused."""
    other = make_twins(50, seed=1)
    with pytest.raises(DataError, match="is measured on one data set"):
        measure_forgetting(right_but(BEFORE), grade(other, [Prediction(p.id, 0) for p in other]))


PAIRS = make_twins(5, singles=2)
RIGHT = [Prediction(p.id, p.answer or 0, (0.0, 1.0)[:: 2 * (p.answer or 0) - 1]) for p in PAIRS]


def test_the_order_of_the_predictions_does_not_matter() -> None:
    """Predictions are found by id."""
    assert grade(PAIRS, RIGHT[::-1]).credit.all()
    assert grade(PAIRS, RIGHT[::-1]).digest == grade(PAIRS, RIGHT).digest


def test_a_changed_choice_or_score_changes_the_digest() -> None:
    """The digest covers choices and scores."""
    first = grade(PAIRS, RIGHT).digest
    assert grade(PAIRS, [replace(RIGHT[0], choice=1 - RIGHT[0].choice), *RIGHT[1:]]).digest != first
    assert grade(PAIRS, [replace(RIGHT[0], scores=(0.5, 0.25)), *RIGHT[1:]]).digest != first


@pytest.mark.parametrize(
    ("data", "predictions", "told"),
    [
        (PAIRS, RIGHT[4:], r"4 of 12 problems have no prediction \('0-0', '0-1', '1-0', …\)"),
        (PAIRS[:6], RIGHT, r"6 predictions with an unknown id \('3-0', '3-1', '4-0', …\)"),
        (PAIRS, [*RIGHT, *RIGHT], "12 problems have several predictions"),
        (
            PAIRS.blind(),
            RIGHT,
            "the answers of 12 of 12 problems are withheld .* needs all answers",
        ),
        (
            PAIRS,
            [Prediction("0-0", 3), *RIGHT[1:]],
            "choice 3 of '0-0' is not one of 2 options",
        ),
        (
            PAIRS,
            [Prediction("0-0", 0, (1.0,)), *RIGHT[1:]],
            "the 1 scores of '0-0' don't match 2 options",
        ),
        (Dataset(), [], "there are no problems to score"),
    ],
)
def test_what_does_not_fit_is_named(
    data: Dataset, predictions: list[Prediction], told: str
) -> None:
    """Missing, extra, double and unfit predictions are refused, with the first three ids."""
    with pytest.raises(DataError, match=told):
        grade(data, predictions)


def test_a_family_is_one_cluster() -> None:
    """What was perturbed from one root shares its cluster, whatever its sentence."""
    data = make_twins(0, singles=4)
    perturbed = [replace(p, lineage=Lineage(data[0].id, data[0].id)) for p in data[1:3]]
    assert find_clusters(Dataset([data[0], *perturbed, data[3]])).tolist() == [0, 0, 0, 1]


def test_a_tie_is_graded_by_its_options() -> None:
    """Credit is 1, 0 or a share; ties and choices against the scores are counted."""
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
