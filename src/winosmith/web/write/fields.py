"""`Typed`: what a contributor has typed, tidied; nothing about it need be complete."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winosmith.problem import BLANK
from winosmith.text import with_blank_apart
from winosmith.web.problems.halves import Half

__all__ = ["DOMAINS", "LONGEST_OPTION", "LONGEST_SENTENCE", "Typed", "tidy"]

DOMAINS = ("social", "physical")
"""WinoGrande's two (section 2): two people of one gender, or two objects."""

LONGEST_SENTENCE, LONGEST_OPTION = 1000, 100
"""Characters."""

_BLANKS = re.compile(rf"{BLANK}{{2,}}")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of writing: text that does not read as it is stored."""


def tidy(text: str) -> str:
    """Return a text on one line, with single spaces, composed letters and one `_` for a blank.

    >>> tidy(" The cup  hit the jug, and the ____ broke. ")
    'The cup hit the jug, and the _ broke.'
    """
    plain = _TURNING.sub("", unicodedata.normalize("NFC", text))
    printed = (" " if unicodedata.category(letter) == "Cc" else letter for letter in plain)
    whole = "".join(printed).encode("utf-8", "replace").decode()
    return _BLANKS.sub(BLANK, " ".join(whole.split()))


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form holds.

    Attributes:
        domain: one of `DOMAINS`, or "".
        options: the two that both halves share, perhaps empty.
        sentences: of the first and of the second half, perhaps without a blank yet; a blank that
            was typed against a word stands apart from it.
        answers: the 0-based index of each half's right option; the second is preset to the other.
        parted: whether the blank of each sentence had to be set apart.
    """

    domain: str = ""
    options: tuple[str, str] = ("", "")
    sentences: tuple[str, str] = ("", "")
    answers: tuple[int | None, int | None] = (0, 1)
    parted: tuple[bool, bool] = field(default=(False, False), compare=False)

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Typed:
        """Return what a form, or a stored draft, holds, as far as it is one."""

        def text(name: str) -> str:
            return tidy(str(form.get(name, "")))

        def answer(name: str, preset: int) -> int | None:
            return {"0": 0, "1": 1, "": None}.get(str(form.get(name, preset)))

        domain = text("domain")
        first, second = text("sentence_1"), text("sentence_2")
        apart = with_blank_apart(first), with_blank_apart(second)
        return cls(
            domain if domain in DOMAINS else "",
            (text("option_1"), text("option_2")),
            apart,
            (answer("answer_1", 0), answer("answer_2", 1)),
            (apart[0] != first, apart[1] != second),
        )

    def as_form(self) -> dict[str, str]:
        """Return the fields of the form by their names, as JSON can hold them."""
        (option_1, option_2), (sentence_1, sentence_2) = self.options, self.sentences
        answers = ("" if answer is None else str(answer) for answer in self.answers)
        answer_1, answer_2 = answers
        return {
            "domain": self.domain,
            "option_1": option_1,
            "option_2": option_2,
            "sentence_1": sentence_1,
            "answer_1": answer_1,
            "sentence_2": sentence_2,
            "answer_2": answer_2,
        }

    def halves(self) -> tuple[Half, Half]:
        """Return both halves, with the options that are there."""
        options = tuple(option for option in self.options if option)
        first, second = (
            Half(sentence, options, answer if len(options) == 2 else None)
            for sentence, answer in zip(self.sentences, self.answers, strict=True)
        )
        return first, second

    @property
    def empty(self) -> bool:
        """Whether no text has been typed yet."""
        return not any((*self.options, *self.sentences))

    @property
    def size(self) -> int:
        """Characters, all in all."""
        return sum(map(len, (*self.options, *self.sentences)))
