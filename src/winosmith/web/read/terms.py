"""What somebody searches for: words, "phrases", and -words that must not occur."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MOST_TERMS", "Term", "parse"]

MOST_TERMS = 20
"""Terms that one search may have; those after them are left out."""

_PARTS = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must follow each other, or that must not.

    Attributes:
        words: in lower case, letters and digits alone.
        wanted: False for what must not occur.
    """

    words: tuple[str, ...]
    wanted: bool = True


def parse(text: str) -> list[Term]:
    """Return the terms of a search; all of the wanted ones must occur.

    >>> [(" ".join(term.words), term.wanted) for term in parse('cup "the jug" -broke')]
    [('cup', True), ('the jug', True), ('broke', False)]
    >>> parse("doesn't _ ...")
    [Term(words=('doesn', 't'), wanted=True)]
    """
    terms = []
    for minus, phrase, word in _PARTS.findall(text):
        words = tuple(_WORD.findall((phrase or word).lower()))
        if words:
            terms.append(Term(words, wanted=not minus))
    return terms[:MOST_TERMS]
