"""From a sentence to what is looked for: two predicates, and who may play which part in them.

"The man couldn't lift his son because _ was so weak" has the context predicate *lift*, between
its two options, and the query predicate *weak*, in the clause of the blank (Emami et al. 2018,
section 3.1, without their parser: between the options, and around the blank, stand the words).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from winosmith.problem import BLANK, Problem
from winosmith.solve._hunting_words import is_boundary, negated, stem
from winosmith.text import FUNCTION_WORDS, tokens

__all__ = ["Asked", "Tagger", "Term", "asked"]

Tagger = Callable[[list[str]], Sequence[tuple[str, str]]]
"""Gives each token its Penn tag, as `nltk.pos_tag` does."""

_LONGEST = 5
"""Words of a term at most; longer ones are never met word for word."""

_BE = frozenset("am are be been being is was were get gets got gotten".split())


@dataclass(frozen=True, slots=True)
class Term:
    """Words to look for.

    Attributes:
        text: one word or a phrase, lower-cased.
        stems: of its words.
        negated: a negation stands before it.
    """

    text: str
    stems: tuple[str, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a problem asks of a text.

    Attributes:
        context: the terms of the predicate between the first two options that the sentence
            mentions, the most specific first; empty when nothing stands there.
        query: the terms of the predicate of the blank's clause.
        blank: "subject" when the blank stands before its predicate, "object" when after it.
        agent, patient: the options before and after the context predicate, the other way round in
            the passive; None when the sentence does not mention both.
        heads: each option's last word; None for a name, of which texts know nothing.
        stems: of all words of the sentence.
    """

    context: tuple[Term, ...]
    query: tuple[Term, ...]
    blank: Literal["subject", "object"]
    agent: int | None
    patient: int | None
    heads: tuple[str | None, ...]
    stems: frozenset[str]


def asked(problem: Problem, tagger: Tagger | None = None) -> Asked:
    """Return what to look for.

    Args:
        problem: its sentence and options are read.
        tagger: keeps verbs and adjectives alone as terms of one word; without one, every word
            that is no function word.

    >>> lifting = "The man couldn't lift his son because _ was so weak."
    >>> found = asked(Problem("a", lifting, ("man", "son")))
    >>> [term.text for term in found.context], [term.text for term in found.query]
    (['lift'], ['weak'])
    >>> found.agent, found.blank
    (0, 'subject')
    """
    cut = tokens(problem.sentence)
    kept = _kept(problem, cut, tagger)
    low, high, side = _clause(cut, kept)
    agent, patient, start, end = _parts(problem, cut)
    if _is_passive([token.lower() for token in cut[start:end]]):
        agent, patient = patient, agent
    return Asked(
        context=_terms(cut, kept, start, end),
        query=_terms(cut, kept, low, high),
        blank=side,
        agent=agent,
        patient=patient,
        heads=tuple(map(_head, problem.options)),
        stems=frozenset(stem(t) for t in cut if any(map(str.isalnum, t))),
    )


def _kept(problem: Problem, cut: list[str], tagger: Tagger | None) -> list[bool]:
    """Tell which tokens may be terms of their own: content words that are not of the options."""
    without = {t.lower() for option in problem.options for t in tokens(option)} | FUNCTION_WORDS
    content = [t.lower() not in without and any(map(str.isalnum, t)) for t in cut]
    if tagger is None:
        return content
    tags = [tag for _, tag in tagger(cut)]
    return [c and tag.startswith(("V", "J")) for c, tag in zip(content, tags, strict=True)]


def _clause(cut: list[str], kept: list[bool]) -> tuple[int, int, Literal["subject", "object"]]:
    """Return where the blank's predicate starts and ends, and on which side the blank is."""
    at = next(i for i, token in enumerate(cut) if BLANK in token)
    end = next((i for i in range(at + 1, len(cut)) if _ends(cut[i])), len(cut))
    if any(kept[at + 1 : end]):
        return at + 1, end, "subject"
    start = next((i + 1 for i in range(at - 1, -1, -1) if is_boundary(cut[i])), 0)
    return start, at, "object"


def _ends(token: str) -> bool:
    """Tell whether a clause ends here; "so", "as", "and" and "that" often stand inside one."""
    return is_boundary(token) and token.lower() not in ("so", "as", "and", "that", "or", "before")


def _parts(problem: Problem, cut: list[str]) -> tuple[int | None, int | None, int, int]:
    """Return the first two options mentioned, and where what stands between them is."""
    lowered = [token.lower() for token in cut]
    places = []
    for option, text in enumerate(problem.options):
        words = [t.lower() for t in tokens(text)]
        words = words[1:] if len(words) > 1 and words[0] in FUNCTION_WORDS else words
        at = _find(lowered, words)
        if at is not None:
            places.append((at, at + len(words), option))
    if len(places) < 2:
        return None, None, 0, 0
    (_, start, first), (end, _, second) = sorted(places)[:2]
    return first, second, start, max(start, end)


def _is_passive(between: list[str]) -> bool:
    """Tell whether what stands between the options reads "was … by"."""
    return bool(between) and "by" in between[-2:] and not _BE.isdisjoint(between)


def _find(cut: Sequence[str], words: Sequence[str]) -> int | None:
    width = len(words)
    return next(
        (i for i in range(len(cut) - width + 1) if list(cut[i : i + width]) == list(words)), None
    )


def _terms(cut: list[str], kept: list[bool], start: int, end: int) -> tuple[Term, ...]:
    """Return the terms of a stretch: all from the first to the last content word, then words."""
    places = [i for i in range(start, end) if kept[i]]
    if not places:
        return ()
    spans = [(places[0], places[-1] + 1)]
    spans += [(i, j + 1) for i, j in itertools.pairwise(places)]
    spans += [(i, i + 1) for i in places]
    found: dict[str, Term] = {}
    for low, high in spans:
        words = [token.lower() for token in cut[low:high]]
        if high - low <= _LONGEST and all(any(map(str.isalnum, word)) for word in words):
            term = Term(" ".join(words), tuple(map(stem, words)), negated(cut, low))
            found.setdefault(term.text, term)
    return tuple(found.values())


def _head(option: str) -> str | None:
    """Return an option's last word, or None for a name."""
    last = [t for t in tokens(option) if any(map(str.isalnum, t))][-1:]
    return last[0] if last and last[0].islower() else None
