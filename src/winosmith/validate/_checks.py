"""The single structural rules: each says what is wrong with a half, or with a twin.

A check returns "" where the rule holds, the fault in words where it is broken, and None where it
can't be checked because its input is missing: so it is for what counts words in text that has no
spaces between them, and for what knows English words in another script (`winosmith.text.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from winosmith import text
from winosmith.problem import Problem

__all__ = ["OF_A_HALF", "OF_A_TWIN", "Rule"]


class Rule(NamedTuple):
    """A rule by its name, the field of `StructureRules` that sets it, and its check.

    A half's check takes the problem, all problems of its twin id, and the setting; a twin's takes
    both halves and the setting.
    """

    name: str
    setting: str
    check: Callable[[Any, Any, Any], str | None]


def _length(problem: Problem, group: Sequence[Problem], limits: tuple[int, int]) -> str | None:
    if text.writing(problem.sentence) == "unspaced":
        return None
    low, high = limits
    count = len(text.words(problem.sentence))
    return "" if low <= count <= high else f"{count} words; {low} to {high} are asked for"


def _options(problem: Problem, group: Sequence[Problem], _: bool) -> str:
    sentence = problem.sentence.casefold()
    return _missing([option for option in problem.options if _plain(option) not in sentence])


def _anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchors = {half.origin.anchor for half in group if half.origin and half.origin.anchor}
    if any(text.writing(one) != "latin" for one in (problem.sentence, *anchors)):
        return None
    wanted = {word for anchor in anchors for word in text.content_words(anchor)}
    if not wanted:
        return None
    return _missing(sorted(wanted.difference(map(str.lower, text.tokens(problem.sentence)))))


def _content_anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchor = problem.origin.anchor if problem.origin else None
    if not anchor or not anchor.strip() or text.writing(anchor) != "latin":
        return None
    return "" if text.content_words(anchor) else f"{anchor!r} holds only function words"


def _complete(problem: Problem, group: Sequence[Problem], _: bool) -> str:
    return "the other half is missing" if len(group) == 1 else ""


def _same_options(first: Problem, second: Problem, _: bool) -> str:
    if set(map(_plain, first.options)) == set(map(_plain, second.options)):
        return ""
    return f"{_listed(first.options)} in one half, {_listed(second.options)} in the other"


def _flipped(first: Problem, second: Problem, _: bool) -> str | None:
    if first.answer is None or second.answer is None:
        return None
    answer = first.options[first.answer]
    if _plain(answer) != _plain(second.options[second.answer]):
        return ""
    return f"both halves say {answer!r}"


def _overlap(first: Problem, second: Problem, least: float) -> str | None:
    if _has_no_words(first, second):
        return None
    share = text.overlap(text.words(first.sentence), text.words(second.sentence))
    if share >= least:
        return ""
    return f"the halves share {share * 100:.1f} % of their words; {least * 100:.0f} % are asked for"


def _edit(first: Problem, second: Problem, most: float) -> str | None:
    mine, theirs = text.tokens(first.sentence), text.tokens(second.sentence)
    distance, longer = text.edit_distance(mine, theirs), max(len(mine), len(theirs))
    if distance == 0:
        return "the halves are the same sentence"
    if _has_no_words(first, second):
        return None
    if distance <= most * longer:
        return ""
    return f"the halves differ in {distance} of {longer} tokens; at most {most * 100:.0f} % may"


def _has_no_words(*halves: Problem) -> bool:
    return any(text.writing(half.sentence) == "unspaced" for half in halves)


def _plain(option: str) -> str:
    return option.strip().casefold()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _missing(names: Sequence[str]) -> str:
    return f"{_listed(names)} not in the sentence" if names else ""


OF_A_HALF = (
    Rule("length", "length", _length),
    Rule("options", "options_in_sentence", _options),
    Rule("anchor", "anchor", _anchor),
    Rule("function word", "content_anchor", _content_anchor),
    Rule("other half", "complete", _complete),
)
OF_A_TWIN = (
    Rule("same options", "same_options", _same_options),
    Rule("flipped answers", "flipped", _flipped),
    Rule("overlap", "overlap", _overlap),
    Rule("edit distance", "edit", _edit),
)
