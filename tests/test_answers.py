"""What models and people answered is checked on construction."""

from __future__ import annotations

import math

import pytest

from winosmith import Prediction, Response
from winosmith.errors import ProblemError


@pytest.mark.parametrize(
    ("choice", "scores"), [(-1, ()), (2, (0.1, 0.9)), (0, (math.nan, 1.0)), (0, (1.0, math.inf))]
)
def test_a_prediction_names_an_option_and_has_finite_scores(
    choice: int, scores: tuple[float, ...]
) -> None:
    """A choice that is no option, or a score that is not finite, is refused."""
    with pytest.raises(ProblemError):
        Prediction("1", choice, scores)


def test_a_prediction_may_come_without_scores() -> None:
    """A model that gives no scores can choose any option."""
    assert Prediction("1", 4).scores == ()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"purpose": "fun"}, "the purpose 'fun' is not local, validate or test"),
        ({"problem_id": ""}, "a response needs the ids of its problem and its participant"),
        ({"participant": ""}, "a response needs the ids of its problem and its participant"),
        ({"choice": -1}, "the choice is an index of 0 or more, or None, not -1"),
        ({"shown": (0, 2)}, "the shown order (0, 2) is not an order of the options"),
        ({"shown": (0, 0)}, "the shown order (0, 0) is not an order of the options"),
        ({"seconds": -1.0}, "the time taken is 0 seconds or more, not -1.0"),
        ({"seconds": math.nan}, "the time taken is 0 seconds or more, not nan"),
        ({"seconds": math.inf}, "the time taken is 0 seconds or more, not inf"),
    ],
)
def test_a_response_that_makes_no_sense_is_refused(fields: dict[str, object], reason: str) -> None:
    """A response with an unknown purpose, no ids, or numbers out of range is refused."""
    sound = {"problem_id": "1", "participant": "w1", "purpose": "validate", "choice": 0}
    with pytest.raises(ProblemError) as told:
        Response(**{**sound, **fields})  # type: ignore[arg-type]
    assert str(told.value) == reason


def test_a_person_may_choose_no_option() -> None:
    """A response without a choice stands: the person found none, or found it ambiguous."""
    assert Response("1", "w1", "test", ambiguous=True).choice is None
