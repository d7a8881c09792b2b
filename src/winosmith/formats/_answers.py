"""Which choice an answer names: by letter, number, text or label, as people and models write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from winosmith.data import Place
from winosmith.formats._base import Entry
from winosmith.formats._choices import PREFIX
from winosmith.formats._columns import empty, names_of, of_answers, plainly
from winosmith.formats._letters import place as place_in_script
from winosmith.problem import Extra, Problem
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
    text = option_of_text(said, options)
    if text is None:
        text = option_of_text(said, signed)
    if text is None and (sign := PREFIX.match(said)):
        text = option_of_text(said[sign.end() :], options)
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
    return place_in_script(found[1]) or place_in_script(composed(found[1], "NFKC"))


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


def option_of_text(text: str, options: Sequence[str]) -> int | None:
    """Return the only option of that text; its case counts if it distinguishes options.

    >>> option_of_text("A  cup", ["a cup", "a jug"]), option_of_text("Us", ["US", "us"])
    (0, None)
    """
    said = " ".join(text.split())
    for as_read in (str, str.casefold):
        tidied = [as_read(" ".join(option.split())) for option in options]
        if tidied.count(as_read(said)) == 1:
            return tidied.index(as_read(said))
    return None


_FEW = 10
"""A column is the key again if it differs in less than one row of so many."""


def differing(
    rows: Iterable[tuple[Place, Mapping[str, int], int | None]],
) -> dict[str, list[Place]]:
    """Return the places that have another answer in a second column, by what this one may be.

    Args:
        rows: place, readings of the second column, and key.
    """
    found = [*rows]
    return {kind: [place for place, read, key in found if read.get(kind) != key] for kind in KINDS}


def repeat_note(name: str, places: Sequence[Place], count: int) -> str | None:
    """Return the note on a column that is the key under another name; None if it is not.

    >>> repeat_note("answer_index", [Place("a.csv", 7)], 40)
    "'answer_index' is the key again, and is omitted; it differs in 1 of 40 rows (line 7)"
    """
    if _FEW * len(places) >= count:
        return None
    if not places:
        return f"{name!r} says the same as the answer, and is left out"
    where = f"it differs in {len(places):,} of {count:,} rows ({place_list(places)})"
    return f"{name!r} is the key again, and is omitted; {where}"


def without_repeats(entries: list[Entry]) -> tuple[list[Entry], list[str]]:
    """Remove fields from `extra` that are the key under another name, with a note for each."""
    keyed = [
        (one, one.item, one.item.answer)
        for one in entries
        if isinstance(one.item, Problem) and one.item.answer is not None
    ]
    fields = {key: key.partition(".")[2] for key in names_of(item.extra for _, item, _ in keyed)}
    repeats, notes = set[str](), list[str]()
    for key, field in fields.items():
        if of_answers(field):
            rows = [
                (one.place, readings(item.extra[key], item.options), answer)
                for one, item, answer in keyed
                if not empty(item.extra.get(key))
            ]
            places = min(differing(rows).values(), key=len)
            if note := repeat_note(field, places, len(rows)):
                repeats.add(key)
                notes.append(note)
    if not repeats:
        return entries, []
    for row, one in enumerate(entries):
        if isinstance(one.item, Problem) and not repeats.isdisjoint(one.item.extra):
            kept = Extra({k: value for k, value in one.item.extra.items() if k not in repeats})
            entries[row] = replace(one, item=replace(one.item, extra=kept))
    return entries, notes


def place_list(places: Sequence[Place]) -> str:
    """Return the numbers of places as a message lists them.

    >>> place_list([Place("a.csv", 7)]), place_list([Place("a.csv", n) for n in (7, 9)])
    ('line 7', 'lines 7 and 9')
    >>> place_list([Place("<DataFrame>", n, "row") for n in range(1, 23)])[-21:]
    '18, 19, 20 and 2 more'
    """
    unit = places[0].unit
    *some, last = (str(place.number) for place in places[:_LISTED])
    if len(places) > _LISTED:
        return f"{unit}s {', '.join([*some, last])} and {len(places) - _LISTED:,} more"
    return f"{unit}s {', '.join(some)} and {last}" if some else f"{unit} {last}"


_LISTED = 20
