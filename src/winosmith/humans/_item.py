"""One question of a test sheet: a text, a snippet of it, and lettered options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from winosmith.errors import ProblemError
from winosmith.problem import BLANK

__all__ = ["AMBIGUOUS", "LETTERS", "Item", "Label", "Pieces"]

LETTERS = "ABCDE"
"""The letters of the options, in order; there are at most 5 (Davis et al. 2016, section 1)."""

AMBIGUOUS = "X"
"""What a subject writes when the question is genuinely ambiguous (section 3 there)."""

Label = Literal["SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"]
"""What stands over a question on the text before it, or on one that is easily taken for it."""

Pieces = tuple[str, str, str]
"""What stands before the pronoun, the pronoun itself, and what stands after it.

White space between them is kept where there is some; the pronoun is the blank "_" when nothing
is known of what the blank replaced.
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A problem as it stands on a sheet.

    Attributes:
        number: its number on the sheet, from 1.
        problem_id: the problem that is asked.
        schema: what is shared by the problems that one subject may not see together: the halves
            of a twin, a family, look-alikes.
        text: the whole text in three pieces; the middle one is printed bold.
        snippet: the phrase with the pronoun, in three pieces.
        options: what the letters A, B, … stand for, in order of first occurrence in the text.
        shown: the index in the problem of each lettered option; as in `Response.shown`.
        label: what stands over the question, or None.

    Raises:
        ProblemError: there is no number from 1, no middle piece, or no order of the options.
    """

    number: int
    problem_id: str
    schema: str
    text: Pieces
    snippet: Pieces
    options: tuple[str, ...]
    shown: tuple[int, ...]
    label: Label | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ProblemError(f"items are numbered from 1, not {self.number}")
        if sorted(self.shown) != list(range(len(self.options))):
            raise ProblemError(f"the order {self.shown} is not one of {len(self.options)} options")
        if not 2 <= len(self.options) <= len(LETTERS):
            raise ProblemError(f"item {self.number} has {len(self.options)} options, not 2 to 5")
        if not self.text[1] or not self.snippet[1]:
            raise ProblemError(f"item {self.number} has no pronoun in its text or in its snippet")

    @property
    def letters(self) -> str:
        """The letters of the options: "AB" for two."""
        return LETTERS[: len(self.options)]

    @property
    def sentence(self) -> str:
        """The text with the blank, as a problem has it."""
        return self.text[0] + BLANK + self.text[2]

    def option(self, letter: str) -> int | None:
        """Return the index in the problem of the option with that letter; None for X.

        Raises:
            ProblemError: it is not a letter of this item; small letters are letters, too.
        """
        letter = letter.strip().upper()
        if letter == AMBIGUOUS:
            return None
        if len(letter) != 1 or letter not in self.letters:
            raise ProblemError(
                f"question {self.number} has no answer {letter!r}; it is one of "
                f"{', '.join(self.letters)}, or X for ambiguous"
            )
        return self.shown[self.letters.index(letter)]

    def letter(self, option: int) -> str:
        """Return the letter of the option with that index in the problem."""
        return self.letters[self.shown.index(option)]
