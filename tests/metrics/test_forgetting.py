"""What a solver forgets in further training."""

from __future__ import annotations

import json

import pytest

from winosmith import Prediction
from winosmith.errors import DataError
from winosmith.metrics import Graded, compare_pair, forgetting, grade, possible_counts
from winosmith.testing import made_twins

DATA = made_twins(50)

TABLE_4 = [
    ("BERT", "62.75", 795, ("63.06", 799), ("62.98", 798)),
    ("RoBERTa", "76.09", 964, ("76.09", 964), ("76.64", 971)),
    ("ALBERT", "64.64", 819, ("64.48", 817), ("64.64", 819)),
]
"""EvoGrad, table 4, WinoGrande's dev: before, and after training on M and on L; as printed, and
the problems of 1,267 that were right."""


def wrong_at(rows: set[int]) -> Graded:
    """Return the data answered rightly but for these rows."""
    return grade(
        DATA, [Prediction(p.id, (p.answer or 0) ^ (row in rows)) for row, p in enumerate(DATA)]
    )


def test_what_was_lost_and_learned_is_counted() -> None:
    """Three forgotten and one learned are a change of −2 points of 100, with a paired test."""
    before, after = wrong_at({0, 9}), wrong_at({9, 20, 31, 40})
    found = forgetting(before, after)
    assert (found.before.right, found.after.right) == (98, 96)
    assert (found.forgotten, found.learned) == (3, 1)
    assert found.change == pytest.approx(-0.02)
    assert found.interval[0] < -0.02 < found.interval[1]
    assert found.p_value == compare_pair(after.credit, before.credit, after.clusters)
    assert json.loads(json.dumps(found.record(), allow_nan=False)) == found.record()


def test_nothing_changes_when_the_answers_stay() -> None:
    """The same answers before and after are no change, with a p-value of 1."""
    found = forgetting(wrong_at({3}), wrong_at({3}))
    assert (found.change, found.forgotten, found.learned, found.p_value) == (0, 0, 0, 1)


def test_forgetting_is_measured_on_one_data_set() -> None:
    """Answers to different problems are refused."""
    other = made_twins(50, seed=1)
    with pytest.raises(DataError, match="measured on one data set"):
        forgetting(wrong_at(set()), grade(other, [Prediction(p.id, 0) for p in other]))


@pytest.mark.parametrize(("model", "printed", "right", "after_m", "after_l"), TABLE_4)
def test_the_accuracies_of_table_4_are_counts(
    model: str, printed: str, right: int, after_m: tuple[str, int], after_l: tuple[str, int]
) -> None:
    """Each accuracy on dev is one count of 1,267; none differs from before by more than 7."""
    for shown, count in ((printed, right), after_m, after_l):
        assert possible_counts(shown, 1267) == (count,)
        assert abs(count - right) <= 7
