"""Typing answers from paper with one key each: where one is, what a key does, what is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from winosmith.errors import DataError, FormatError
from winosmith.humans._answers import Answer, Sitting, answers_record, sitting_of
from winosmith.humans._sheet import AMBIGUOUS, Item, Sheet
from winosmith.outputs import write_aside
from winosmith.records import parsed

SKIP = " "
"""The key for a question that the subject left empty."""

UNDO = ("\x7f", "\b", "-")
"""Keys that go back by one answer: backspace as terminals send it, and minus."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A sheet that is being typed; a key gives the next state, and every state can be saved.

    Attributes:
        sitting: what was typed so far.
        at: the number of the question that comes next; one more than there are at the end.
    """

    sitting: Sitting
    at: int = 1

    @property
    def item(self) -> Item | None:
        """The question that comes next; None when all are typed."""
        sheet = self.sitting.sheet
        return sheet[self.at] if self.at <= len(sheet) else None

    def keys(self) -> str:
        """Return the letters that are answers to the next question."""
        return "" if self.item is None else self.item.letters + AMBIGUOUS

    def press(self, key: str) -> Entry | None:
        """Return the state after a key; None for a key that means nothing here."""
        if key in UNDO:
            return self._undone() if self.at > 1 else None
        if self.item is None:
            return None
        letter = key.upper()
        if key == SKIP:
            return replace(self, at=self.at + 1)
        if len(letter) != 1 or letter not in self.keys():
            return None
        answers = {**self.sitting.answers, self.at: Answer(letter)}
        return Entry(replace(self.sitting, answers=answers), self.at + 1)

    def _undone(self) -> Entry:
        answers = {n: given for n, given in self.sitting.answers.items() if n < self.at - 1}
        return Entry(replace(self.sitting, answers=answers), self.at - 1)

    def save(self, path: Path) -> None:
        """Write the state so that `resume` finds it; the file is whole at any moment.

        Until the last question is typed the file holds `next`, and is not read as answers.
        """
        record = answers_record(self.sitting)
        if self.item is not None:
            record = {**record, "winosmith": "entry", "next": self.at}
        with write_aside(path) as file:
            file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def resume(cls, path: Path, sheet: Sheet, subject: str) -> Entry:
        """Return what was saved there, or a new entry where there is no file.

        Raises:
            FormatError: the file is another subject's or sheet's, or can't be read.
        """
        if not path.exists():
            return cls(Sitting(subject, sheet, {}))
        try:
            record = parsed(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise FormatError(f"this is no entry: {error}", path) from error
        if not isinstance(record, dict) or record.get("winosmith") not in ("entry", "answers"):
            raise FormatError("this is no entry; move the file away", path)
        at = record.get("next", len(sheet) + 1)
        sitting = sitting_of({**record, "winosmith": "answers"}, {sheet.code: sheet}, path)
        if sitting.subject != subject:
            raise FormatError(f"this is the entry of {sitting.subject!r}, not of {subject!r}", path)
        if not isinstance(at, int) or not 1 <= at <= len(sheet) + 1:
            raise FormatError(f"the next question can't be {at!r}", path)
        return cls(sitting, at)


@dataclass(frozen=True, slots=True)
class Difference:
    """A question that two typists entered differently.

    Attributes:
        number: of the question.
        first, second: what each typed; None for an empty answer.
    """

    number: int
    first: str | None
    second: str | None

    def __str__(self) -> str:
        return (
            f"question {self.number}: the first typist has {self.first or 'nothing'}, the second "
            f"{self.second or 'nothing'}"
        )


def compare_entries(first: Sitting, second: Sitting) -> Sequence[Difference]:
    """Return every question on which two entries of one sheet differ, in order.

    Raises:
        DataError: they are of different subjects or sheets.
    """
    if (first.subject, first.sheet.code) != (second.subject, second.sheet.code):
        raise DataError(
            f"{first.subject!r} on {first.sheet.code} can't be compared with {second.subject!r} on "
            f"{second.sheet.code}"
        )

    def letter(sitting: Sitting, number: int) -> str | None:
        given = sitting.answers.get(number)
        return None if given is None else given.letter

    pairs = [(n, letter(first, n), letter(second, n)) for n in range(1, len(first.sheet) + 1)]
    return [Difference(n, a, b) for n, a, b in pairs if a != b]
