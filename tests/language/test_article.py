"""The articles "a" and "an" go by the first sound, not by the first letter."""

from __future__ import annotations

import pytest

AN = """hour honest heir honour apple umbrella unusual uncle unimportant ugly MP FBI X-ray 8 18 11
egg onion idea overcoat unidentified uninteresting 80th"""
A = """house university European one one-way once unicorn useful uniform union unit utensil UFO ewe
euro cup yellow 7 NATO hotel historic"""


@pytest.mark.parametrize(
    ("article", "word"),
    [(name, word) for name, of in (("an", AN), ("a", A)) for word in of.split()],
)
def test_the_article_goes_by_the_first_sound(article: str, word: str) -> None:
    """Words that begin with a vowel's sound take "an", whatever their first letter; others "a"."""
    from winosmith import language

    assert language.article(word) == article
