"""`KnowledgeHunting`: search texts for the roles in a similar situation (Emami et al. 2018).

The sentence determines the search. "The man couldn't lift his son because _ was so weak" has the
context predicate *lift*, between its two options, and the query predicate *weak*, in the clause of
the blank (section 3.1). Instead of a parser, the words between the options and around the blank are
used.

In the snippet "The movers couldn't lift it because they were weak", the lifter is weak. This is
evidence for the option that lifts in the problem (section 3.3). Pronouns are resolved only by their
form: `they` can be the movers, `it` can't. A snippet with two readings is not evidence.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from winosmith.problem import Problem
from winosmith.seen import check_blanks, tokenize_with_blank
from winosmith.solve._mentions import (
    find_passive_auxiliary,
    find_roles,
    is_boundary,
    is_same_noun,
    may_corefer,
    stem,
)
from winosmith.solve._solver import Scores
from winosmith.text import FUNCTION_WORDS, tokenize

_NEGATIONS = frozenset("not n't never no hardly cannot without".split())


_MAX_WORDS = 5
"""Maximum number of words in a search term. Longer terms would never be found."""

_MIN_COPY_FRACTION = 0.7
"""Minimum fraction of a problem's content words that a copy of the problem contains."""


class Retriever(Protocol):
    """Finds snippets of text, such as an index or a search engine."""

    def search(self, phrases: Sequence[str], limit: int) -> Sequence[str]:
        """Return at most `limit` snippets, of about a sentence, that contain all phrases.

        Snippets are checked again, so a retriever may return unsuitable ones. The result must
        depend only on the arguments.
        """
        ...


class Snippet(NamedTuple):
    """A snippet that is evidence for an option.

    Attributes:
        snippet: text of the snippet.
        option: index of the supported option.
        strength: strength of the evidence, 1 to 4.
        phrases: the phrases of the search.
    """

    snippet: str
    option: int
    strength: int
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeHunting:
    """Scores an option by the strength of the evidence for it in retrieved snippets.

    This is Wino Knowledge Hunting (Emami et al. 2018) with the user's text collection instead of a
    web search, and words instead of parsers. Each term of the predicate between the options is
    searched together with each term of the predicate at the blank. If the participant with the
    blank's role in a retrieved sentence is the agent (or patient) of the first predicate, the
    sentence is evidence for the option with that role. A sentence that mentions an option next to
    the blank's predicate is also evidence for this option. This helps if there are many options, or
    if options are things.

    Each snippet is counted once, with its strongest reading, unless an equally strong reading
    supports another option. A snippet with 70 % of the problem's content words, and 70 % of those
    that were not search terms, is a copy and is omitted. Options without evidence score 0.

    Attributes:
        retriever: finds the snippets.
        snippets: number of snippets to read for each search.
        tagger: a function like `nltk.pos_tag`. With it, only verbs and adjectives are used as
            one-word terms, as in the paper. If it is None, all words except function words are
            used.
    """

    retriever: Retriever
    snippets: int = 20
    tagger: Tagger | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        collection = getattr(self.retriever, "digest", type(self.retriever).__name__)
        return {
            "solver": "hunting",
            "collection": str(collection)[:12],
            "snippets": self.snippets,
            **({} if self.tagger is None else {"tagger": True}),
            "sees": "blank",
        }

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the summed strength of the evidence for each option, or 0 if there is none.

        Raises:
            DataError: a problem is a question, which has no blank.
        """
        check_blanks(problems, "knowledge hunting")
        scores = []
        for problem in problems:
            sums = [0.0] * len(problem.options)
            for found in self.find_evidence(problem):
                sums[found.option] += found.strength
            scores.append(tuple(sums))
        return scores

    def find_evidence(self, problem: Problem) -> tuple[Snippet, ...]:
        """Return the evidence for a problem, starting with the strongest."""
        query = parse_query(problem, self.tagger)
        best: dict[str, Snippet] = {}
        tied: dict[str, int] = {}  # snippet with equal evidence for another option → strength
        for one in self._iter_evidence(query):
            held = best.get(one.snippet)
            if held is None or one.strength > held.strength:
                best[one.snippet] = one
            elif one.strength == held.strength and one.option != held.option:
                tied[one.snippet] = one.strength
        found = (f for f in best.values() if tied.get(f.snippet) != f.strength)
        return tuple(sorted(found, key=lambda found: -found.strength))

    def _iter_evidence(self, query: Query) -> Iterator[Snippet]:
        for context_term, query_term in itertools.product(query.context, query.query):
            phrases = (context_term.text, query_term.text)
            for snippet in self._search(query, phrases):
                if found := find_role_evidence(snippet, query, context_term, query_term):
                    yield Snippet(snippet, *found, phrases)
        for (option, head), query_term in itertools.product(enumerate(query.heads), query.query):
            if head is not None:
                phrases = (head, query_term.text)
                for snippet in self._search(query, phrases):
                    if found := find_mention_evidence(snippet, query, option, query_term):
                        yield Snippet(snippet, *found, phrases)

    def _search(self, query: Query, phrases: Sequence[str]) -> Iterator[str]:
        """Yield the snippets that contain all phrases and are not copies of the problem."""
        searched = {stem for term in (*query.context, *query.query) for stem in term.stems}
        for snippet in self.retriever.search(phrases, self.snippets):
            stems = frozenset(map(stem, tokenize(snippet)))
            if not all(
                len(stems & words) >= _MIN_COPY_FRACTION * len(words)
                for words in (query.stems, query.stems - searched)
            ):
                yield snippet


Tagger = Callable[[list[str]], Sequence[tuple[str, str]]]
"""A function that returns each token with its Penn tag, like `nltk.pos_tag`."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase to search for, in lower case.

    Attributes:
        is_negated: whether a negation precedes the term.
    """

    text: str
    stems: tuple[str, ...]
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """The search query derived from a problem.

    Attributes:
        context: terms of the predicate between the first two options in the sentence, starting with
            the most specific. Empty if there is no such predicate.
        query: terms of the predicate in the blank's clause.
        blank: "subject" if the blank is before its predicate, otherwise "object".
        is_passive: whether the blank's predicate is in the passive.
        agent: index of the option before the context predicate (after it in the passive). None if
            the sentence does not mention two options.
        patient: index of the option after the context predicate (before it in the passive). None if
            `agent` is None.
        heads: last word of each option. None for a name, because texts contain no facts about the
            named person.
        stems: stems of the content words of the sentence.
    """

    context: tuple[Term, ...]
    query: tuple[Term, ...]
    blank: Literal["subject", "object"]
    is_passive: bool
    agent: int | None
    patient: int | None
    heads: tuple[str | None, ...]
    stems: frozenset[str]

    def find_blank_mention(
        self, words: Sequence[str], query_span: slice, start: int = 0
    ) -> str | None:
        """Return the mention that has the blank's role at a query term, or None."""
        skip = frozenset(stem for term in self.query for stem in term.stems)
        roles = find_roles(words, query_span, start=start, skip=skip)
        is_agent = (self.blank == "subject") != self.is_passive
        return roles.agent if is_agent else roles.patient


