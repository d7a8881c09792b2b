"""A gold list of 300 swaps, written before the code: one word for another, and what it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from winosmith.problem import BLANK
from winosmith.text import tokens, words

HERE = Path(__file__).parent
PARTS = {"sentence", "options", "word", "at", "lemma", "expected", "expected_options", "why"}


def items(name: str) -> list[dict[str, Any]]:
    """Return the lines of a list in this folder."""
    with (HERE / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


SWAPS = items("gold_swaps.jsonl")


def accepted(swap: dict[str, Any]) -> list[str]:
    """Return the sentences that are right; none where the swap must be refused."""
    expected = swap["expected"]
    return [expected] if isinstance(expected, str) else expected or []


def swapped(swap: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return the sentence and the options that winosmith makes of a swap."""
    from winosmith.language import replace_word

    return replace_word(swap["sentence"], tuple(swap["options"]), swap["at"], swap["lemma"])


def is_right(swap: dict[str, Any], made: tuple[str, tuple[str, ...]] | None) -> bool:
    """Return whether the sentence is one of the right ones, and the options are the right ones."""
    if made is None or swap["expected"] is None:
        return made is None and swap["expected"] is None
    return made[0] in accepted(swap) and list(made[1]) == swap["expected_options"]


def test_a_swap_names_its_word_and_keeps_the_form_of_a_problem() -> None:
    """All 300 swaps point at their word, have one blank, 8–30 words and two options of the text."""
    assert len(SWAPS) == len({swap["sentence"] for swap in SWAPS}) == 300
    for swap in SWAPS:
        sentence, options = swap["sentence"], swap["options"]
        assert set(swap) == PARTS, sentence
        assert tokens(sentence)[swap["at"]] == swap["word"], sentence
        assert sentence.count(BLANK) == 1, sentence
        assert 8 <= len(words(sentence)) <= 30, sentence
        assert len(set(options)) == 2, sentence
        assert all(option.lower() in sentence.lower() for option in options), sentence


def test_what_a_swap_gives_is_another_problem_or_nothing() -> None:
    """What is expected differs from the sentence, has one blank and names its options."""
    assert sum(swap["expected"] is None for swap in SWAPS) >= 15
    for swap in SWAPS:
        assert (swap["expected"] is None) == (swap["expected_options"] is None), swap["sentence"]
        for sentence in accepted(swap):
            options = swap["expected_options"]
            assert sentence != swap["sentence"], sentence
            assert sentence.count(BLANK) == 1, sentence
            assert all(option.lower() in sentence.lower() for option in options), sentence


def test_swaps_are_right() -> None:
    """At least 98 % of the 300 swaps give what a strict reader expects."""
    wrong = [(swap, made) for swap in SWAPS if not is_right(swap, made := swapped(swap))]
    for swap, made in wrong:
        wanted = " / ".join(accepted(swap)) or "nothing"
        print(f"{swap['word']} -> {swap['lemma']} ({swap['why']})")
        print(f"    wanted {wanted} {swap['expected_options']}\n    got    {made}")
    assert len(wrong) <= 0.02 * len(SWAPS), f"{len(wrong)} of {len(SWAPS)} are wrong"


@pytest.mark.parametrize("word", ["loaned", "borrowed"])
def test_a_passive_takes_the_participle(word: str) -> None:
    """A public tool writes "It was lend"; a participle is replaced by a participle, "lent"."""
    swap = next(s for s in SWAPS if s["word"] == word and " was lent" in str(s["expected"]))
    made = swapped(swap)
    assert made is not None
    assert made[0] == swap["expected"]


@pytest.mark.parametrize("word", ["United", "Kingdom"])
def test_a_name_is_not_touched(word: str) -> None:
    """A public tool writes "joined Kingdom"; a word of a name is not replaced."""
    swap = next(s for s in SWAPS if s["word"] == word and "United Kingdom" in s["sentence"])
    assert swapped(swap) is None
