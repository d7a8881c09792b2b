"""What a problem shows on a sheet: the text, a snippet of it, and its options in their order."""

from __future__ import annotations

import re
from itertools import takewhile

from winosmith.humans._item import Pieces
from winosmith.humans._text import text_of
from winosmith.problem import BLANK, Problem

__all__ = ["option_order", "pieces", "question_key", "snippet", "text_key"]

_MOST_AFTER, _LEAST = 6, 3
"""Words of a snippet after the pronoun at most, and of a whole snippet at least."""

_CLAUSE_END = re.compile(r"[.,;:?!—–][\"'”’)]*$")
_SENTENCE_END = re.compile(r"[.?!][\"'”’)]*$")
_CLAUSE_START = frozenset(
    """after although and as because before but for if nor or since so than that though till unless
    until when where whereas whether which while who whose yet""".split()
)
_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r"^(?:the|a|an|his|her|its|their|my|our|your)\s+", re.IGNORECASE)


def pieces(problem: Problem) -> Pieces:
    """Return the text before the pronoun, the pronoun (or the blank), and the text after it.

    >>> pieces(Problem("1", "The cup hit  the jug and _ broke.", ("cup", "jug"), pronoun="it"))
    ('The cup hit the jug and ', 'it', ' broke.')
    """
    before, after = " ".join(problem.sentence.split()).split(BLANK)
    return before, problem.pronoun or BLANK, after


def snippet(problem: Problem) -> Pieces:
    """Return the phrase that the pronoun stands in.

    It is the one that the file gives (`wsc.quote1`, `wsc.quote2`), else the rest of the clause,
    six words of it at most, and of what stands before it in the clause, three; where that is
    less than three words, more of the sentence before it is added.

    >>> snippet(Problem("1", "The cup hit the jug and _ broke at once.", ("cup", "jug")))
    ('', '_', ' broke at once.')
    >>> snippet(Problem("2", "Ann paid Sue, for her _ was red.", ("dress", "hat")))
    ('her ', '_', ' was red.')
    """
    before, pronoun, after = pieces(problem)
    given = [str(problem.extra.get(f"wsc.{part}") or "") for part in ("quote1", "quote2")]
    if any(given):
        return _spaced_before(given[0], before), pronoun, _spaced_after(given[1], after)
    following = _until_clause_end(after.split())
    preceding = _clause_before(before.split(), _LEAST - 1 - len(following))
    return (
        _spaced_before(" ".join(preceding), before),
        pronoun,
        _spaced_after(" ".join(following), after),
    )


def _spaced_before(words: str, before: str) -> str:
    return words + " " if words and before.endswith(" ") else words


def _spaced_after(words: str, after: str) -> str:
    return " " + words if words and after.startswith(" ") else words


def _until_clause_end(words: list[str]) -> list[str]:
    """Return the words up to the end of their clause, six at most."""
    taken: list[str] = []
    for word in words[:_MOST_AFTER]:
        if taken and word.lower() in _CLAUSE_START:
            break
        taken.append(word)
        if _CLAUSE_END.search(word):
            break
    return taken


def _clause_before(words: list[str], least: int) -> list[str]:
    """Return the words back to the clause's start, three at most; `least` if the sentence has."""
    sentence = list(takewhile(lambda word: not _SENTENCE_END.search(word), reversed(words)))
    clause = takewhile(
        lambda word: not _CLAUSE_END.search(word) and word.lower() not in _CLAUSE_START,
        sentence[:3],
    )
    return sentence[: max(len(list(clause)), least)][::-1]


def option_order(problem: Problem) -> tuple[int, ...]:
    """Return the indices of the options in order of their first occurrence in the text.

    An option is looked for as a whole, in any case; without its article when it is not found so;
    by its last word when it is not found so, either. When one is not found at all, the given
    order stays (Davis et al. 2016, section 3: "always the order of the first occurrence").

    >>> option_order(Problem("1", "Ann's brother saw Sue, but _ left.", ("Sue", "the brother")))
    (1, 0)
    """
    text = " ".join(problem.sentence.split())
    places = [_place(" ".join(option.split()), text) for option in problem.options]
    given = range(len(places))
    if None in places:
        return tuple(given)
    return tuple(sorted(given, key=lambda index: (places[index], index)))


def _place(option: str, text: str) -> int | None:
    bare = _ARTICLE.sub("", option)
    for wanted in (option, bare, bare.split()[-1] if bare.split() else bare):
        found = re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text, re.IGNORECASE)
        if found:
            return found.start()
    return None


def text_key(problem: Problem) -> str:
    """Return what two questions on one text share: its words, whatever case and punctuation.

    In the file of the PDP challenge a full stop is all that parts two questions on one text.
    """
    return " ".join(_WORD.findall(text_of(problem).lower()))


def question_key(problem: Problem) -> str:
    """Return what two copies of one question share: the words of the sentence with its blank."""
    return " ".join(_WORD.findall(problem.sentence.lower()))