def parse_query(problem: Problem, tagger: Tagger | None = None) -> Query:
    """Return the search query for a problem. The answer is not used.

    >>> lifting = "The man couldn't lift his son because _ was so weak."
    >>> found = parse_query(Problem("a", lifting, ("man", "son")))
    >>> [term.text for term in found.context], [term.text for term in found.query]
    (['lift'], ['weak'])
    >>> found.agent, found.blank
    (0, 'subject')
    """
    check_blanks([problem], "knowledge hunting")
    cut, blank = tokenize_with_blank(problem)
    excluded = {t.lower() for option in problem.options for t in tokenize(option)}
    flags = [_is_content(t) and t.lower() not in excluded for t in cut]
    if tagger is not None:
        tags = [tag for _, tag in tagger(cut)]
        flags = [c and tag.startswith(("V", "J")) for c, tag in zip(flags, tags, strict=True)]
    low, high, side = _find_blank_predicate(cut, flags, blank or 0)
    agent, patient, start, end = _find_options(problem, cut)
    between = cut[start:end]
    is_passive = find_passive_auxiliary(between, slice(0, len(between))) is not None
    if is_passive and "by" in map(str.lower, between[-2:]):
        agent, patient = patient, agent  # "was chased … by"
    last_words = (
        next((t for t in reversed(tokenize(option)) if any(map(str.isalnum, t))), "")
        for option in problem.options
    )
    return Query(
        context=_make_terms(cut, flags, start, end),
        query=_make_terms(cut, flags, low, high),
        blank=side,
        is_passive=find_passive_auxiliary(cut[:high], slice(low, high)) is not None,
        agent=agent,
        patient=patient,
        heads=tuple(word if word.islower() else None for word in last_words),
        stems=frozenset(stem(t) for t in cut if _is_content(t)),
    )


def _is_content(token: str) -> bool:
    return token.lower() not in FUNCTION_WORDS and any(map(str.isalnum, token))


def _find_blank_predicate(
    words: list[str], flags: list[bool], blank: int
) -> tuple[int, int, Literal["subject", "object"]]:
    # "so", "as", "and" and "that" are often inside a clause
    inside = ("so", "as", "and", "that", "or", "before")
    ends = (i for i in range(blank + 1, len(words)) if is_boundary(words[i]))
    end = next((i for i in ends if words[i].lower() not in inside), len(words))
    if any(flags[blank + 1 : end]):
        return blank + 1, end, "subject"
    start = next((i + 1 for i in range(blank - 1, -1, -1) if is_boundary(words[i])), 0)
    return start, blank, "object"


