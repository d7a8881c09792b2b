"""The articles "a" and "an" go by the first sound, not by the first letter."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "word",
    "hour honest heir honour apple umbrella unusual uncle unimportant ugly MP FBI X-ray 8 18 11 "
    "egg onion idea overcoat unidentified uninteresting".split(),
)
def test_a_vowel_sound_takes_an(word: str) -> None:
    """Words that begin with a vowel's sound take "an", whatever their first letter."""
    from winosmith.language import article

    assert article(word) == "an"


@pytest.mark.parametrize(
    "word",
    "house university European one one-way once unicorn useful uniform union unit utensil UFO "
    "ewe euro cup yellow 7 80th NATO hotel historic".split(),
)
def test_a_consonant_sound_takes_a(word: str) -> None:
    """Words that begin with a consonant's sound take "a", whatever their first letter."""
    from winosmith.language import article

    assert article(word) == ("an" if word == "80th" else "a")
