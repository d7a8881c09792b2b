"""Filled-in sheets: who took which, what they answered, and what else was written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from winosmith.answers import Response
from winosmith.errors import DataError
from winosmith.humans._item import AMBIGUOUS
from winosmith.humans._sheet import Sheet

__all__ = ["Answer", "Noted", "Sitting", "check_sittings", "responses_of"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer on a sheet.

    Attributes:
        letter: "A", "B", …; "X" for ambiguous.
        seconds: how long the question was looked at; None when it was not timed.
        where: the file and line that it was read from, for errors.
    """

    letter: str
    seconds: float | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """What a subject said about a question: a text recognised, a word asked about.

    Attributes:
        number: of the question; None when none was named.
        text: what they said.
    """

    number: int | None
    text: str


@dataclass(frozen=True)
class Sitting:
    """One subject's filled-in sheet.

    Attributes:
        subject: the code; never a name.
        sheet: what they were handed.
        answers: number of the question → answer; questions left empty are not there.
        started, ended: ISO 8601, or None.
        seconds: for the whole sheet, where that was measured.
        recognised: texts that the subject knew.
        words: words that the subject asked about.
        native: whether English is their first language; None when not declared.
        attributes: what else they declared.
        where: the file it was read from.
    """

    subject: str
    sheet: Sheet
    answers: Mapping[int, Answer]
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    recognised: tuple[Noted, ...] = ()
    words: tuple[Noted, ...] = ()
    native: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    def place(self, number: int) -> str:
        """Return where an answer was read, for messages."""
        return self.answers[number].where or self.where or f"sheet {self.sheet.code}"


def check_sittings(sittings: Sequence[Sitting]) -> None:
    """Check that every sheet was entered once, and that nobody saw two halves of a schema.

    Raises:
        DataError: a subject has one sheet twice (it was entered twice, or two subjects have one
            code), one question on two sheets, both halves of a schema, or says two different
            things about themselves; with the places of both.
    """
    taken: dict[tuple[str, str, str], Sitting] = {}
    schemas: dict[tuple[str, str], tuple[Sitting, int]] = {}
    for sitting in sittings:
        sheet = sitting.sheet
        before = taken.setdefault((sitting.subject, sheet.data, sheet.test), sitting)
        if before is not sitting:
            raise DataError(_twice(before, sitting))
        for item in sheet.items:
            met = schemas.setdefault((sitting.subject, item.schema), (sitting, item.number))
            if met[0] is not sitting:
                raise DataError(_both_halves(met, sitting, item.number))
    _check_declared(sittings)


def _twice(before: Sitting, now: Sitting) -> str:
    return (
        f"{now.where or now.sheet.code}: {now.subject!r} already took test {now.sheet.test} "
        f"({before.where or before.sheet.code}, sheet {before.sheet.code}); either it was entered "
        "twice, or two subjects have one code: keep one of them, or give the other its own code"
    )


def _both_halves(met: tuple[Sitting, int], now: Sitting, number: int) -> str:
    before, first = met
    ids = before.sheet[first].problem_id, now.sheet[number].problem_id
    what = (
        f"the problem {ids[0]!r}"
        if ids[0] == ids[1]
        else f"both halves of a schema ({ids[0]!r} and {ids[1]!r})"
    )
    return (
        f"{now.where or now.sheet.code}: {now.subject!r} saw {what} as question {first} of "
        f"{before.sheet.code} ({before.where or 'entered before'}) and question {number} of "
        f"{now.sheet.code}; what was seen first influences the second, so leave one sheet out"
    )


def _check_declared(sittings: Sequence[Sitting]) -> None:
    said: dict[tuple[str, str], tuple[str, str]] = {}
    for sitting in sittings:
        native = {} if sitting.native is None else {"native": "yes" if sitting.native else "no"}
        for name, value in {**sitting.attributes, **native}.items():
            key = (sitting.subject, name)
            before, where = said.setdefault(key, (value, sitting.where))
            if before != value:
                raise DataError(
                    f"{sitting.where}: {sitting.subject!r} has {name} {value!r}, and {before!r} in "
                    f"{where}; have two subjects one code?"
                )


def responses_of(sittings: Iterable[Sitting]) -> tuple[Response, ...]:
    """Return the answers as responses with the purpose "test", in the order of the sheets.

    X is a response without a choice that is ambiguous; an empty answer is none.
    """
    return tuple(
        Response(
            item.problem_id,
            sitting.subject,
            "test",
            item.option(given.letter),
            ambiguous=given.letter == AMBIGUOUS,
            shown=item.shown,
            seconds=given.seconds,
        )
        for sitting in sittings
        for item in sitting.sheet.items
        if (given := sitting.answers.get(item.number)) is not None
    )
