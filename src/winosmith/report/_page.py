"""The parts of a report, and the page: one HTML file without network, script or other files.

Sections hold paragraphs, key numbers, tables, drawings and problems. A page shows all of it, a
terminal the paragraphs and tables. All hold plain text and numbers; the page escapes every one. The
only markup that enters a page unescaped is what `winosmith.report` itself drew (`Svg`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

from winosmith.escape import for_page
from winosmith.report._svg import Svg
from winosmith.report._text import Signature, Value, shown


@dataclass(frozen=True)
class Text:
    """One or more paragraphs.

    Attributes:
        paragraphs: plain text each.
        kind: "plain"; "note" and "warning" are in a box of their own; "list" has a point for
            each paragraph.
    """

    paragraphs: Sequence[str]
    kind: Literal["plain", "note", "warning", "list"] = "plain"
    block: ClassVar = "text"


@dataclass(frozen=True)
class KeyFigure:
    """One important number: "12,282 problems kept", with a line of context.

    Attributes:
        label: its name.
        value: a number or text; `form` is its format specification (`shown`).
        note: a line under it: its null, its interval, or a comparison.
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
        numeric: align right even if cells are text ("0.12 (0.10–0.14)").
    """

    title: str
    form: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    Attributes:
        caption: of the table.
        columns: headings; a text stands for a `Column` of that title.
        rows: the cells of each row, as many as columns; None prints as "—" on a page, and as
            nothing on a terminal. A name that begins with two spaces belongs to the row above.
        note: small print under the table.
        most: number of rows on a terminal; None for all, as on a page.
        beyond: sentence on a terminal about further rows; the braces become their number.
    """

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    most: int | None = None
    beyond: str = "More rows in the report (`out=`): {:,}."
    block: ClassVar = "table"

    @property
    def spelled(self) -> list[list[Value]]:
        """The rows with their indented names in full, since a page does not indent."""
        above, rows = "", []
        for name, *cells in self.rows:
            under = isinstance(name, str) and name.startswith("  ")
            above = above if under else str(name)
            rows.append([f"{above}: {str(name).strip()}" if under else name, *cells])
        return rows

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns; a column with only numbers is `numeric`."""
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
        caption: its description.
        panels: side by side if there is room, and below each other on a phone; or a function that
            returns them, so that a terminal need not wait for it.
        table: the numbers behind it, folded away on a page; None without.
        signature: the parameters that determine the numbers.
    """

    caption: str
    panels: Sequence[Svg] | Callable[[], Sequence[Svg]]
    table: Table | None = None
    signature: Signature | str = ""
    block: ClassVar = "drawing"

    @property
    def drawn(self) -> Sequence[Svg]:
        """The panels."""
        return self.panels() if callable(self.panels) else self.panels


@dataclass(frozen=True)
class Part:
    """A piece of a passage: plain, or marked as pointing toward the answer or away from it."""

    text: str
    mark: Literal["", "toward", "away"] = ""


@dataclass(frozen=True)
class Passage:
    """A problem as the report shows it.

    Attributes:
        parts: joined, they are the sentence.
        options: its options.
        answer: the index of the correct one; None hides it.
        status: its fate ("removed in phase 3").
        kept: True, False, or None if the question does not arise; colours the status.
        clues: the reasons for the marks, a line each.
    """

    parts: Sequence[Part]
    options: Sequence[str]
    answer: int | None = None
    status: str = ""
    kept: bool | None = None
    clues: Sequence[str] = ()


@dataclass(frozen=True)
class Passages:
    """Problems in groups: the halves of a twin are together.

    Attributes:
        title: the heading over them.
        groups: the passages of each group.
        note: small print under the heading; by default the meaning of the marks.
    """

    title: str
    groups: Sequence[Sequence[Passage]]
    note: str = "Words marked + point to the answer, words marked − away from it."
    block: ClassVar = "passages"


@dataclass(frozen=True)
class Code:
    """Preformatted text, such as a recipe; `caption` names it."""

    text: str
    caption: str
    block: ClassVar = "code"


@dataclass(frozen=True)
class OnPage:
    """Blocks that only a page shows, made together with it.

    Attributes:
        make: a function that returns them.
    """

    make: Callable[[], Sequence[Block]]
    block: ClassVar = "page"


Block = Text | Cards | Table | Drawing | Passages | Code | OnPage


@dataclass(frozen=True)
class Section:
    """A chapter of the page: its heading, a sentence with the finding, and its blocks."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""


if TYPE_CHECKING:
    from jinja2 import Template


def page(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    signature: Signature | str = "",
    footer: str = "",
    language: str = "en",
) -> str:
    """Return a whole HTML page.

    It is the same text for the same input; holds no script, and a content security policy that
    forbids the browser to load anything; reads well on a desktop, a phone, in the dark and in
    print; every figure has a name and a description, every table a caption.

    Args:
        title: the heading.
        sections: the chapters, in order; with three or more the page begins with their list.
        subtitle: a sentence under the heading.
        signature: the parameters that determine the numbers of the page.
        footer: the last line.
        language: a BCP 47 tag.

    >>> page("A <title>", []).count("A &lt;title&gt;")
    2
    """
    return _template("page.html.j2").render(
        title=title,
        subtitle=subtitle,
        signature=signature,
        sections=sections,
        anchors=_anchors([section.title for section in sections]),
        footer=footer,
        language=language if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", language) else "en",
    )


def fragment(blocks: Sequence[Block]) -> str:
    """Return blocks as HTML without a page around them, for a notebook."""
    show = _template("blocks.html.j2").module.show  # type: ignore[attr-defined]
    return "\n".join(show(block, f"-{number}") for number, block in enumerate(blocks))


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("winosmith.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else for_page(value),
    )
    environment.filters["shown"] = shown
    environment.filters["prose"] = _prose
    environment.filters["inline"] = lambda svg, key: Markup(svg.inline(key))  # noqa: S704 - ours
    return environment.get_template(name)


def _prose(text: str) -> str:
    """Return a text without the marks around parameters, such as `out=`, for a terminal."""
    return re.sub(r"`(\w+=\w*)`", r"\1", text)


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return an id for each title: its letters and digits, and a number if two are equal."""
    anchors: list[str] = []
    for title in titles:
        base = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
        anchor, number = base, 1
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.append(anchor)
    return anchors
