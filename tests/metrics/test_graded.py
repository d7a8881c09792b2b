"""Predictions are laid beside the answers by id, and what does not fit is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from winosmith import Dataset, Lineage, Prediction
from winosmith.errors import DataError
from winosmith.metrics import clusters, grade
from winosmith.testing import made_twins

DATA = made_twins(5, singles=2)
RIGHT = [Prediction(p.id, p.answer or 0, (0.0, 1.0)[:: 2 * (p.answer or 0) - 1]) for p in DATA]


def test_the_order_of_the_predictions_does_not_matter() -> None:
    """Predictions are found by id."""
    assert grade(DATA, RIGHT[::-1]).credit.all()
    assert grade(DATA, RIGHT[::-1]).digest == grade(DATA, RIGHT).digest


def test_a_changed_choice_or_score_changes_the_digest() -> None:
    """The digest covers choices and scores."""
    first = grade(DATA, RIGHT).digest
    assert grade(DATA, [replace(RIGHT[0], choice=1 - RIGHT[0].choice), *RIGHT[1:]]).digest != first
    assert grade(DATA, [replace(RIGHT[0], scores=(0.5, 0.25)), *RIGHT[1:]]).digest != first


@pytest.mark.parametrize(
    ("data", "predictions", "told"),
    [
        (DATA, RIGHT[4:], r"4 of 12 problems have no prediction \('0-0', '0-1', '1-0', …\)"),
        (DATA[:6], RIGHT, r"6 predictions have no problem \('3-0', '3-1', '4-0', …\)"),
        (DATA, [*RIGHT, *RIGHT], "12 problems have two predictions or more"),
        (DATA.blind(), RIGHT, "the answers of 12 of 12 problems are withheld .* without them"),
        (DATA, [Prediction("0-0", 3), *RIGHT[1:]], "'0-0' can't be for 2 options: choice 3"),
        (DATA, [Prediction("0-0", 0, (1.0,)), *RIGHT[1:]], "choice 0, 1 scores"),
        (Dataset(), [], "there is no problem to score"),
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
    data = made_twins(0, singles=4)
    perturbed = [replace(p, lineage=Lineage(data[0].id, data[0].id)) for p in data[1:3]]
    assert clusters(Dataset([data[0], *perturbed, data[3]])).tolist() == [0, 0, 0, 1]


def test_a_tie_is_graded_by_its_options() -> None:
    """Credit is 1, 0 or a share; ties and choices against the scores are counted."""
    data = made_twins(2)
    said = [
        Prediction(data.ids[0], data[0].answer or 0),
        Prediction(data.ids[1], 0, (0.5, 0.5)),
        Prediction(data.ids[2], 0, tied=(0, 1)),
        Prediction(data.ids[3], data[3].answer or 0, (1.0, -1.0) if data[3].answer else (-1.0, 1)),
    ]
    found = grade(data, said)
    assert found.credit.tolist() == [1, 0.5, 0.5, 1]
    assert found.tied.tolist() == [False, True, True, False]
    assert (found.ties, found.against_scores) == (2, 1)
