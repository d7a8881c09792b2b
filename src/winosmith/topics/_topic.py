"""`Topic`: a text and the words of it that may be anchors; `Topics`: where they come from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from winosmith.errors import InputError
from winosmith.text import FUNCTION_WORDS, tokens

__all__ = ["ANCHORS", "Topic", "Topics", "rng_of"]

ANCHORS = 3
"""How many anchor words a drawn topic has; the writer keeps at least one of them."""

_WORD = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*")
"""An anchor has three letters or more; a hyphen may join words ("cross-country")."""

_FOR_TOPICS, _FOR_ANCHORS = range(2)
"""What a seed's random numbers are for."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A short text, and the anchor words that were drawn from it.

    Attributes:
        title: what it is about, on one line.
        text: plain text; an empty line parts paragraphs.
        anchors: the words that were drawn, in lower case; empty before a draw.
        domain: "social" or "physical" where the source tells.
        source: the source's name: a file, an address, "winosmith".
    """

    title: str
    text: str
    anchors: tuple[str, ...] = ()
    domain: str | None = None
    source: str = ""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The distinct words that can be anchors, in alphabetical order, in lower case.

        They are content words ("the, it, he, of" can't be anchors: WinoGrande, section 2) and no
        names: a word that the text never writes in lower case is taken for one.

        >>> Topic("Tea", "Ann boils the water for Ann's tea. Water that boiled is hot.").candidates
        ('boiled', 'boils', 'hot', 'tea', 'water')
        """
        found = Counter(token for token in tokens(self.text) if _WORD.fullmatch(token))
        return tuple(sorted(word for word in found if _may_be_anchor(word)))

    def anchor_words(self, seed: int, count: int = ANCHORS) -> tuple[str, ...]:
        """Draw distinct anchor words, each of the candidates as likely as another.

        Args:
            seed: 0 or more; the same seed draws the same words.
            count: how many, 1 or more; fewer come where the text has no more.

        Raises:
            InputError: `seed` or `count` is out of its range, or no word can be an anchor.
        """
        if count < 1:
            raise InputError(f"draw 1 anchor word or more, not {count}")
        candidates = self.candidates
        if not candidates:
            raise InputError(f"the topic {self.title!r} has no word that can be an anchor")
        drawn = rng_of(seed, _FOR_ANCHORS).permutation(len(candidates))[:count]
        return tuple(candidates[number] for number in drawn)

    def with_anchors(self, seed: int, count: int = ANCHORS) -> Topic:
        """Return the topic with anchor words drawn; raises as `anchor_words`."""
        return replace(self, anchors=self.anchor_words(seed, count))


class Topics(Protocol):
    """Gives topics: the same one, with the same anchor words, for the same seed."""

    def draw(self, seed: int) -> Topic:
        """Return a topic with `ANCHORS` anchor words, each topic as likely as another.

        Raises:
            InputError: there is none to be had; the message says why and what to do.
        """
        ...


def rng_of(seed: int, purpose: int = _FOR_TOPICS) -> np.random.Generator:
    """Return the random numbers of a seed for one purpose.

    Raises:
        InputError: the seed is negative.
    """
    if seed < 0:
        raise InputError(f"a seed is 0 or more, not {seed}")
    return np.random.default_rng([seed, purpose])


def _may_be_anchor(word: str) -> bool:
    return word.islower() and not FUNCTION_WORDS.intersection(word.split("-"))
