"""Whether a word takes "a" or "an": by its first sound, which the spelling mostly tells."""

from __future__ import annotations

import re

__all__ = ["article"]

_SILENT_H = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(
    r"(eu|ewe|one\b|one[-s]|once|ouija|u[bcfhjkqrst][aeiou]|uni([^nm]|ned)|unio|unan\w*imous\b)",
    re.IGNORECASE,
)
_VOWEL_SOUND = re.compile(
    r"(unin|unim|uninterest|unidentif|unind|urin|ulul|uku|ushe|uta?h?ter|usher|utter|upa)",
    re.IGNORECASE,
)
_SPELT_OUT = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel: "an MP", "an X-ray"."""

_READ_AS_WORDS = frozenset("NASA NATO NAFTA FIFA LEGO MIDI RAM ROM SIM SWAT".split())
"""Of those letters, but said as words: "a NATO base"."""


def article(following: str) -> str:
    """Return "a" or "an" for the word that follows.

    >>> [article(word) for word in "hour university honest one-sided MP apple umbrella UFO".split()]
    ['an', 'a', 'an', 'a', 'an', 'an', 'an', 'a']
    """
    word = following.lstrip("\"'“‘(")
    if not word:
        return "a"
    if re.match(r"[A-Z]([A-Z]+s?\b|\b|-)", word) and not re.search(r"[AEIOU]{2}", word[:4]):
        if word[0] == "U":
            return "a"
        return "an" if word[0] in _SPELT_OUT and word not in _READ_AS_WORDS else "a"
    if word[0].isdigit():
        return "an" if re.match(r"(8|11\b|18\b)", word) else "a"
    if _SILENT_H.match(word):
        return "an"
    if _CONSONANT_SOUND.match(word) and not _VOWEL_SOUND.match(word):
        return "a"
    return "an" if word[0].lower() in "aeiou" else "a"
