"""Which words of a problem may be replaced, and by which synonyms, in the sense that is meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winosmith.language import Sense, Synonym, WordNet, is_name, lemma, tag
from winosmith.problem import BLANK, Problem
from winosmith.text import FUNCTION_WORDS, content_words, tokens

__all__ = ["Place", "places"]

CERTAINTY = 0.65
"""The least probability of the sense that is taken to be meant."""

OWN = 0.25
"""The least share of a synonym's own uses that have the sense: else readers think of another."""

USUAL = 0.04
"""The least use of a synonym in the sense, as a share of the word's own: rarer ones sound odd."""

_POS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}

_LIGHT = frozenset(
    """be have do get make take go put give keep let come say tell see want need try use ask seem
    like know think feel find leave look turn run set become start begin end help""".split()
)
"""Verbs whose use hangs on what follows them more than on their sense."""

_WITH_PREPOSITION = frozenset(
    """refer bask revel consist depend rely belong comply insist object listen look aspire cater
    delve dwell abide allude adhere appeal apologize apologise rejoice partake indulge result
    resort subscribe succumb yearn opt""".split()
)
"""Verbs that can't take the object of the verb that they replace."""

_DEGREE = frozenset("really quite very too so more most less least almost even ever never".split())


@dataclass(frozen=True, slots=True)
class Place:
    """A word that may be replaced.

    Attributes:
        at: the number of its token.
        synonyms: in WordNet's order by use, the first the most used.
    """

    at: int
    synonyms: tuple[str, ...]


def places(problem: Problem, wordnet: WordNet) -> Iterator[Place]:
    """Yield the content words of a sentence that have a fitting synonym, from left to right.

    A word is taken only when one sense of it is likely to be meant: by how often each sense occurs
    in WordNet's tagged texts, and by how many words of the sentence its gloss and neighbours hold
    (Lesk 1986). Its synonyms must themselves be used in that sense, and verbs in the same sentence
    frames. Left out are names, parts of compounds, verbs with a particle or preposition, antonyms
    in any sense, and whatever would point to an option.
    """
    cut = tokens(problem.sentence)
    tags = tag(cut)
    context = frozenset(content_words(problem.sentence))
    banned = _banned(problem, cut, tags)
    for at, word in enumerate(cut):
        pos = _POS.get(tags[at][:2])
        if pos is None or not _is_free(cut, tags, at, wordnet):
            continue
        own = lemma(word, tags[at])
        senses = wordnet.senses(own, pos)
        sense = _meant(senses, context - {word.lower(), own})
        if sense is not None and not (pos == "v" and own in _LIGHT):
            against = frozenset().union(*(other.antonyms for other in senses))
            found = tuple(
                synonym.lemma
                for synonym in sense.synonyms
                if _fits(synonym, sense, own, pos) and synonym.lemma not in against
                and banned.isdisjoint(synonym.lemma.lower().split())
            )  # fmt: skip
            if found:
                yield Place(at, found)


def _banned(problem: Problem, cut: Sequence[str], tags: Sequence[str]) -> frozenset[str]:
    """Return the words that no synonym may hold: those of the options and of the sentence."""
    options = {word.lower() for option in problem.options for word in tokens(option)}
    own = {lemma(word, name) for word, name in zip(cut, tags, strict=True)}
    return frozenset(options | own | {word.lower() for word in cut}) - FUNCTION_WORDS


def _is_free(cut: Sequence[str], tags: Sequence[str], at: int, wordnet: WordNet) -> bool:
    """Tell whether a word stands for itself: no name, no part of a compound or phrase."""
    word = cut[at].lower()
    if word == BLANK or word in FUNCTION_WORDS or word in _DEGREE or not word.isalpha():
        return False
    if is_name(cut, at) or len(word) < 3:
        return False
    before = tags[at - 1] if at else ""
    after = tags[at + 1] if at + 1 < len(cut) else ""
    if tags[at].startswith("VB") and after in ("RP", "IN", "TO", "RB"):
        return False
    if tags[at].startswith("NN") and (after.startswith("NN") or before.startswith("NN")):
        return False
    if tags[at].startswith("RB") and not word.endswith("ly"):
        return False
    return not _is_phrase(cut, at, wordnet)


def _is_phrase(cut: Sequence[str], at: int, wordnet: WordNet) -> bool:
    """Tell whether a word and its neighbour are one word of WordNet ("ice cream", "hot dog")."""
    pairs = [cut[start : start + 2] for start in (at - 1, at) if start >= 0]
    return any(
        len(pair) == 2 and all(map(str.isalpha, pair)) and wordnet.knows(" ".join(pair), pos)
        for pair in pairs
        for pos in "nvar"
    )


def _meant(senses: Sequence[Sense], context: frozenset[str]) -> Sense | None:
    """Return the sense that is likely to be meant, or None when several may be."""
    if not senses:
        return None
    weights = [(sense.count + 0.5) * (1 + len(context & sense.near)) ** 2 for sense in senses]
    best = max(range(len(senses)), key=weights.__getitem__)
    return senses[best] if weights[best] >= CERTAINTY * sum(weights) else None


def _fits(synonym: Synonym, sense: Sense, own: str, pos: str) -> bool:
    """Tell whether a synonym may stand for the word in this sense."""
    new = synonym.lemma
    short = len(new) < 3 or (len(new) == 3 and own.startswith(new))  # "mins", "lbs"
    if short or new == "little" or not new.replace(" ", "").isalpha() or new != new.lower():
        return False
    if synonym.count < max(1.0, USUAL * sense.count) or synonym.share < OWN:
        return False
    if pos == "n":
        return new.endswith("ss") or lemma(new, "NNS") == new
    if pos == "v":
        fits = " " not in new and sense.frames <= synonym.frames
        return fits and new not in _WITH_PREPOSITION
    return pos != "r" or new.endswith("ly")
