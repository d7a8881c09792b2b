"""`KnowledgeHunting`: look in texts for who does what in such a situation (Emami et al. 2018).

A sentence says what is looked for: "The man couldn't lift his son because _ was so weak" has the
context predicate *lift*, between its two options, and the query predicate *weak*, in the clause of
the blank (section 3.1, without their parser: between the options, and around the blank, stand the
words). In a snippet like "The movers couldn't lift it because they were weak" the one who is weak
is the one who lifts: evidence for the option that does so in the problem (section 3.3). Pronouns
are resolved by their form alone (`they` are the movers, `it` is not); a snippet where that leaves
two readings says nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from winosmith.problem import Problem
from winosmith.seen import check_blanks, tokens_and_blank
from winosmith.solve._mentions import (
    Mention,
    Roles,
    is_boundary,
    is_same_noun,
    may_be,
    passive_auxiliary,
    roles,
    stem,
)
from winosmith.solve._solver import Scores
from winosmith.text import FUNCTION_WORDS, tokens

_NEGATIONS = frozenset("not n't never no hardly cannot without".split())


_LONGEST = 5
"""Words of a term at most; longer ones are never met word for word."""


_COPY = 0.7
"""The least fraction of a problem's content words that a copy of it has."""


class Retriever(Protocol):
    """Finds snippets of text: an index of one's own, a search engine, a library's catalogue."""

    def search(self, phrases: Sequence[str], limit: int) -> Sequence[str]:
        """Return at most `limit` snippets, a sentence or so each, that hold all the phrases.

        What a snippet holds is read again, so a retriever may return too much. The same phrases
        give the same snippets.
        """
        ...


class Found(NamedTuple):
    """A snippet that says something.

    Attributes:
        snippet: as it was found.
        option: the index of the option that it speaks for.
        strength: 1 to 4.
        phrases: what was searched for.
    """

    snippet: str
    option: int
    strength: int
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeHunting:
    """Scores an option by the strength of the evidence for it in retrieved snippets.

    This is Wino Knowledge Hunting (Emami et al. 2018) with a text collection of the user's in
    place of a web search, and words in place of its parsers. Each term of the predicate between
    two options is searched for together with each term of the predicate at the blank; a sentence
    found speaks for the option whose part is played, there, by the one in the blank's place. In
    addition a sentence that names an option itself next to the blank's predicate speaks for it,
    which serves problems of more options, and things rather than people.

    A snippet counts once, with its strongest reading, unless another one speaks as strongly for
    another option. A snippet with 70 % of the problem's content words, and of those among them that
    were not searched for, is taken for a copy of the problem and omitted. Options without evidence
    score 0, so if nothing is found all scores are equal.

    Attributes:
        retriever: where to look.
        snippets: how many are read for each search.
        tagger: as `nltk.pos_tag`; it keeps verbs and adjectives alone as terms of one word, as
            the paper does. Without one, every word that is no function word is a term.
    """

    retriever: Retriever
    snippets: int = 20
    tagger: Tagger | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature."""
        collection = getattr(self.retriever, "digest", type(self.retriever).__name__)
        return {
            "solver": "hunting",
            "collection": str(collection)[:12],
            "snippets": self.snippets,
            **({} if self.tagger is None else {"tagger": True}),
            "sees": "blank",
        }

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the summed strength of the evidence for each option; 0 if there is none.

        Raises:
            DataError: some are questions, which have no blank.
        """
        check_blanks(problems, "knowledge hunting")
        return [self._score(problem) for problem in problems]

    def _score(self, problem: Problem) -> tuple[float, ...]:
        sums = [0.0] * len(problem.options)
        for found in self.evidence(problem):
            sums[found.option] += found.strength
        return tuple(sums)

    def evidence(self, problem: Problem) -> tuple[Found, ...]:
        """Return what was found for a problem, the strongest first."""
        what = asked(problem, self.tagger)
        best: dict[str, Found] = {}
        torn: dict[str, int] = {}  # snippets that say as much for another option, and how much
        for snippet, evidence, phrases in self._readings(what):
            held = best.get(snippet)
            if held is None or evidence.strength > held.strength:
                best[snippet] = Found(snippet, evidence.option, evidence.strength, phrases)
            elif evidence.strength == held.strength and evidence.option != held.option:
                torn[snippet] = evidence.strength
        found = (f for f in best.values() if torn.get(f.snippet) != f.strength)
        return tuple(sorted(found, key=lambda found: -found.strength))

    def _readings(self, what: Asked) -> Iterator[tuple[str, Evidence, tuple[str, ...]]]:
        """Yield each snippet that says something, what it says, and what was searched for."""
        for context in what.context:
            for query in what.query:
                for snippet in self._search(what, context.text, query.text):
                    evidence = role_evidence(snippet, what, context, query)
                    if evidence:
                        yield snippet, evidence, (context.text, query.text)
        for option, head in enumerate(what.heads):
            for query in what.query if head is not None else ():
                for snippet in self._search(what, str(head), query.text):
                    evidence = mention_evidence(snippet, what, option, query)
                    if evidence:
                        yield snippet, evidence, (str(head), query.text)

    def _search(self, what: Asked, *phrases: str) -> Iterator[str]:
        for snippet in self.retriever.search(phrases, self.snippets):
            if not _is_copy(what, frozenset(map(stem, tokens(snippet)))):
                yield snippet


