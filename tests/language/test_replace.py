"""What replace_word refuses, and laws of what it gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from winosmith import formats
from winosmith.language import replace_word
from winosmith.problem import BLANK, Problem
from winosmith.text import tokens

TROPHY = "The trophy doesn't fit into the suitcase because the _ is too large."


def at(sentence: str, word: str) -> int:
    """Return the number of a word's first token."""
    return tokens(sentence).index(word)


@pytest.mark.parametrize("word", ["The", "into", "_", ".", "n't", "because"])
def test_what_is_no_content_word_stays(word: str) -> None:
    """Function words, the blank and punctuation are not replaced."""
    assert replace_word(TROPHY, ("trophy", "suitcase"), at(TROPHY, word), "thing") is None


@pytest.mark.parametrize("word", [-1, 99])
def test_a_token_that_is_not_there_is_not_replaced(word: int) -> None:
    """A number outside the sentence gives nothing."""
    assert replace_word(TROPHY, ("trophy", "suitcase"), word, "thing") is None


def test_a_word_is_not_replaced_by_itself_or_by_the_other_option() -> None:
    """The same word gives nothing, nor does one that makes the options equal."""
    options = ("trophy", "suitcase")
    assert replace_word(TROPHY, options, 1, "trophy") is None
    assert replace_word(TROPHY, options, 1, "suitcase") is None


def test_an_option_changes_along_everywhere() -> None:
    """The option and every place of the sentence name the same thing afterwards."""
    sentence = "An empty bottle lay on the box, and I took the bottle because the _ was clean."
    made = replace_word(sentence, ("bottle", "box"), at(sentence, "bottle"), "feeding bottle")
    assert made == (
        "An empty feeding bottle lay on the box, and I took the feeding bottle because the _ was "
        "clean.",
        ("feeding bottle", "box"),
    )


def test_what_is_given_is_a_problem(data_dir: Path) -> None:
    """Whatever word is put anywhere into WinoGrande, a problem comes out, or nothing."""
    data = formats.read(data_dir / "winogrande/dev.jsonl")
    made = 0
    for row in np.random.default_rng(3).choice(len(data), 60, replace=False):
        problem = data[int(row)]
        for word in range(len(tokens(problem.sentence))):
            for lemma in ("information", "give up", "odd", "oftentimes"):
                given = replace_word(problem.sentence, problem.options, word, lemma)
                if given is not None:
                    made += 1
                    child = Problem("child", *given)
                    assert child.sentence != problem.sentence
                    assert child.sentence.count(BLANK) == 1
                    assert len(child.options) == len(problem.options)
    assert made > 300


@pytest.mark.parametrize(
    ("old", "word", "new", "expected"),
    [
        # a mass noun keeps its number
        ("the water was", "water", "piddle", "the piddle was"),
        ("much information was", "information", "info", "much info was"),
        ("the homework was", "homework", "preparation", "the preparation was"),
        ("their luggage was", "luggage", "bag", "their bag was"),
        ("much money was", "money", "wealth", "much wealth was"),
        ("little data was", "data", "information", "little information was"),
        # a countable singular needs a determiner, which a mass noun may lack
        ("good advice was", "advice", "tip", None),
        ("much luggage was", "luggage", "bag", None),
        ("some sound advice was", "advice", "tip", None),
        ("her sound advice was", "advice", "tip", "her sound tip was"),
        # a mass noun takes no "a", "each" or number
        ("a bag was", "bag", "luggage", None),
        ("each old bag was", "bag", "luggage", None),
        ("two old bags were", "bags", "luggage", None),
        ("several bags were", "bags", "luggage", None),
        ("the bag was", "bag", "luggage", "the luggage was"),
        ("the bags were", "bags", "luggage", "the luggage was"),
        ("many bags were", "bags", "luggage", "much luggage was"),
        ("the jobs were", "jobs", "employment", "the employment was"),
        # a noun with "of" has its number in front
        ("the lakes were", "lakes", "body of water", "the bodies of water were"),
        ("the lake was", "lake", "body of water", "the body of water was"),
        # a name keeps its capital
        ("the grass was", "grass", "Mary Jane", "the Mary Jane was"),
    ],
)
def test_number_and_countability_are_the_original_s(
    old: str, word: str, new: str, expected: str | None
) -> None:
    """A noun keeps the number of the original, or is refused if its place can't take it."""
    sentence = "Ann said that {} left by Bea because _ came."
    made = replace_word(
        sentence.format(old), ("Ann", "Bea"), tokens(sentence.format(old)).index(word), new
    )
    assert (made and made[0]) == (expected and sentence.format(expected))


def test_an_option_that_is_a_mass_noun_keeps_its_number() -> None:
    """The option changes along with the sentence, as a singular in both."""
    sentence = "Ann poured the water into the jug until the _ was full."
    made = replace_word(sentence, ("water", "jug"), 3, "piddle")
    expected = "Ann poured the piddle into the jug until the _ was full."
    assert made == (expected, ("piddle", "jug"))
