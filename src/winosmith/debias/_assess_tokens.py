"""What in a sentence could tell its options apart: cues, and the words beside each option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winosmith import text
from winosmith.problem import BLANK, Problem

_BOUNDARY = frozenset(
    """, ; : . ! ? -- — and but or so because since although though while whereas as if when unless
    until yet""".split()
)
"""Tokens that end a clause, near enough without a parser."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a problem with two options, in lower case, each list without repeats.

    Attributes:
        cues: the trigger where the twin is known, and the content words of the local context.
        heads: the last word of each option.
        beside: for each option, the content words of the clauses that mention it.
    """

    cues: tuple[str, ...]
    heads: tuple[str, str]
    beside: tuple[tuple[str, ...], tuple[str, ...]]


def read_problem(problem: Problem, other: str | None = None) -> Reading:
    """Return the cues and contexts of a problem; `other` is the sentence of its other half.

    In "The monkey loved the balls but ignored the blocks because …", "loved" stands beside the
    balls and "ignored" beside the blocks. Where one clause mentions both options, the words after
    a mention, up to the next, stand beside it. The clause of the blank is left out: its words are
    cues.
    """
    options = [[token.lower() for token in text.tokens(option)] for option in problem.options]
    heads = tuple(_last_word(option) for option in options)
    tokens = [token.lower() for token in text.tokens(problem.sentence)]
    cues = text.content_words(text.local_context(problem.sentence))
    if other is not None:
        theirs = [token.lower() for token in text.tokens(other)]
        cues = [t for t in text.trigger(tokens, theirs)[0] if _is_word(t)] + cues
    own = {token for option in options for token in option}
    return Reading(
        _once([cue for cue in cues if cue not in own]),
        (heads[0], heads[1]),
        _beside(tokens, (heads[0], heads[1]), own),
    )


def _beside(
    tokens: Sequence[str], heads: tuple[str, str], own: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: tuple[list[str], list[str]] = ([], [])
    for clause in _clauses(tokens):
        if BLANK in clause:
            continue
        mentioned = {head for head in heads if head in clause}
        current = heads.index(mentioned.pop()) if len(mentioned) == 1 else None
        for token in clause:
            if token in heads:
                current = heads.index(token)
            elif current is not None and token not in own and _is_content(token):
                found[current].append(token)
    return _once(found[0]), _once(found[1])


def _clauses(tokens: Sequence[str]) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for token in tokens:
        if token in _BOUNDARY:
            clauses.append([])
        else:
            clauses[-1].append(token)
    return clauses


def _last_word(option: Sequence[str]) -> str:
    return next((token for token in reversed(option) if _is_word(token)), "")


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def _is_content(token: str) -> bool:
    return _is_word(token) and token not in text.FUNCTION_WORDS


def _once(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
