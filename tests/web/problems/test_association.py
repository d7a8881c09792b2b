"""The association meter: what it reads."""

from __future__ import annotations

import math
from typing import Any

import pytest

from winosmith import Dataset, Problem, solve
from winosmith.web.problems.association import Pairs, Reading, reading
from winosmith.web.problems.lookalikes import Half

SENTENCE = "They dropped the cup and the jug and the _ {}."

BROKEN = [
    Problem(f"{number}-{word}", SENTENCE.format(word), ("cup", "jug"), answer)
    for number in range(5)
    for word, answer in (("broke", 0), ("survived", 1))
]


def _half(sentence: str, options: tuple[str, ...], answer: int | None) -> Any:
    return Half(sentence, options, answer)


@pytest.fixture
def pairs(site: Any) -> Any:
    """Return pairs that know cups as what breaks and jugs as what stays unhurt."""
    return Pairs.learnt_from(BROKEN)


def test_a_half_that_its_words_give_away_is_read_so(pairs: Any) -> None:
    """What was always right with a word gets most of the share, and the word is named."""
    given_away = reading(_half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert given_away.share is not None
    assert given_away.share > 0.8
    assert given_away.words[0] == "broke"
    against = reading(_half("The _ broke.", ("cup", "jug"), 1), pairs)
    assert against.share == pytest.approx(1 - given_away.share)
    assert against.words == ()


def test_the_order_of_the_options_tells_nothing(pairs: Any) -> None:
    """The reading is the same whichever option stands first."""
    first = reading(_half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert reading(_half("The _ broke.", ("jug", "cup"), 1), pairs) == first


def test_words_that_nobody_knows_tell_nothing(pairs: Any) -> None:
    """Unknown words leave the options even."""
    assert reading(_half("A _ sings.", ("lark", "owl"), 1), pairs) == Reading(0.5, ())


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ((), None),
        (("a", "b"), None),
        (("a",), 0),
        (("a", ""), 0),
        (("a", "b"), 2),
        (("a", "b"), -1),
    ],
)
def test_an_unfinished_half_has_no_share(
    pairs: Any, options: tuple[str, ...], answer: int | None
) -> None:
    """Without two options and an answer among them there is nothing to read."""
    assert reading(_half("The _ broke.", options, answer), pairs) == Reading(None, ())


def test_the_share_is_that_of_the_solver(pairs: Any) -> None:
    """The scores behind the share are those that `WordAssociation.score` gives."""
    solver = solve.WordAssociation.trained_on(Dataset(BROKEN), features="pairs", smoothing=1)
    problem = Problem("x", "They dropped the cup and the _ broke.", ("old cup", "jug"), 0)
    (scores,) = solver.score([problem])
    share = reading(problem, pairs).share
    assert share == pytest.approx(1 / (1 + math.exp(scores[1] - scores[0])))
