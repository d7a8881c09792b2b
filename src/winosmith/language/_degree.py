"""Comparatives and superlatives: with an ending, irregular, or with "more" and "most"."""

from __future__ import annotations

import re

__all__ = ["degree"]

_IRREGULAR = {
    "good": ("better", "best"),
    "well": ("better", "best"),
    "bad": ("worse", "worst"),
    "badly": ("worse", "worst"),
    "far": ("farther", "farthest"),
    "little": ("less", "least"),
    "much": ("more", "most"),
    "many": ("more", "most"),
}

_WITH_ENDING = frozenset("clever quiet simple narrow shallow gentle able noble humble".split())
"""Of two syllables and not in -y, but with an ending more often than with "more"."""

_WITH_MORE = frozenset(
    "fun real right wrong worth ill just like fake eager proper bitter tender sober upset alive "
    "alone awake asleep aware afraid alike unique spent lost worn torn".split()
)
"""Short, but with "more" (Quirk et al. 1985, 7.81)."""


def degree(lemma: str, tag: str) -> str:
    """Return the comparative (JJR, RBR) or superlative (JJS, RBS) of an adjective or adverb.

    Words of one syllable and those of two in -y, -le, -ow take the ending, all others "more" or
    "most" (Quirk et al. 1985, 7.81); adverbs in -ly always take "more".

    >>> degree("big", "JJR"), degree("enormous", "JJR"), degree("quickly", "RBS")
    ('bigger', 'more enormous', 'most quickly')
    """
    place = 0 if tag.endswith("R") else 1
    if lemma in _IRREGULAR:
        return _IRREGULAR[lemma][place]
    if not _takes_ending(lemma, tag):
        return f"{('more', 'most')[place]} {lemma}"
    return _stem(lemma) + ("er", "est")[place]


def _takes_ending(lemma: str, tag: str) -> bool:
    if lemma in _WITH_ENDING:
        return True
    if lemma in _WITH_MORE or not lemma.isalpha() or lemma.endswith(("ed", "ing")):
        return False
    if tag.startswith("RB") and lemma.endswith("ly") and lemma != "early":
        return False
    syllables = _syllables(lemma)
    return syllables == 1 or (syllables == 2 and lemma.endswith(("y", "le", "ow")))


def _syllables(word: str) -> int:
    """Return about how many syllables a word has: its groups of vowels, less a mute final e."""
    groups = len(re.findall(r"[aeiouy]+", word))
    mute = re.search(r"[^aeiouyl]e$|[aeiou]le$", word) is not None
    return max(1, groups - mute)


def _stem(lemma: str) -> str:
    """Return what the endings -er and -est are put after."""
    if lemma.endswith("e"):
        return lemma[:-1]
    if re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "i"
    if _syllables(lemma) == 1 and re.search(r"(^|[^aeiou])[aeiou][bdgklmnprt]$", lemma):
        return lemma + lemma[-1]
    return lemma
