"""Predictions and responses are checked on construction."""

import math

import pytest
from hypothesis import given, strategies as st

from winosmith import Prediction, Response
from winosmith.errors import ProblemError
from winosmith.prediction import TIE, find_best_options

SCORES = st.lists(
    st.one_of(st.sampled_from([-2.5, 0.0, 1.0]), st.floats(-1e6, 1e6)), min_size=2, max_size=5
)


@pytest.mark.parametrize(
    ("choice", "scores"),
    [(-1, ()), (2, (0.1, 0.9)), (0, (math.nan, 1.0)), (0, (1.0, math.inf)), (None, (0.1, 0.9))],
)
def test_invalid_choices_and_scores_are_refused(choice, scores):
    with pytest.raises(ProblemError):
        Prediction("1", choice, scores)


@given(SCORES)
def test_tied_options_share_the_credit_in_any_order(scores):
    best = find_best_options(scores)
    turned = find_best_options(scores[1:] + scores[:1])
    assert {(option + 1) % len(scores) for option in turned} == set(best)
    prediction = Prediction("1", best[0], tuple(scores))
    worth = [prediction.credit(answer) for answer in range(len(scores))]
    assert prediction.chosen == best
    assert math.isclose(sum(worth), 1)
    assert {credit for credit in worth if credit} == {1 / len(best)}
    assert not prediction.contradicts_scores


def test_scores_are_tied_within_a_millionth_of_their_size():
    for size in (1e-30, 1.0, 250.0, 1e30):
        assert find_best_options((-size, -size * (1 + 0.9 * TIE))) == (0, 1)
        assert find_best_options((-size, -size * (1 + 1.1 * TIE))) == (0,)


@pytest.mark.parametrize("far", [-1e9, -1e300])
def test_tie_of_two_scores_does_not_depend_on_a_third(far):
    assert find_best_options((far, 0.1, 0.9)) == (2,)
    assert find_best_options((0.9, far, 0.9)) == (0, 2)


def test_stated_tie_shares_the_credit_without_scores():
    assert Prediction("1", 4).scores == ()
    tie = Prediction("1", 1, tied=(1, 3))
    assert tie.chosen == (1, 3)
    assert [tie.credit(answer) for answer in (0, 1, 2, 3, None)] == [0, 0.5, 0, 0.5, 0]


def test_choice_against_the_scores_counts_and_is_flagged():
    odd = Prediction("1", 0, (-5.0, -1.0, -1.0))
    assert odd.contradicts_scores
    assert (odd.chosen, odd.credit(0), odd.credit(1)) == ((0,), 1.0, 0.0)
    assert Prediction("1", 0, (-5.0, -1.0), tied=(0, 1)).contradicts_scores
    assert not Prediction("1", 0).contradicts_scores


@pytest.mark.parametrize("tied", [(0,), (1, 0), (0, 0), (1, 2), (-1, 0), (0, 5)])
def test_invalid_tied_options_are_refused(tied):
    """They must be two or more, sorted, and include the choice."""
    with pytest.raises(ProblemError, match="the tied options of '1' must be two or more"):
        Prediction("1", 0, (1.0, 1.0, 1.0), tied)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"purpose": "fun"}, "unknown purpose 'fun'; use local, validate or test"),
        ({"problem_id": ""}, "a response needs the ids of its problem and its participant"),
        ({"participant": ""}, "a response needs the ids of its problem and its participant"),
        ({"choice": -1}, "the choice is -1; it must be an index or None"),
        ({"shown": (0, 2)}, "the order (0, 2) is not a permutation of the options"),
        ({"shown": (0, 0)}, "the order (0, 0) is not a permutation of the options"),
        ({"seconds": -1.0}, "the response time is -1.0 s; it must be 0 or more"),
        ({"seconds": math.nan}, "the response time is nan s; it must be 0 or more"),
        ({"seconds": math.inf}, "the response time is inf s; it must be 0 or more"),
    ],
)
def test_invalid_response_is_refused_with_the_reason(fields, reason):
    """A valid one may have no choice: no option is correct, or the problem is ambiguous."""
    sound = {"problem_id": "1", "participant": "w1", "purpose": "validate", "choice": None}
    assert Response(**sound, ambiguous=True).choice is None
    with pytest.raises(ProblemError) as told:
        Response(**{**sound, **fields})
    assert str(told.value) == reason
