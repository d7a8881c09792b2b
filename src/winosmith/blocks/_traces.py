"""Traces: digests by which a problem is known again where its text is not at hand."""

from __future__ import annotations

import hashlib

from winosmith.problem import BLANK, Claim, Problem
from winosmith.text import words

__all__ = ["traces"]

SIDE = 4
"""Words that must stand before or after a blank for these to tell a problem by; ours."""


def traces(item: Problem | Claim) -> tuple[frozenset[int], frozenset[int]]:
    """Return digests of 40 bits by which a problem is known where its text is not at hand.

    Letters and digits count, in any case. So a set can be compared with one of which only the
    digests are here; among 50,000 of them, one of 50,000 others is found by chance once in 400
    times.

    Returns:
        Of its sentence, with the blank and with its pronoun where that is known; and, of a
        problem, of what stands before its blank and of what stands after it, each with the
        options: a half of its twin has one of them, as have most problems perturbed from it.

    >>> one = Problem("a", "Ann thanked Eva as _ had been kind.", ("Ann", "Eva"), 1)
    >>> two = Problem("b", "Ann thanked Eva as _ was helped.", ("Eva", "Ann"), 1)
    >>> [bool(a & b) for a, b in zip(traces(one), traces(two))]
    [False, True]
    """
    before, _, after = item.sentence.partition(BLANK)
    fillers = {BLANK, item.pronoun or BLANK}
    whole = frozenset(_digest(_letters(f"{before} {filler} {after}")) for filler in fillers)
    if not isinstance(item, Problem):
        return whole, frozenset()
    options = sorted(_letters(option) for option in item.options)
    sides = (("before", before), ("after", after))
    return whole, frozenset(
        _digest("\0".join((name, _letters(side), *options)))
        for name, side in sides
        if len(words(side)) >= SIDE
    )


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum() or sign == BLANK)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=5).digest())
