"""What a solver forgets in further training."""

from __future__ import annotations

import json

import pytest

from tests.metrics.answering import right_but  # type: ignore[import-not-found]
from winosmith import Prediction
from winosmith.errors import DataError
from winosmith.metrics import compare_pair, forgetting, grade
from winosmith.testing import made_twins

DATA = made_twins(50)


def test_what_was_lost_and_learned_is_counted() -> None:
    """Three forgotten and one learned are a change of −2 points of 100, with a paired test."""
    before, after = right_but(DATA, {0, 9}), right_but(DATA, {9, 20, 31, 40})
    found = forgetting(before, after)
    assert (found.before.right, found.after.right) == (98, 96)
    assert (found.forgotten, found.learned) == (3, 1)
    assert found.change == pytest.approx(-0.02)
    assert found.interval[0] < -0.02 < found.interval[1]
    assert found.p_value == compare_pair(after.credit, before.credit, after.clusters)
    assert json.loads(json.dumps(found.record(), allow_nan=False)) == found.record()


def test_nothing_changes_when_the_answers_stay() -> None:
    """The same answers before and after are no change, with a p-value of 1."""
    found = forgetting(right_but(DATA, {3}), right_but(DATA, {3}))
    assert (found.change, found.forgotten, found.learned, found.p_value) == (0, 0, 0, 1)


def test_forgetting_is_measured_on_one_data_set() -> None:
    """Answers to different problems are refused."""
    other = made_twins(50, seed=1)
    with pytest.raises(DataError, match="measured on one data set"):
        forgetting(right_but(DATA), grade(other, [Prediction(p.id, 0) for p in other]))