def _is_copy(what: Asked, stems: frozenset[str]) -> bool:
    """Return whether a snippet has most content words, also of those that were not searched for."""
    searched = {stem for term in (*what.context, *what.query) for stem in term.stems}
    return all(
        len(stems & words) >= _COPY * len(words) for words in (what.stems, what.stems - searched)
    )


Tagger = Callable[[list[str]], Sequence[tuple[str, str]]]
"""Gives each token its Penn tag, as `nltk.pos_tag` does."""


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
        passive: whether the predicate of the blank is in the passive.
        agent, patient: the options before and after the context predicate, the other way round in
            the passive; None when the sentence does not mention both.
        heads: each option's last word; None for a name, of which texts know nothing.
        stems: of the content words of the sentence.
    """

    context: tuple[Term, ...]
    query: tuple[Term, ...]
    blank: Literal["subject", "object"]
    passive: bool
    agent: int | None
    patient: int | None
    heads: tuple[str | None, ...]
    stems: frozenset[str]

    def one_in_the_blank(self, found: Roles) -> Mention:
        """Return who plays the blank's part among the roles of its predicate."""
        is_agent = (self.blank == "subject") != self.passive
        return found.agent if is_agent else found.patient


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
    check_blanks([problem], "knowledge hunting")
    cut, blank = tokens_and_blank(problem)
    kept = _kept(problem, cut, tagger)
    low, high, side = _clause(cut, kept, blank or 0)
    agent, patient, start, end = _parts(problem, cut)
    if _is_passive_between(cut[start:end]):
        agent, patient = patient, agent
    return Asked(
        context=_terms(cut, kept, start, end),
        query=_terms(cut, kept, low, high),
        blank=side,
        passive=passive_auxiliary(cut[:high], slice(low, high)) is not None,
        agent=agent,
        patient=patient,
        heads=tuple(map(_head, problem.options)),
        stems=frozenset(stem(t) for t in cut if _is_content(t)),
    )


def _kept(problem: Problem, cut: list[str], tagger: Tagger | None) -> list[bool]:
    """Tell which tokens may be terms of their own: content words that are not of the options."""
    without = {t.lower() for option in problem.options for t in tokens(option)}
    content = [_is_content(t) and t.lower() not in without for t in cut]
    if tagger is None:
        return content
    tags = [tag for _, tag in tagger(cut)]
    return [c and tag.startswith(("V", "J")) for c, tag in zip(content, tags, strict=True)]


def _is_content(token: str) -> bool:
    return token.lower() not in FUNCTION_WORDS and any(map(str.isalnum, token))


def _clause(
    cut: list[str], kept: list[bool], at: int
) -> tuple[int, int, Literal["subject", "object"]]:
    """Return where the blank's predicate starts and ends, and on which side the blank is."""
    end = next((i for i in range(at + 1, len(cut)) if _ends(cut[i])), len(cut))
    if any(kept[at + 1 : end]):
        return at + 1, end, "subject"
    start = next((i + 1 for i in range(at - 1, -1, -1) if is_boundary(cut[i])), 0)
    return start, at, "object"


def _ends(token: str) -> bool:
    """Return whether a clause ends here; "so", "as", "and" and "that" often stand inside one."""
    return is_boundary(token) and token.lower() not in ("so", "as", "and", "that", "or", "before")


