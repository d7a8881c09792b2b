"""The association meter: how far the words alone, without understanding, tell the answers.

What is learnt from are the public problems of the site and the twins that ship: how often a word
of an option stood in a sentence with another word, when that option was right and when it was not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winosmith.problem import BLANK
from winosmith.text import content_words, tokens
from winosmith.web.problems.association_learnt import Pairs, latest
from winosmith.web.problems.halves import AnyHalf

TELLING = 0.1
"""Nats by which a word must favour the right option to be named: odds of 1.1 to 1."""

MOST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """How far word association gets one half right.

    Attributes:
        share: what it gives to the right option, 0–1: 0.5 where it can't tell the options apart,
            more where it gives the answer away. None while the half has no answer or not two
            options to choose from.
        words: the content words that give it away, the strongest first.
    """

    share: float | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Meter:
    """What word association makes of the halves.

    Attributes:
        readings: one for each half, in their order; empty until the first learning is done.
        problems: how many problems were learnt from.
    """

    readings: tuple[Reading, ...] = ()
    problems: int = 0


def association(halves: Sequence[AnyHalf]) -> Meter:
    """Return how far word association alone gets each half right; halves may be unfinished."""
    pairs = latest()
    if pairs is None:
        return Meter()
    return Meter(tuple(reading(half, pairs) for half in halves), pairs.problems)


def reading(half: AnyHalf, pairs: Pairs) -> Reading:
    """Return how far word pairs get a half right."""
    options = [_words(option) for option in half.options]
    if half.answer is None or len(options) < 2 or not all(options):
        return Reading(None)
    if not 0 <= half.answer < len(options):
        return Reading(None)
    sentence = _words(half.sentence)
    known = pairs.weights(
        {f"{own} {word}" for option in options for own in option for word in sentence}
    )
    scores = [sum(_weight(known, option, word) for word in sentence) for option in options]
    right = options[half.answer]
    wrong = [option for number, option in enumerate(options) if number != half.answer]
    gains = {
        word: _weight(known, right, word) - max(_weight(known, other, word) for other in wrong)
        for word in content_words(half.sentence)
    }
    telling = sorted((word for word in gains if gains[word] >= TELLING), key=lambda w: -gains[w])
    return Reading(_share(scores, half.answer), tuple(telling[:MOST_WORDS]))


def _words(text: str) -> list[str]:
    """Return the distinct words as `WordAssociation` has them, in alphabetical order."""
    return sorted({token.lower() for token in tokens(text)} - {BLANK})


def _weight(known: Mapping[str, float], option: Sequence[str], word: str) -> float:
    return sum((known.get(f"{own} {word}", 0.0) for own in option), 0.0)


def _share(scores: Sequence[float], answer: int) -> float:
    """Return the answer's share of the options' exponentiated scores."""
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return powers[answer] / sum(powers)
