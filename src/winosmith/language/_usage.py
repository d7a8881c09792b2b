"""How common words are, by the tagger's lexicon, which counts the British National Corpus."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import lru_cache

from winosmith.language._forms import MASS
from winosmith.language._tagger import lexicon

__all__ = ["is_mass", "usage"]

_KINDS = {"NN": "n", "VV": "v", "VB": "v", "VH": "v", "VD": "v", "AJ": "a", "AV": "r"}
"""The first letters of the corpus' tags (C5): the kinds of words that WordNet has."""


_MAIN = 0.22
"""The least share of a word's uses that are the part of speech asked for."""


@lru_cache(maxsize=100_000)
def usage(word: str, pos: str) -> float | None:
    """Return how common a word is as one part of speech: the natural logarithm of its share.

    Of several words the rarest tells.

    Args:
        word: in its dictionary form, in small letters.
        pos: "n", "v", "a" or "r" for an adverb.

    Returns:
        None where a word is unknown, or seldom that part of speech.

    Raises:
        MissingExtraError: HanTa is not installed.

    >>> round(usage("car", "n")), round(usage("automobile", "n")), usage("ready", "v")
    (-8, -11, None)
    """
    before, _, last = word.rpartition(" ")
    shares = [sum(_shares(one).values()) for one in before.split()]
    kinds = _shares(last)
    own = kinds.get(pos, 0.0)
    if not own or own < _MAIN * sum(kinds.values()) or not all(shares):
        return None
    return math.log(min(own, *shares)) if shares else math.log(own)


def _shares(word: str) -> dict[str, float]:
    """Return the share of a word as each part of speech."""
    kinds: defaultdict[str, float] = defaultdict(float)
    for name, share in lexicon(word):
        kinds[_KINDS.get(name[:2], name)] += math.exp(share)
    return kinds


def is_mass(noun: str) -> bool:
    """Tell whether a noun, or the last word of one, has no plural ("luggage").

    >>> is_mass("rain"), is_mass("rainfall")
    (True, False)
    """
    return noun.rpartition(" ")[2] in MASS
