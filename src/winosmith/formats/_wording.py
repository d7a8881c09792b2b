"""What pronoun files share: tidy texts, and the blank in place of the pronoun."""

from __future__ import annotations

import re
from collections.abc import Iterable

from winosmith.errors import ProblemError
from winosmith.problem import BLANK, Problem

__all__ = ["answer_among", "blanked", "halves", "restored", "tidy", "whole_word"]


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
