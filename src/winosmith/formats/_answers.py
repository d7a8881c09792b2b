"""Which choice an answer names: by letter, number, text or label, as people and models write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from winosmith.formats._choices import PREFIX
from winosmith.formats._columns import plainly
from winosmith.formats._letters import place
from winosmith.text import composed

KINDS = {
    "letter": "letters",
    "0": "numbers from 0 on",
    "1": "numbers from 1 on",
    "text": "texts of choices",
    "label": "labels of choices",
}
"""What the answers of a file may be, in words."""

_LETTER = re.compile(r"\s*[(（\[]?(\w)\u0640?[.)．、:：）\]]?\s*")
"""A letter of any script; in Arabic, it may have a stroke (tatweel) after it."""

_DECKED = re.compile(r"\$?\\boxed\{\s*(.+?)\s*\}\$?|[*_`]{1,3}(.+?)[*_`]{1,3}")
"""An answer as models and Markdown write it: \\boxed{B}, **B**."""


def readings(
    value: Any,
    options: Sequence[str],
    labels: Sequence[str] = (),
    signed: Sequence[str] = (),
    decks: int = 2,
) -> dict[str, int]:
    """Return which choice an answer would be, by each of `KINDS` that it fits.

    Args:
        value: the answer.
        options: the texts of the choices.
        labels: one each, if they have some.
        signed: the texts with a sign before each, where it was taken from `options`.
        decks: of decks around the answer, such as `**`, so many are taken off at most.

    >>> readings("B", ["a cup", "a jug"]), readings("**2**", ["1", "2"])
    ({'letter': 1}, {'text': 1, '1': 1})
    """
    count = len(options)
    said = " ".join(str(value).split())
    found: dict[str, int] = {}
    if said in labels:
        found["label"] = labels.index(said)
    elif (alike := [*map(plainly, labels)]).count(plainly(said)) == 1:
        found["label"] = alike.index(plainly(said))
    elif len(both := [*_labelled(said, options, labels)]) == 1:
        found["label"] = both[0]
    text = _place(said, (options, signed))
    if text is None and (sign := PREFIX.match(said)):
        text = _place(said[sign.end() :], (options,))
    if text is not None:
        found["text"] = text
    if isinstance(value, bool):
        return found
    if decks and not found and (bare := _DECKED.fullmatch(said)):
        return readings(bare[1] or bare[2], options, labels, signed, decks - 1)
    if (letter := letter_of(value)) and letter[1] < count:
        found["letter"] = letter[1]
    if isinstance(value, str):
        said = composed(value, "NFKC")  # ③
    if isinstance(value, int) or re.fullmatch(r"\d{1,4}(\.0?)?", said):
        number = value if isinstance(value, int) else int(float(said))
        found |= {"0": number} if 0 <= number < count else {}
        found |= {"1": number - 1} if 1 <= number <= count else {}
    return found


def letter_of(value: Any) -> tuple[str, int] | None:
    """Return the script of an answer that is one letter, and the letter's 0-based place in it.

    >>> letter_of("(b)"), letter_of("В."), letter_of("Ｃ"), letter_of("red")
    (('Latin', 1), ('Cyrillic', 2), ('Latin', 2), None)
    """
    if not isinstance(value, str) or not (found := _LETTER.fullmatch(value)):
        return None
    return place(found[1]) or place(composed(found[1], "NFKC"))


def fitting(value: Any, options: Sequence[str], labels: Sequence[str]) -> list[int]:
    """Return the choices whose text or label is the answer, in any case.

    >>> fitting("Paris", ["PARIS", "Rome", "paris "], [])
    [0, 2]
    """
    said = " ".join(str(value).split()).casefold()
    texts = [[" ".join(text.split()).casefold() for text in own] for own in (options, labels)]
    return sorted({at for own in texts for at, text in enumerate(own) if text == said})


def _labelled(said: str, options: Sequence[str], labels: Sequence[str]) -> Iterator[int]:
    """Yield each choice of which both label and text are said, as in "option 2: a cup"."""
    for at, (label, text) in enumerate(zip(labels, options, strict=False)):
        rest = said.removeprefix(label)
        if rest != said and rest.lstrip(" .:)-").casefold() == " ".join(text.split()).casefold():
            yield at


def _place(said: str, choices: Iterable[Sequence[str]]) -> int | None:
    """Return the only choice of that text, its case regarded where it tells choices apart."""
    for texts in choices:
        for as_read in (str, str.casefold):
            tidied = [as_read(" ".join(text.split())) for text in texts]
            if tidied.count(as_read(said)) == 1:
                return tidied.index(as_read(said))
    return None
