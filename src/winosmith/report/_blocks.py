"""What a page is made of: sections, and in them paragraphs, key figures, tables, figures, passages.

All hold plain text and numbers; the page escapes every one of them. The only markup that enters a
page unescaped is what `winosmith.report` itself drew (`Svg`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Literal

from winosmith.report._families import Families
from winosmith.report._signature import Signature
from winosmith.report._svg import Svg
from winosmith.report._text import Value

__all__ = [
    "Block",
    "Cards",
    "Code",
    "Column",
    "Drawing",
    "KeyFigure",
    "Part",
    "Passage",
    "Passages",
    "Section",
    "Table",
    "Text",
]


@dataclass(frozen=True)
class Text:
    """One or more paragraphs.

    Attributes:
        paragraphs: plain text each.
        kind: "plain"; "note" and "warning" stand in a box of their own.
    """

    paragraphs: Sequence[str]
    kind: Literal["plain", "note", "warning"] = "plain"
    block: ClassVar = "text"


@dataclass(frozen=True)
class KeyFigure:
    """One figure that matters: "12,282 problems kept", with a line of context.

    Attributes:
        label: what it is.
        value: a number or text; `form` is its format specification (`shown`).
        note: a line under it: its null, its interval, what to compare it with.
    """

    label: str
    value: Value
    note: str = ""
    form: str = ""


@dataclass(frozen=True)
class Cards:
    """Key figures side by side."""

    figures: Sequence[KeyFigure]
    block: ClassVar = "cards"


@dataclass(frozen=True)
class Column:
    """A column's heading, and how its numbers are printed.

    Attributes:
        title: the heading.
        form: a format specification such as ".1%"; by default whole numbers have commas and
            others three decimals.
        numeric: align right even where cells are text ("0.12 (0.10–0.14)").
    """

    title: str
    form: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    Attributes:
        caption: what it shows.
        columns: headings; a text stands for a `Column` of that title.
        rows: the cells of each row, as many as columns; None prints as "—".
        note: small print under the table.
    """

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    block: ClassVar = "table"

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns; one that holds nothing but numbers is `numeric`."""
        return tuple(
            replace(column, numeric=column.numeric or _numbers([row[at] for row in self.rows]))
            for at, column in enumerate(
                Column(head) if isinstance(head, str) else head for head in self.columns
            )
        )


def _numbers(cells: Sequence[object]) -> bool:
    there = [cell for cell in cells if cell is not None]
    return bool(there) and all(
        isinstance(cell, Real) and not isinstance(cell, bool) for cell in there
    )


@dataclass(frozen=True)
class Drawing:
    """One drawing, or small multiples, with a caption.

    Attributes:
        caption: what to see in it.
        panels: they stand side by side where there is room, and one under the other on a phone.
        table: the figures behind it, folded away; None without.
        signature: what determines the figures.
    """

    caption: str
    panels: Sequence[Svg]
    table: Table | None = None
    signature: Signature | str = ""
    block: ClassVar = "drawing"


@dataclass(frozen=True)
class Part:
    """A piece of a passage: plain, or marked as pointing toward the answer or away from it."""

    text: str
    mark: Literal["", "toward", "away"] = ""


@dataclass(frozen=True)
class Passage:
    """A problem as the report shows it.

    Attributes:
        parts: put together, they are the sentence.
        options: its options.
        answer: the index of the right one; None hides it.
        status: what became of it ("removed in phase 3").
        kept: True, False, or None where the question does not arise; colours the status.
        clues: what the marks rest on, a line each.
    """

    parts: Sequence[Part]
    options: Sequence[str]
    answer: int | None = None
    status: str = ""
    kept: bool | None = None
    clues: Sequence[str] = ()


@dataclass(frozen=True)
class Passages:
    """Problems, grouped: the halves of a twin stand together.

    Attributes:
        title: the heading over them.
        groups: the passages of each group.
        note: small print under the heading; by default what the marks mean.
    """

    title: str
    groups: Sequence[Sequence[Passage]]
    note: str = "Words marked + point to the answer, words marked − away from it."
    block: ClassVar = "passages"


@dataclass(frozen=True)
class Code:
    """Text that stands as it is, such as a recipe; `caption` names it."""

    text: str
    caption: str
    block: ClassVar = "code"


Block = Text | Cards | Table | Drawing | Passages | Code | Families


@dataclass(frozen=True)
class Section:
    """A chapter of the page: its heading, a sentence that says what was found, and its blocks."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""
