"""A record with its place: `Row`, `Place`."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")


class Place(NamedTuple):
    """The place of a record.

    Attributes:
        path: the file, or "<DataFrame>" for a table in memory.
        number: the 1-based number of its first line in a text, of the row in a table.
        unit: of `number`.
        start: where the record begins in the decoded text, in characters from 0; None in a table.
        end: its end there, excluded.

    >>> str(Place("quiz.jsonl", 12)), str(Place("<DataFrame>", 3, "row"))
    ('quiz.jsonl:12', '<DataFrame>, row 3')
    """

    path: str
    number: int
    unit: Literal["line", "row"] = "line"
    start: int | None = None
    end: int | None = None

    @property
    def inside(self) -> str:
        """The place without the file: "line 12", "row 3"."""
        return f"{self.unit} {self.number}"

    def __str__(self) -> str:
        between = ":" if self.unit == "line" else ", row "
        return f"{self.path}{between}{self.number}"


class Row(NamedTuple, Generic[T]):
    """A record of a container.

    Attributes:
        place: where it is.
        raw: its own text, for setting it aside.
        values: its values by name, an element of XML, or the lines of a block; None if
            it can't be read.
        reason: why it can't be read; None if it can.
    """

    place: Place
    raw: str
    values: T | None
    reason: str | None = None

    def with_values(self, values: Any) -> Row[Any]:
        """Return the row with other values."""
        return self._replace(values=values)
