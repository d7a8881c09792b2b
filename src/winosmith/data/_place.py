"""Records (`Row`) and their locations (`Place`)."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")


class Place(NamedTuple):
    """The location of a record: a file with a line or row number, and offsets in its text.

    Attributes:
        path: the file's path, or "<DataFrame>" for a table in memory.
        number: the 1-based number of the record's first line in a text, or of its row in a table.
        unit: the unit of `number`.
        start: the 0-based offset of the record in the decoded text; None in a table.
        end: the offset of the record's end (exclusive).

    >>> str(Place("quiz.jsonl", 12)), str(Place("<DataFrame>", 3, "row"))
    ('quiz.jsonl:12', '<DataFrame>, row 3')
    """

    path: str
    number: int
    unit: Literal["line", "row"] = "line"
    start: int | None = None
    end: int | None = None

    @property
    def position(self) -> str:
        return f"{self.unit} {self.number}"

    def __str__(self) -> str:
        between = ":" if self.unit == "line" else ", row "
        return f"{self.path}{between}{self.number}"


class Row(NamedTuple, Generic[T]):
    """A record of a file or table.

    Attributes:
        raw: the record's text, which is written to the file of bad records.
        values: the values by name, an XML element, or the lines of a block; None if unreadable.
        reason: why the record can't be read; None if it can be read.
    """

    place: Place
    raw: str
    values: T | None
    reason: str | None = None
