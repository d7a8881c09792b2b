"""Anchor words, and the topics that ship."""

from __future__ import annotations

from collections import Counter

import pytest

from winosmith import topics
from winosmith.errors import InputError
from winosmith.text import FUNCTION_WORDS, tokens
from winosmith.topics import Topic

TEA = Topic("Tea", "Ann boils water for her tea. The water of Ben is hot, and it's 1,000 mm deep.")


def test_anchors_are_content_words_and_no_names() -> None:
    """Function words, names, numbers, units and marks are no candidates."""
    assert TEA.candidates == ("boils", "deep", "hot", "tea", "water")


def test_a_word_that_begins_a_sentence_counts_where_it_stands_in_small_letters_too() -> None:
    """A capital at the beginning of a sentence makes no name of a word that occurs without it."""
    assert Topic("x", "Water is wet. Drink water. Ann drinks.").candidates == (
        "drinks",
        "water",
        "wet",
    )


def test_the_same_seed_draws_the_same_words_and_others_differ() -> None:
    """Anchor words hang on the seed alone, and over many seeds each is drawn about as often."""
    drawn = Counter(word for seed in range(4000) for word in TEA.anchor_words(seed, 1))
    assert TEA.anchor_words(3, 2) == TEA.anchor_words(3, 2)
    assert set(drawn) == set(TEA.candidates)
    assert max(drawn.values()) - min(drawn.values()) < 150  # 800 each; 4.2 standard deviations


def test_words_are_drawn_without_repetition_as_far_as_they_go() -> None:
    """A draw of more words than the text has gives each of them once."""
    assert sorted(TEA.anchor_words(1, 99)) == list(TEA.candidates)


@pytest.mark.parametrize(("seed", "count", "reason"), [(-1, 1, "a seed is"), (1, 0, "1 anchor")])
def test_what_can_not_be_drawn_is_refused(seed: int, count: int, reason: str) -> None:
    """A negative seed and a count under 1 are refused."""
    with pytest.raises(InputError, match=reason):
        TEA.anchor_words(seed, count)


def test_a_topic_without_content_words_is_refused() -> None:
    """A text of function words and names has no anchors to draw."""
    with pytest.raises(InputError, match="no word that can be an anchor"):
        Topic("x", "It is he, Ann. They are Ben's.").anchor_words(0)


def test_topics_ship() -> None:
    """At least 40 articles ship, half social and half physical, of 80 to 150 words, each once."""
    shipped = [topics.shipped()[number] for number in range(len(topics.shipped()))]
    assert len(shipped) >= 40
    assert len({topic.title for topic in shipped}) == len({t.text for t in shipped}) == len(shipped)
    domains = Counter(topic.domain for topic in shipped)
    assert domains["social"] == domains["physical"] == len(shipped) / 2
    for topic in shipped:
        assert 80 <= len(topic.text.split()) <= 150, topic.title
        assert len(topic.candidates) >= 40, topic.title


def test_a_drawn_anchor_stands_in_the_text_and_passes_the_rules() -> None:
    """Whatever is drawn is a token of its article and no function word, three distinct words."""
    for seed in range(300):
        topic = topics.shipped().draw(seed)
        assert len(set(topic.anchors)) == 3
        assert set(topic.anchors) <= set(tokens(topic.text)) - FUNCTION_WORDS


def test_every_topic_is_drawn_about_as_often() -> None:
    """Over many seeds each shipped topic comes up, none more than twice as often as expected."""
    count = len(topics.shipped())
    drawn = Counter(topics.shipped().draw(seed).title for seed in range(60 * count))
    assert len(drawn) == count
    assert max(drawn.values()) < 120
