"""What pronoun files share: tidy texts, the blank in place of the pronoun, and which are twins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry
from winosmith.problem import BLANK, Problem
from winosmith.text import overlap, tokens, words

__all__ = ["answer_among", "blanked", "halves", "paired", "restored", "tidy", "whole_word"]

_ALIKE, _ALIKE_WITHOUT_OPTIONS = 0.3, 0.7
"""The share of words that makes neighbours a twin: with equal options (in DPR, which has nothing
but twins, the least is 0.32), and with one option changed (WinoGrande's rule, section 2)."""


def tidy(text: str) -> str:
    r"""Return the text with each run of white space as one space, and none at its ends.

    >>> tidy(" the  brown\n suitcase ")
    'the brown suitcase'
    """
    return " ".join(text.split())


def blanked(before: str, pronoun: str, after: str) -> tuple[str, str | None]:
    """Return the tidy sentence with the blank for the pronoun, and the pronoun.

    A pronoun that is itself the blank stands for an unknown one: None.

    >>> blanked("The cup hit the jug and ", " it ", " broke.")
    ('The cup hit the jug and _ broke.', 'it')
    """
    if BLANK in before + after:
        raise ProblemError("the text around the pronoun holds a blank ('_')")
    sentence = tidy(before + pronoun.replace(pronoun.strip(), BLANK) + after)
    return sentence, None if tidy(pronoun) == BLANK else tidy(pronoun)


def halves(problem: Problem) -> tuple[str, str]:
    """Return the text before the blank and the text after it."""
    before, after = problem.sentence.split(BLANK)
    return before, after


def restored(problem: Problem) -> str:
    """Return what stands in the blank's place in a pronoun file: the pronoun, or `_`."""
    return problem.pronoun or BLANK


def whole_word(word: str, text: str) -> list[int]:
    """Return where a word or phrase stands in a text as a whole, by offset, in any case.

    >>> whole_word("he", "The man said he knew the others; He did.")
    [13, 33]
    """
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return [found.start() for found in pattern.finditer(text)]


def answer_among(options: Iterable[str], answer: str) -> int:
    """Return the index of the option that equals the answer, once both are tidy.

    Raises:
        ProblemError: none does.
    """
    tidied = [tidy(option) for option in options]
    if tidy(answer) not in tidied:
        raise ProblemError(f"the answer {answer!r} is none of the options {tidied}")
    return tidied.index(tidy(answer))


def paired(entries: Iterable[Entry]) -> list[Entry]:
    """Give the halves of a twin a common `twin_id`, in a file that says only by order who they are.

    Two neighbours are a twin when they have the same options, in any case and order, different
    answers, and 30 % of their words in common; or when one option was changed, as in four schemas
    of the WSC, the other one is right in one of the two, and they share 70 % of their words. Two
    pronouns of one text, as in the PDPs, are no twin.
    """
    found = list(entries)
    row = 0
    while row + 1 < len(found):
        first, second = found[row].item, found[row + 1].item
        if isinstance(first, Problem) and isinstance(second, Problem) and _twins(first, second):
            twin = f"twin-{first.id}"
            found[row] = replace(found[row], item=replace(first, twin_id=twin))
            found[row + 1] = replace(found[row + 1], item=replace(second, twin_id=twin))
            row += 1
        row += 1
    return found


def _twins(first: Problem, second: Problem) -> bool:
    if first.twin_id or second.twin_id or first.answer is None or second.answer is None:
        return False
    one, other = (
        [tidy(option).casefold() for option in problem.options] for problem in (first, second)
    )
    shared = set(one) & set(other)
    right, other_right = one[first.answer], other[second.answer]
    if len(shared) < len(one):  # an option was changed: the one that stayed is right once
        alike, flipped = _ALIKE_WITHOUT_OPTIONS, (right in shared) != (other_right in shared)
    else:
        alike, flipped = _ALIKE, right != other_right
    if not flipped or _is_same_text(tokens(first.sentence), tokens(second.sentence)):
        return False
    return overlap(words(first.sentence), words(second.sentence)) >= alike


def _is_same_text(one: list[str], other: list[str]) -> bool:
    """Tell whether two sentences differ only in which of their pronouns is the blank."""
    one, other = ([t for t in found if t[0].isalnum() or t == BLANK] for found in (one, other))
    if len(one) != len(other) or BLANK not in one or BLANK not in other:
        return False
    unequal = {at for at, pair in enumerate(zip(one, other, strict=True)) if len(set(pair)) > 1}
    return unequal == {one.index(BLANK), other.index(BLANK)} and len(unequal) == 2
