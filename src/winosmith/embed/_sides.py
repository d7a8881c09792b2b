"""What the light embedder reads of a problem: attributes of each option, and cues at the blank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.problem import BLANK, Problem
from winosmith.text import FUNCTION_WORDS, tokens

__all__ = ["Sides", "sides"]

BEFORE, AFTER = 4, 2
"""The tokens before and after an option's mention whose content words are its attributes; not
beyond the mention of the other one. What is said of a thing mostly stands before it ("praised the
captain"). Windows of 3–8 before and 0–4 after gave linear models the same on WinoGrande's train_xl,
within half a point."""

REACH = 8
"""The tokens after the blank that are cues: the trigger is among them in most twins."""

FIRST, LONGER = "<first>", "<longer>"
"""Attributes of the option that is mentioned first, and of the one with more letters."""


@dataclass(frozen=True, slots=True, order=True)
class Sides:
    """One problem as the light embedder reads it; nothing in it depends on the answer.

    They can be put in order, so that what is learnt depends on no other order.

    Attributes:
        sentence: all the words, to be compared with those of the other half.
        cues: the words after the blank, without repetition.
        attributes: those of each option, without repetition.
    """

    sentence: tuple[str, ...]
    cues: tuple[str, ...]
    attributes: tuple[tuple[str, ...], tuple[str, ...]]


def sides(problem: Problem) -> Sides:
    """Return the attributes and cues of a problem with two options.

    >>> read = sides(
    ...     Problem("1", "They praised Ann and blamed Beth, as _ was late.", ("Ann", "Beth"))
    ... )
    >>> read.attributes
    (('<first>', '=ann', 'blamed', 'praised'), ('<longer>', '=beth', 'blamed'))
    >>> read.cues
    ('late', 'was')
    """
    words = [token.lower() for token in tokens(problem.sentence)]
    blank = next(at for at, word in enumerate(words) if BLANK in word)
    options = [[token.lower() for token in tokens(option)] for option in problem.options]
    mentions = [_mention(words, option, blank) for option in options]
    own = {word for option in options for word in option}
    attributes = []
    for option, (start, end), (other, _) in zip(options, mentions, mentions[::-1], strict=True):
        found = {f"={option[-1]}"}
        if start < end:
            left, right = (other + 1, len(words)) if other < start else (0, other)
            near = words[max(left, start - BEFORE) : start]
            near += words[end : min(right, end + AFTER)]
            found |= {word for word in near if _is_content(word) and word not in own}
        if start < other:
            found.add(FIRST)
        attributes.append(found)
    lengths = [len(option.strip()) for option in problem.options]
    if lengths[0] != lengths[1]:
        attributes[lengths[1] > lengths[0]].add(LONGER)
    after = {w for w in words[blank + 1 : blank + 1 + REACH] if w not in own and _is_word(w)}
    first, second = (tuple(sorted(found)) for found in attributes)
    return Sides(tuple(words), tuple(sorted(after)), (first, second))


def _mention(words: Sequence[str], option: Sequence[str], blank: int) -> tuple[int, int]:
    """Return the span of an option's first mention, by its last word if need be.

    An option that is not mentioned has an empty span at the end.
    """
    for sought in (list(option), [option[-1]]):
        for at in range(len(words) - len(sought) + 1):
            end = at + len(sought)
            if list(words[at:end]) == sought and not at <= blank < end:
                return at, end
    return len(words), len(words)


def _is_word(token: str) -> bool:
    return BLANK not in token and any(map(str.isalnum, token))


def _is_content(token: str) -> bool:
    return _is_word(token) and token not in FUNCTION_WORDS
