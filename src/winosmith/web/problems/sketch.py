"""What a sentence is found again by: numbers that stand for three words in a row.

Broder's shingles (1997), of which a sentence stores the few smallest and is asked for by all. With
eight of a sentence's 18 stored, and nine spoilt by three changed words, eight of the spoilt ones
would have to be those stored: 9 in 43,758 sentences would be missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from winosmith.problem import BLANK
from winosmith.text import FUNCTION_WORDS, overlap, tokens

STORED = 8
"""Numbers that a sentence is stored under, beside the one of the whole."""

WIDTH = 3
"""Words in a shingle."""

GAP = "•"
"""What stands for the blank and for each mention of an option: other names make no other text."""

LEAST_CONTENT = 0.5
"""The share of content words below which sentences have no more than their frame in common."""

_ARTICLES = frozenset("a an the his her their its my your our".split())


def compared(sentence: str, options: Sequence[str] = ()) -> list[str]:
    """Return the words that are compared: small letters, no marks, a gap for each option.

    >>> compared("Ann thanked the old man because _ was kind.", ["Ann", "the old man"])
    ['•', 'thanked', 'the', '•', 'because', '•', 'was', 'kind']
    """
    words = list(_plain(sentence))
    for option in sorted((_named(option) for option in options), key=len, reverse=True):
        words = list(_masked(words, option))
    return [GAP if word == BLANK else word for word in words]


def shared(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the share of words that two sentences have in common, 0–1: `winosmith.text.overlap`.

    It is 0 where less than `LEAST_CONTENT` of the content words are shared: of 250 sentences of
    WinoGrande, 1,572 others share 70 % of the words, most of them no more than a frame.

    Args:
        first: from `compared`.
        second: from `compared`.
    """
    if overlap(_content(first), _content(second)) < LEAST_CONTENT:
        return 0.0
    return overlap(first, second)


def shingles(words: Sequence[str]) -> list[int]:
    """Return the numbers that a sentence is asked for by: one of the whole, then the others.

    Args:
        words: from `compared`.

    Returns:
        Whole numbers that a signed 64-bit column holds, each once. Those with two content words
        come first, for they occur in fewer sentences; three words without any are left out.
    """
    whole = _number("\0".join(("", *words)))
    ranked = {}
    for start in range(len(words) - WIDTH + 1):
        three = words[start : start + WIDTH]
        if content := len(_content(three)):
            number = _number("\0".join(three))
            ranked[number] = (content < 2, number)
    return [whole, *sorted(ranked.keys() - {whole}, key=ranked.__getitem__)]


def sketch(words: Sequence[str]) -> list[int]:
    """Return the numbers that a sentence is stored under: that of the whole and `STORED` more."""
    return shingles(words)[: 1 + STORED]


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != GAP and word not in FUNCTION_WORDS]


def _plain(text: str) -> Iterator[str]:
    for token in tokens(text):
        if token == BLANK or any(map(str.isalnum, token)):
            yield token.lower()


def _named(option: str) -> list[str]:
    """Return an option's words without the article, which the sentence may have otherwise."""
    words = list(_plain(option))
    return words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _masked(words: Sequence[str], option: Sequence[str]) -> Iterator[str]:
    at, length = 0, len(option)
    while at < len(words):
        if length and list(words[at : at + length]) == list(option):
            yield GAP
            at += length
        else:
            yield words[at]
            at += 1


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