def _find_options(problem: Problem, words: list[str]) -> tuple[int | None, int | None, int, int]:
    lowered = [token.lower() for token in words]
    places = []
    for option, text in enumerate(problem.options):
        phrase = [t.lower() for t in tokenize(text)]
        phrase = phrase[1:] if len(phrase) > 1 and phrase[0] in FUNCTION_WORDS else phrase
        at = _find_first_span(lowered, phrase)
        if at is not None:
            places.append((at.start, at.stop, option))
    if len(places) < 2:
        return None, None, 0, 0
    (_, start, first), (end, _, second) = sorted(places)[:2]
    return first, second, start, max(start, end)


def _make_terms(words: list[str], flags: list[bool], start: int, end: int) -> tuple[Term, ...]:
    places = [i for i in range(start, end) if flags[i]]
    if not places:
        return ()
    spans = [(places[0], places[-1] + 1)]
    spans += [(i, j + 1) for i, j in itertools.pairwise(places)]
    spans += [(i, i + 1) for i in places]
    found: dict[str, Term] = {}
    for low, high in spans:
        lowered = [token.lower() for token in words[low:high]]
        if high - low <= _MAX_WORDS and all(any(map(str.isalnum, word)) for word in lowered):
            term = Term(" ".join(lowered), tuple(map(stem, lowered)), is_negated(words, low))
            found.setdefault(term.text, term)
    return tuple(found.values())


def find_role_evidence(
    snippet: str, query: Query, context: Term, term: Term
) -> tuple[int, int] | None:
    """Return the option that the roles in a snippet are evidence for, with the strength, or None.

    A snippet is evidence if the mention with the blank's role at `term` is the agent or the patient
    of `context`. The strength is the sum of two numbers, as in the paper: 2 if a term has several
    words, otherwise 1; and 2 if the context comes first, otherwise 1.
    """
    if query.agent is None or query.patient is None:
        return None
    words = tokenize(snippet)
    stems = list(map(stem, words))
    context_span = _find_first_span(stems, context.stems)
    term_span = _find_first_span(stems, term.stems, excluded=context_span)
    if context_span is None or term_span is None:
        return None
    if not _have_same_negation(words, ((context_span, context), (term_span, term))):
        return None
    role = _find_role(words, context_span, term_span, query)
    if role is None:
        return None
    length = 2 if max(len(context.stems), len(term.stems)) > 1 else 1
    order = 2 if context_span.start < term_span.start else 1
    return query.agent if role == "agent" else query.patient, length + order


def find_mention_evidence(
    snippet: str, query: Query, option: int, term: Term
) -> tuple[int, int] | None:
    """Return `option` and the strength if a snippet mentions the option next to `term`, or None.

    The strength is 2 if the term has several words, otherwise 1.
    """
    words = tokenize(snippet)
    span = _find_first_span(list(map(stem, words)), term.stems)
    if span is None or not _have_same_negation(words, ((span, term),)):
        return None
    mention, head = query.find_blank_mention(words, span), query.heads[option]
    if mention is None or head is None or stem(mention) != stem(head):
        return None
    return option, 2 if len(term.stems) > 1 else 1


def _find_first_span(
    stems: Sequence[str], phrase: Sequence[str], excluded: slice | None = None
) -> slice | None:
    width = len(phrase)
    for at in range(len(stems) - width + 1):
        clear = excluded is None or at + width <= excluded.start or at >= excluded.stop
        if clear and tuple(stems[at : at + width]) == tuple(phrase):
            return slice(at, at + width)
    return None


def _have_same_negation(words: Sequence[str], term_spans: Sequence[tuple[slice, Term]]) -> bool:
    return all(is_negated(words, place.start) == term.is_negated for place, term in term_spans)


def _find_role(
    words: Sequence[str], context_span: slice, query_span: slice, query: Query
) -> Literal["agent", "patient"] | None:
    agent, patient = find_roles(words, context_span)
    follows = context_span.start < query_span.start
    stop = context_span.stop if follows else 0
    mention = query.find_blank_mention(words, query_span, stop)
    is_left_out = mention is None and follows and query.blank == "subject"
    if is_left_out and any(map(is_boundary, words[stop : query_span.start])):
        # "she refused, fearing violence": the omitted participant is the subject
        return "patient" if find_passive_auxiliary(words, context_span) is not None else "agent"
    for test in (is_same_noun, may_corefer):
        fits = [test(mention, agent), test(mention, patient)]
        if sum(fits) == 1:
            return "agent" if fits[0] else "patient"
    return None


def is_negated(tokens: Sequence[str], start: int) -> bool:
    return not _NEGATIONS.isdisjoint(t.lower() for t in tokens[max(0, start - 3) : start])
