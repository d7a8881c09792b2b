"""What somebody types into a form: halves, tidy texts, and what each check says of them.

Nothing about what is typed need be complete.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from winosmith.errors import InputError
from winosmith.problem import BLANK


class AnyHalf(Protocol):
    """A sentence with its options and answer: `Half`, `winosmith.Problem`, the model `Problem`."""

    @property
    def sentence(self) -> str: ...  # noqa: D102

    @property
    def options(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def answer(self) -> int | None: ...  # noqa: D102


class Half(NamedTuple):
    """A half as somebody is writing it; nothing about it need be complete.

    Attributes:
        sentence: perhaps without a blank yet.
        options: perhaps empty.
        answer: the 0-based index of the right option; None when it was not told yet.
    """

    sentence: str
    options: tuple[str, ...] = ()
    answer: int | None = None


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


def told_apart(options: Sequence[str]) -> bool:
    """Tell whether options are texts that differ in more than capitals, none with a blank.

    >>> [told_apart(options) for options in (("cup", "jug"), ("cup", "Cup"), ("cup", ""))]
    [True, False, False]
    """
    folded = {option.casefold() for option in options}
    return "" not in folded and len(folded) == len(options) and BLANK not in "".join(options)


Verdict = Literal["pass", "note", "fail", "todo", "unchecked"]
"""A note is no hindrance; "todo" as long as too little is written to tell; "unchecked" where the
script does not let the rule be checked (`winosmith.text.writing`), which is in nobody's way."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one rule says.

    Attributes:
        rule: its name, in `winosmith.validate` where it is one of those.
        verdict: how it stands.
        label: what is asked for.
        figure: how it stands in a figure ("17 words"); "" where there is none.
        advice: what to do, where it does not pass.
        field: the field of the form that it concerns.
        half: of a twin, 0 or 1; None for what concerns both, or a sentence alone.
    """

    rule: str
    verdict: Verdict
    label: str
    figure: str
    advice: str
    field: str
    half: int | None = None


def by_field(checks: Iterable[Check]) -> dict[str, list[str]]:
    """Return what to do, by the field of the form."""
    faults: dict[str, list[str]] = {}
    for check in checks:
        if check.advice and check.advice not in faults.setdefault(check.field, []):
            faults[check.field].append(check.advice)
    return {field: advice for field, advice in faults.items() if advice}


class Refused(InputError):  # noqa: N818
    """What breaks rules; `faults` has what to do, by the field of the form."""

    def __init__(self, faults: dict[str, list[str]]):
        self.faults = faults
        super().__init__(" ".join(text for texts in faults.values() for text in texts))
