"""What a snippet of text says for each option, and how strongly (Emami et al. 2018, section 3.3).

In "The movers couldn't lift it because they were weak" the one who is weak is the one who lifts:
evidence for the option that does so in the problem. Pronouns are resolved by their form alone
(`they` are the movers, `it` is not); a snippet where that leaves two readings says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from winosmith.solve._hunting_query import Asked, Term
from winosmith.solve._hunting_words import (
    POSSESSIVES,
    PRONOUNS,
    is_boundary,
    is_plural,
    negated,
    stem,
)
from winosmith.text import FUNCTION_WORDS, tokens

__all__ = ["Evidence", "mention_evidence", "role_evidence"]

_BE = frozenset("am are be been being is was were".split())


class Evidence(NamedTuple):
    """What a snippet says.

    Attributes:
        option: the index of the option that it speaks for.
        strength: 1 or more.
    """

    option: int
    strength: int


class _Mention(NamedTuple):
    """Who stands beside a predicate: a token, or nobody ("and was weak")."""

    token: str | None

    @property
    def group(self) -> str | None:
        """The pronoun group, when it is a pronoun."""
        return PRONOUNS.get((self.token or "").lower())


def role_evidence(snippet: str, asked: Asked, context: Term, query: Term) -> Evidence | None:
    """Return for which option a snippet speaks by the parts that are played in it, or None.

    The one who plays the blank's part beside `query` is the agent of `context`, or its patient.
    The strength is that of the paper: 2 when a term has several words, else 1; and 2 more when
    the context comes first, else 1 more.
    """
    if asked.agent is None or asked.patient is None:
        return None
    cut = tokens(snippet)
    stems = list(map(stem, cut))
    at = _first(stems, context.stems)
    to = _first(stems, query.stems, apart_from=at)
    if at is None or to is None or not _same_sign(cut, ((at, context), (to, query))):
        return None
    part = _part(cut, at, to, asked)
    if part is None:
        return None
    length = 2 if max(len(context.stems), len(query.stems)) > 1 else 1
    order = 2 if at.start < to.start else 1
    return Evidence(asked.agent if part == "agent" else asked.patient, length + order)


def mention_evidence(snippet: str, asked: Asked, option: int, query: Term) -> Evidence | None:
    """Return the evidence of a snippet that names the option itself beside `query`, or None.

    The strength is 2 when the term has several words, else 1.
    """
    cut = tokens(snippet)
    at = _first(list(map(stem, cut)), query.stems)
    if at is None or not _same_sign(cut, ((at, query),)):
        return None
    if asked.blank == "subject":
        who = _before(cut, at.start, over=_query_stems(asked))
    else:
        who = _after(cut, at.stop)
    head = asked.heads[option]
    if who.token is None or head is None or stem(who.token) != stem(head):
        return None
    return Evidence(option, 2 if len(query.stems) > 1 else 1)


def _first(
    stems: Sequence[str], wanted: Sequence[str], apart_from: slice | None = None
) -> slice | None:
    """Return the first place where the stems stand in a row, clear of another place."""
    width = len(wanted)
    for at in range(len(stems) - width + 1):
        clear = apart_from is None or at + width <= apart_from.start or at >= apart_from.stop
        if clear and tuple(stems[at : at + width]) == tuple(wanted):
            return slice(at, at + width)
    return None


def _same_sign(cut: Sequence[str], found: Sequence[tuple[slice, Term]]) -> bool:
    """Tell whether each term is negated in the snippet just where it is in the problem."""
    return all(negated(cut, place.start) == term.negated for place, term in found)


def _part(
    cut: Sequence[str], context: slice, query: slice, asked: Asked
) -> Literal["agent", "patient"] | None:
    """Return whose part in the context the one beside the query plays."""
    agent, patient = _before(cut, context.start), _after(cut, context.stop)
    if _is_passive(cut, context):
        agent, patient = patient, agent
    if asked.blank == "object":
        who = _after(cut, query.stop)
    else:
        follows = context.start < query.start
        stop = context.stop if follows else 0
        who = _before(cut, query.start, stop=stop, over=_query_stems(asked))
        if who.token is None and follows and any(map(is_boundary, cut[stop : query.start])):
            return "agent"  # "she refused, fearing violence": who is left out is the subject
    for test in (_is_same_noun, _may_be):
        fits = [test(who, agent), test(who, patient)]
        if sum(fits) == 1:
            return "agent" if fits[0] else "patient"
    return None


def _is_passive(cut: Sequence[str], place: slice) -> bool:
    before = {token.lower() for token in cut[max(0, place.start - 2) : place.start]}
    return not _BE.isdisjoint(before) and "by" in (t.lower() for t in cut[place.stop - 1 :][:2])


def _query_stems(asked: Asked) -> frozenset[str]:
    return frozenset(stem for term in asked.query for stem in term.stems)


def _before(
    cut: Sequence[str], place: int, *, stop: int = 0, over: frozenset[str] = frozenset()
) -> _Mention:
    """Return who stands before a place in its clause, past function words, adverbs and `over`."""
    for token in reversed(cut[stop:place]):
        lowered = token.lower()
        if lowered in PRONOUNS:
            return _Mention(token)
        if is_boundary(token) and lowered != "so":
            break
        passed = lowered in FUNCTION_WORDS or lowered.endswith("ly") or stem(token) in over
        if not passed:
            return _Mention(token)
    return _Mention(None)


def _after(cut: Sequence[str], place: int) -> _Mention:
    """Return who stands after a place in its clause: a pronoun, or the head of the next nouns."""
    head = None
    for at in range(place, len(cut)):
        lowered = cut[at].lower()
        if is_boundary(cut[at]) or (head and lowered in FUNCTION_WORDS):
            break
        if lowered in PRONOUNS and not _owns(cut, at):
            return _Mention(cut[at])
        if lowered not in FUNCTION_WORDS:
            head = cut[at]
    return _Mention(head)


def _owns(cut: Sequence[str], at: int) -> bool:
    """Tell whether a pronoun stands before the noun that it owns: "his son", not "saw her"."""
    following = cut[at + 1] if at + 1 < len(cut) else "."
    alone = is_boundary(following) or following.lower() in FUNCTION_WORDS
    return cut[at].lower() in POSSESSIVES and not alone


def _is_same_noun(who: _Mention, other: _Mention) -> bool:
    """Tell whether both mentions are nouns, and the same one."""
    if who.token is None or other.token is None or who.group or other.group:
        return False
    return stem(who.token) == stem(other.token)


def _may_be(who: _Mention, other: _Mention) -> bool:
    """Tell whether a pronoun may stand for the other mention, by its form."""
    if who.token is None or other.token is None:
        return False
    if who.group and other.group:
        return who.group == other.group
    if who.group or other.group:
        noun = other.token if who.group else who.token
        group = who.group or other.group
        if group == "they":
            return is_plural(noun)
        if group == "it":
            return not is_plural(noun) and noun.islower()
        return group in ("he", "she") and not is_plural(noun)
    return False
