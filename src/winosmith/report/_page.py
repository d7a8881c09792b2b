"""The blocks of a report, and its page: a self-contained HTML file without scripts.

Sections contain paragraphs, key figures, tables, charts and problems. A page shows all blocks; a
terminal shows only paragraphs and tables. Blocks contain plain text and numbers, which the page
escapes. Only SVG that `winosmith.report` has drawn is inserted unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

from winosmith.escape import escape_page
from winosmith.report._svg import Svg
from winosmith.report._text import Signature, Value, format_value


@dataclass(frozen=True)
class Text:
    """A block of one or more paragraphs.

    Attributes:
        paragraphs: The plain text of each paragraph.
        kind: "plain" for paragraphs, "note" or "warning" for a box, "list" for a list.
    """

    paragraphs: Sequence[str]
    kind: Literal["plain", "note", "warning", "list"] = "plain"
    block: ClassVar = "text"


@dataclass(frozen=True)
class KeyFigure:
    """A key figure with a line of context: "12,282 problems kept".

    Attributes:
        label: The label.
        value: The number or text.
        note: A line below the figure, such as its interval or a comparison.
        form: The format specification of a number; see `format_value`.
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
    """The heading and number format of a column.

    Attributes:
        title: The heading.
        form: A format specification such as ".1%"; see `format_value` for the default.
        numeric: Whether to right-align cells even if they contain text ("0.12 (0.10–0.14)").
    """

    title: str
    form: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    Attributes:
        caption: The caption of the table.
        columns: The columns; a string is the title of a `Column` with default settings.
        rows: The cells of each row, one per column. None is shown as "—" on a page and as an empty
            cell on a terminal. A name that starts with two spaces belongs to the row above.
        note: A note below the table.
        most: The maximum number of rows on a terminal; None for all rows, as on a page.
        beyond: The sentence about the rows omitted on a terminal, in which `{}` is their number.
    """

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    most: int | None = None
    beyond: str = "More rows in the report (`out=`): {:,}."
    block: ClassVar = "table"

    @property
    def rows_with_parents(self) -> list[list[Value]]:
        """The rows as shown on pages: the parent row's name precedes each indented name."""
        above, rows = "", []
        for name, *cells in self.rows:
            under = isinstance(name, str) and name.startswith("  ")
            above = above if under else str(name)
            rows.append([f"{above}: {str(name).strip()}" if under else name, *cells])
        return rows

    @property
    def headings(self) -> tuple[Column, ...]:
        """The column headings; a column that contains only numbers is marked as `numeric`."""
        headings = []
        for at, head in enumerate(self.columns):
            column = Column(head) if isinstance(head, str) else head
            kinds = {type(row[at]) for row in self.rows if row[at] is not None}
            are_numbers = all(issubclass(kind, Real) and kind is not bool for kind in kinds)
            numeric = column.numeric or (bool(kinds) and are_numbers)
            headings.append(replace(column, numeric=numeric))
        return tuple(headings)


@dataclass(frozen=True)
class Drawing:
    """A figure with one or more charts and a caption.

    Attributes:
        caption: The caption.
        panels: The charts, side by side if there is room; or a function that draws them on demand.
        table: The numbers in the chart, which a page shows as a collapsed table; None for no table.
        signature: The parameters that determine the numbers.
    """

    caption: str
    panels: Sequence[Svg] | Callable[[], Sequence[Svg]]
    table: Table | None = None
    signature: Signature | str = ""
    block: ClassVar = "drawing"

    @property
    def charts(self) -> Sequence[Svg]:
        """The charts, drawn on demand if `panels` is a function."""
        return self.panels() if callable(self.panels) else self.panels


@dataclass(frozen=True)
class Part:
    """A part of a sentence, plain or marked as evidence for ("toward") or against the answer."""

    text: str
    mark: Literal["", "toward", "away"] = ""


@dataclass(frozen=True)
class Passage:
    """A problem shown in a report.

    Attributes:
        parts: The parts of the sentence.
        options: The options.
        answer: The index of the correct option; None to hide it.
        status: The status of the problem ("removed in phase 3").
        kept: Whether the problem was kept, which determines the colour; None if not applicable.
        clues: The reasons for the marks, one line each.
    """

    parts: Sequence[Part]
    options: Sequence[str]
    answer: int | None = None
    status: str = ""
    kept: bool | None = None
    clues: Sequence[str] = ()


@dataclass(frozen=True)
class Passages:
    """Problems in groups, such as the halves of a twin.

    Attributes:
        title: The heading.
        groups: The passages of each group.
        note: A note below the heading; by default an explanation of the marks.
    """

    title: str
    groups: Sequence[Sequence[Passage]]
    note: str = "Words marked + point to the answer, words marked − away from it."
    block: ClassVar = "passages"


@dataclass(frozen=True)
class Code:
    """Preformatted text with a caption, such as a recipe."""

    text: str
    caption: str
    block: ClassVar = "code"


@dataclass(frozen=True)
class PageOnly:
    """Blocks that are shown on a page but not on a terminal.

    Attributes:
        make: A function that returns the blocks; it is called when the page is made.
    """

    make: Callable[[], Sequence[Block]]
    block: ClassVar = "page"


Block = Text | Cards | Table | Drawing | Passages | Code | PageOnly


@dataclass(frozen=True)
class Section:
    """A section of a page: a heading, a lead sentence that states the result, and blocks."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""


if TYPE_CHECKING:
    from jinja2 import Template


def render_page(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    signature: Signature | str = "",
    footer: str = "",
    language: str = "en",
) -> str:
    """Render a complete HTML page.

    The same input always gives the same page. The page has no scripts, and its content security
    policy forbids loading anything. The page supports phones, dark mode and printing. Every chart
    has a title and a description, and every table has a caption.

    Args:
        title: The heading.
        sections: The sections, in order; a page with three or more has a table of contents.
        subtitle: A sentence under the heading.
        signature: The parameters that determine the page's numbers.
        footer: The last line of the page.
        language: A BCP 47 language tag.

    >>> render_page("A <title>", []).count("A &lt;title&gt;")
    2
    """
    return _load_template("page.html.j2").render(
        title=title,
        subtitle=subtitle,
        signature=signature,
        sections=sections,
        anchors=_make_anchors([section.title for section in sections]),
        footer=footer,
        language=language if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", language) else "en",
    )


def render_fragment(blocks: Sequence[Block]) -> str:
    """Render blocks as an HTML fragment, for notebooks."""
    show = _load_template("blocks.html.j2").module.show  # type: ignore[attr-defined]
    return "\n".join(show(block, f"-{number}") for number, block in enumerate(blocks))


@cache
def _load_template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("winosmith.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else escape_page(value),
    )
    environment.filters["shown"] = format_value
    environment.filters["prose"] = lambda text: re.sub(r"`(\w+=\w*)`", r"\1", text)
    environment.filters["inline"] = lambda svg, key: Markup(svg.inline(key))  # noqa: S704 - ours
    return environment.get_template(name)


def _make_anchors(titles: Sequence[str]) -> list[str]:
    anchors: list[str] = []
    for title in titles:
        base = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
        anchor, number = base, 1
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.append(anchor)
    return anchors
