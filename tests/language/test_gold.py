"""Gold lists of word replacements and of synonyms in the right sense.

`gold_swaps.jsonl` was written before the code, `gold_swaps_later.jsonl` after it, to check that
the code does not only fit the first list. `gold_senses.jsonl` has 80 words of several senses;
"bad" are synonyms in other senses or parts of speech, antonyms, and the other option.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_wordnet
from winosmith import Problem

HERE = Path(__file__).parent


def items(name: str) -> list[dict[str, Any]]:
    """Return the rows of a list in this folder."""
    with (HERE / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


SWAPS = items("gold_swaps.jsonl")
LATER = items("gold_swaps_later.jsonl")
SENSES = items("gold_senses.jsonl")


def accepted(swap: dict[str, Any]) -> list[str]:
    """Return the correct sentences; none if the swap must be refused."""
    expected = swap["expected"]
    return [expected] if isinstance(expected, str) else expected or []


def make_swap(swap: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return the sentence and options that winosmith makes."""
    from winosmith.language import replace_word

    return replace_word(swap["sentence"], tuple(swap["options"]), swap["at"], swap["lemma"])


def is_correct(swap: dict[str, Any], made: tuple[str, tuple[str, ...]] | None) -> bool:
    """Return whether sentence and options are correct."""
    if made is None or swap["expected"] is None:
        return made is None and swap["expected"] is None
    return made[0] in accepted(swap) and list(made[1]) == swap["expected_options"]


def count_incorrect(swaps: list[dict[str, Any]]) -> int:
    """Return the number of incorrect swaps, and print them."""
    wrong = [(swap, made) for swap in swaps if not is_correct(swap, made := make_swap(swap))]
    for swap, made in wrong:
        wanted = " / ".join(accepted(swap)) or "nothing"
        print(f"{swap['word']} -> {swap['lemma']} ({swap['why']})")
        print(f"    wanted {wanted} {swap['expected_options']}\n    got    {made}")
    return len(wrong)


def test_lists_have_300_72_and_80_rows():
    """No sentence occurs twice."""
    assert [len(SWAPS), len(LATER), len(SENSES)] == [300, 72, 80]
    assert len({swap["sentence"] for swap in SWAPS + LATER}) == 372
    assert sum(swap["expected"] is None for swap in SWAPS) >= 15


def test_98_percent_of_the_300_swaps_are_correct():
    assert count_incorrect(SWAPS) <= 0.02 * len(SWAPS)


def test_at_most_two_of_the_72_later_swaps_are_incorrect():
    assert count_incorrect(LATER) <= 2


@pytest.mark.parametrize("word", ["loaned", "borrowed"])
def test_passive_takes_the_participle(word):
    """A public tool writes "It was lend"; a participle must become a participle, "lent"."""
    swap = next(s for s in SWAPS if s["word"] == word and " was lent" in str(s["expected"]))
    made = make_swap(swap)
    assert made is not None
    assert made[0] == swap["expected"]


@pytest.mark.parametrize("word", ["United", "Kingdom"])
def test_words_of_names_are_not_replaced(word):
    """A public tool writes "joined Kingdom"."""
    swap = next(s for s in SWAPS if s["word"] == word and "United Kingdom" in s["sentence"])
    assert make_swap(swap) is None


def proposals(item: dict[str, Any], number: int, kind: str) -> list[str]:
    """Return the "good" or "bad" words that WordNet's perturber uses for the word."""
    from winosmith.evolve import WordNetPerturber
    from winosmith.language import replace_word

    sentence, options = item["sentence"], tuple(item["options"])
    problem = Problem(str(number), sentence, options, 0)
    made = {child.sentence for child in WordNetPerturber(count=1000).perturb(problem, seed=1)}
    found = []
    for word in item[kind]:
        changed = replace_word(sentence, options, item["at"], word)
        if changed is not None and changed[0] in made:
            found.append(word)
    return found


def test_synonyms_have_the_intended_sense():
    """At most 30 % of the synonyms have another sense, and at most 4 % of 80 ambiguous words do.

    When the perturber was written, 3 of 11 synonyms had another sense. Now it needs common words
    and a single sense of the synonym, and 0 of 2 do: it skips nearly all ambiguous words.
    """
    need_wordnet()
    good = [proposals(item, number, "good") for number, item in enumerate(SENSES)]
    bad = [proposals(item, number, "bad") for number, item in enumerate(SENSES)]
    for item, words_of_others in zip(SENSES, bad, strict=True):
        if words_of_others:
            print(f"{item['word']} -> {', '.join(words_of_others)}: {item['sentence']}")
    right, wrong = sum(map(len, good)), sum(map(len, bad))
    print(f"{right} of the sense, {wrong} of another")
    assert right >= 2
    assert wrong <= 0.3 * (right + wrong)
    assert sum(map(bool, bad)) <= 0.04 * len(SENSES)
