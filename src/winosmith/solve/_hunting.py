"""`KnowledgeHunting`: look in texts for who does what in such a situation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from winosmith.problem import Problem
from winosmith.solve._hunting_evidence import Evidence, mention_evidence, role_evidence
from winosmith.solve._hunting_query import Asked, Tagger, asked
from winosmith.solve._hunting_words import stem
from winosmith.solve._solver import Scores
from winosmith.text import tokens

__all__ = ["Found", "KnowledgeHunting", "Retriever"]

_COPY = 0.7
"""The share of a problem's words from which on a snippet is taken for a copy of the problem."""


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
    addition a sentence that names an option itself beside the blank's predicate speaks for it,
    which serves problems of 3 to 5 options, and things rather than people.

    A snippet counts once, with its strongest reading, unless another one speaks as strongly for
    another option; one that holds 70 % of the problem's words
    is taken for a copy of the problem, and left out. Options without evidence score 0, so where
    nothing is found all scores are equal.

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
        told = {"solver": "hunting", "collection": str(collection)[:12], "snippets": self.snippets}
        return {**told, **({} if self.tagger is None else {"tagger": True}), "sees": "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the summed strength of the evidence for each option; 0 where there is none."""
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
            shared = what.stems.intersection(map(stem, tokens(snippet)))
            if len(shared) < _COPY * len(what.stems):
                yield snippet
