"""Blanks that can't be used as they stand: those that touch a word, and those written otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry
from winosmith.lineage import apply_edits, edit_script
from winosmith.problem import BLANK, Problem
from winosmith.text import tokens, with_blank_apart

__all__ = ["with_blanks_apart"]


def with_blanks_apart(entries: Iterable[Entry]) -> tuple[list[Entry], list[str]]:
    """Set each blank apart from a word that it touches (`text.with_blank_apart`).

    Edits that were counted in the words as they stood are counted anew.

    Returns:
        The entries, and a sentence that says how many were mended; none when none was.
    """
    found = list(entries)
    before: dict[str, str] = {}
    mended = 0
    example = ""
    for row, one in enumerate(found):
        if one.item is None:
            continue
        sentence = with_blank_apart(one.item.sentence)
        if sentence == one.item.sentence:
            continue
        mended += 1
        example = example or _around(one.item.sentence)
        if isinstance(one.item, Problem):
            before[one.item.id] = one.item.sentence
        found[row] = replace(one, item=replace(one.item, sentence=sentence))
    if not mended:
        return found, []
    what = "sentence has its blank" if mended == 1 else "sentences have their blanks"
    return _with_edits(found, before), [
        f"{mended:,} {what} against a word ({example!r}); a space was set between, lest the "
        "option run into the word"
    ]


def _around(sentence: str) -> str:
    """Return the blank with the words around it."""
    cut = sentence.split()
    at = next(at for at, word in enumerate(cut) if BLANK in word)
    return " ".join(cut[max(0, at - 1) : at + 1])


def _with_edits(entries: list[Entry], before: dict[str, str]) -> list[Entry]:
    """State edits anew where a sentence or its parent's was mended and they fitted before."""
    known = {one.item.id: one.item for one in entries if isinstance(one.item, Problem)}
    for row, one in enumerate(entries):
        problem = one.item
        if not isinstance(problem, Problem) or not problem.lineage or not problem.lineage.edits:
            continue
        lineage = problem.lineage
        if before.keys().isdisjoint((problem.id, lineage.parent)):
            continue
        edits = lineage.edits
        if (parent := known.get(lineage.parent)) is None:
            edits = ()  # they count in words that no longer are, of a sentence that is not here
        elif _fit(parent, problem, before):
            edits = edit_script(tokens(parent.sentence), tokens(problem.sentence))
        entries[row] = replace(one, item=replace(problem, lineage=replace(lineage, edits=edits)))
    return entries


def _fit(parent: Problem, problem: Problem, before: dict[str, str]) -> bool:
    """Tell whether the stated edits turn the parent as it stood into the problem as it stood."""
    then, now = (before.get(one.id, one.sentence) for one in (parent, problem))
    edits = problem.lineage.edits if problem.lineage else ()
    try:
        return apply_edits(tokens(then), edits) == tuple(tokens(now))
    except ProblemError:
        return False