def _parts(problem: Problem, cut: list[str]) -> tuple[int | None, int | None, int, int]:
    """Return the first two options mentioned, and where what stands between them is."""
    lowered = [token.lower() for token in cut]
    places = []
    for option, text in enumerate(problem.options):
        words = [t.lower() for t in tokens(text)]
        words = words[1:] if len(words) > 1 and words[0] in FUNCTION_WORDS else words
        at = _first(lowered, words)
        if at is not None:
            places.append((at.start, at.stop, option))
    if len(places) < 2:
        return None, None, 0, 0
    (_, start, first), (end, _, second) = sorted(places)[:2]
    return first, second, start, max(start, end)


def _is_passive_between(between: Sequence[str]) -> bool:
    """Return whether the words between the options read "was chased … by"."""
    by = [token.lower() for token in between[-2:]]
    return "by" in by and passive_auxiliary(between, slice(0, len(between))) is not None


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


class Evidence(NamedTuple):
    """What a snippet says.

    Attributes:
        option: the index of the option that it speaks for.
        strength: 1 or more.
    """

    option: int
    strength: int


def role_evidence(snippet: str, what: Asked, context: Term, query: Term) -> Evidence | None:
    """Return for which option a snippet speaks by the parts that are played in it, or None.

    The one who plays the blank's part next to `query` is the agent of `context`, or its patient.
    The strength is that of the paper: 2 when a term has several words, else 1; and 2 more when
    the context comes first, else 1 more.
    """
    if what.agent is None or what.patient is None:
        return None
    cut = tokens(snippet)
    stems = list(map(stem, cut))
    at = _first(stems, context.stems)
    to = _first(stems, query.stems, apart_from=at)
    if at is None or to is None or not _same_sign(cut, ((at, context), (to, query))):
        return None
    part = _part(cut, at, to, what)
    if part is None:
        return None
    length = 2 if max(len(context.stems), len(query.stems)) > 1 else 1
    order = 2 if at.start < to.start else 1
    return Evidence(what.agent if part == "agent" else what.patient, length + order)


def mention_evidence(snippet: str, what: Asked, option: int, query: Term) -> Evidence | None:
    """Return the evidence of a snippet that names the option itself next to `query`, or None.

    The strength is 2 when the term has several words, else 1.
    """
    cut = tokens(snippet)
    at = _first(list(map(stem, cut)), query.stems)
    if at is None or not _same_sign(cut, ((at, query),)):
        return None
    who = what.one_in_the_blank(roles(cut, at, over=_query_stems(what)))
    head = what.heads[option]
    if who.token is None or head is None or stem(who.token) != stem(head):
        return None
    return Evidence(option, 2 if len(query.stems) > 1 else 1)


def _first(
    stems: Sequence[str], wanted: Sequence[str], apart_from: slice | None = None
) -> slice | None:
    """Return the first place where the stems are in a row, clear of another place."""
    width = len(wanted)
    for at in range(len(stems) - width + 1):
        clear = apart_from is None or at + width <= apart_from.start or at >= apart_from.stop
        if clear and tuple(stems[at : at + width]) == tuple(wanted):
            return slice(at, at + width)
    return None


def _same_sign(cut: Sequence[str], found: Sequence[tuple[slice, Term]]) -> bool:
    """Return whether each term is negated in the snippet just where it is in the problem."""
    return all(negated(cut, place.start) == term.negated for place, term in found)


def _part(
    cut: Sequence[str], context: slice, query: slice, what: Asked
) -> Literal["agent", "patient"] | None:
    """Return whose part in the context the one next to the query plays."""
    agent, patient = roles(cut, context)
    follows = context.start < query.start
    stop = context.stop if follows else 0
    who = what.one_in_the_blank(roles(cut, query, stop=stop, over=_query_stems(what)))
    is_left_out = who.token is None and follows and what.blank == "subject"
    if is_left_out and any(map(is_boundary, cut[stop : query.start])):
        # "she refused, fearing violence": who is omitted is the subject
        return "patient" if passive_auxiliary(cut, context) is not None else "agent"
    for test in (is_same_noun, may_be):
        fits = [test(who, agent), test(who, patient)]
        if sum(fits) == 1:
            return "agent" if fits[0] else "patient"
    return None


def _query_stems(what: Asked) -> frozenset[str]:
    return frozenset(stem for term in what.query for stem in term.stems)


def negated(tokens: Sequence[str], start: int, reach: int = 3) -> bool:
    """Return whether a negation is at most `reach` tokens ahead of a place."""
    return not _NEGATIONS.isdisjoint(t.lower() for t in tokens[max(0, start - reach) : start])
