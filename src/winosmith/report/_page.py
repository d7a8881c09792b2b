"""The parts of a report, and the page: one self-contained HTML file without scripts.

Sections contain paragraphs, key figures, tables, charts and problems. A page shows all of them, a
terminal only paragraphs and tables. Parts contain plain text and numbers, which the page escapes.
Only SVG drawn by `winosmith.report` itself is inserted unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

from winosmith.escape import for_page
from winosmith.report._svg import Svg
from winosmith.report._text import Signature, Value, shown
from winosmith.text import Change


@dataclass(frozen=True)
class Text:
    """One or more paragraphs.

    Attributes:
        paragraphs: plain text.
        kind: "plain"; "note" and "warning" are boxes; "list" has one item per paragraph.
    """

    paragraphs: Sequence[str]
    kind: Literal["plain", "note", "warning", "list"] = "plain"
    block: ClassVar = "text"


@dataclass(frozen=True)
class KeyFigure:
    """A key figure with a line of context: "12,282 problems kept".

    Attributes:
        label: its label.
        value: a number or text; `form` is its format specification (`shown`).
        note: a line below: its null, its interval or a comparison.
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
    """A column's heading and number format.

    Attributes:
        title: the heading.
        form: a format specification such as ".1%"; by default whole numbers have commas and
            others three decimals.
        numeric: whether to align cells right even if they are text ("0.12 (0.10–0.14)").
    """

    title: str
    form: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    Attributes:
        caption: caption of the table.
        columns: the columns; a text is short for a `Column` with this title.
        rows: the cells of each row, one per column; None is shown as "—" on a page and as nothing
            on a terminal. Names that start with two spaces belong to the row above.
        note: a note below the table.
        most: maximum number of rows on a terminal; None for all, as on a page.
        beyond: sentence on a terminal about further rows; braces are replaced by their number.
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
        """The rows with full names instead of indented ones, for pages."""
        above, rows = "", []
        for name, *cells in self.rows:
            under = isinstance(name, str) and name.startswith("  ")
            above = above if under else str(name)
            rows.append([f"{above}: {str(name).strip()}" if under else name, *cells])
        return rows

    @property
    def heads(self) -> tuple[Column, ...]:
        """The columns; columns that contain only numbers are `numeric`."""
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
    """One chart, or small multiples, with a caption.

    Attributes:
        caption: the caption.
        panels: the charts, side by side if there is room; or a function that returns them, so that
            a terminal need not wait for it.
        table: the chart's numbers, collapsed on a page; None without a table.
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
    """A piece of a passage: plain, or marked as evidence for or against the answer."""

    text: str
    mark: Literal["", "toward", "away"] = ""


@dataclass(frozen=True)
class Passage:
    """A problem in a report.

    Attributes:
        parts: the pieces of the sentence.
        options: the options.
        answer: the index of the correct option; None hides it.
        status: its status ("removed in phase 3").
        kept: True, False, or None if not applicable; determines the colour of the status.
        clues: the reasons for the marks, one line each.
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
        title: the heading.
        groups: the passages of each group.
        note: a note under the heading; by default the meaning of the marks.
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


SMALL = 12
"""Families up to this size are shown in full; in larger ones, correct branches are collapsed."""

FEWEST = 3
"""Minimum number of versions to collapse."""

_HEIGHTS = {True: "5", None: "7.5", False: "10"}

DEEPEST = 8
"""Maximum indentation level, so that long lineages stay legible."""


@dataclass(frozen=True)
class Version:
    """A problem in its family.

    Attributes:
        changes: the pieces of the sentence and the removed pieces of its parent's.
        answer: the correct option.
        depth: its distance from the root; None if unknown.
        right: whether each solver is correct; None for a tie.
        parent: the index of its parent among the versions; None for the root, and if the parent is
            missing.
    """

    changes: Sequence[Change]
    answer: str
    depth: int | None
    right: Sequence[bool | None]
    parent: int | None = None


@dataclass(frozen=True)
class Segment:
    """Consecutive rows (level, version); collapsed if all of them are correct."""

    rows: Sequence[tuple[int, Version]]
    folded: bool = False


@dataclass(frozen=True)
class Family:
    """A root and its versions.

    Attributes:
        name: the root's sentence or its start.
        versions: the versions, in the order of the data.
    """

    name: str
    versions: Sequence[Version]

    def wrong(self, solver: int) -> int:
        """Return the number of versions on which a solver is incorrect."""
        return sum(version.right[solver] is False for version in self.versions)

    def ties(self, solver: int) -> int:
        """Return the number of versions with a tie of a solver."""
        return sum(version.right[solver] is None for version in self.versions)

    def strip(self, solver: int) -> tuple[str, str, str]:
        """Return three SVG paths: bars for correct, incorrect and tied versions, by depth.

        Bars are 4 wide, at intervals of 5; correct ones are 5 high, ties 7.5, incorrect ones 10.
        """
        order = sorted(self.versions, key=lambda v: (v.depth is None, v.depth or 0))
        bars: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for place, version in enumerate(order):
            right = version.right[solver]
            high = _HEIGHTS[right]
            bars[right].append(f"M{5 * place} 10v-{high}h4v{high}z")
        return "".join(bars[True]), "".join(bars[False]), "".join(bars[None])

    @cached_property
    def segments(self) -> list[Segment]:
        """The versions, each after its parent, in segments to show or collapse."""
        children: dict[int | None, list[int]] = {}
        for place, version in enumerate(self.versions):
            children.setdefault(version.parent, []).append(place)
        fine = self._fine(children) if len(self.versions) > SMALL else set()
        runs = [
            (folded, [(min(level, DEEPEST), self.versions[place]) for _, level, place in run])
            for folded, run in groupby(_walk(children, fine), key=lambda step: step[0])
        ]
        return [Segment(rows, folded and len(rows) >= FEWEST) for folded, rows in runs]

    def _fine(self, children: dict[int | None, list[int]]) -> set[int]:
        """Return the versions in whose subtree every solver is correct on every version."""
        order = [place for _, _, place in _walk(children, set())]
        fine: set[int] = set()
        for place in reversed(order):
            if all(self.versions[place].right) and fine.issuperset(children.get(place, ())):
                fine.add(place)
        return fine


def _walk(children: dict[int | None, list[int]], fine: set[int]) -> Iterator[tuple[bool, int, int]]:
    """Yield (collapsed, level, index) from the roots down; collapsed ones follow their siblings."""
    roots = children.get(None, [])
    waiting = [(False, 0, place) for place in reversed(roots)]
    while waiting:
        folded, level, place = waiting.pop()
        yield folded, level, place
        below = children.get(place, [])
        last = [] if folded else [child for child in below if child in fine]
        first = [child for child in below if folded or child not in fine]
        waiting += [(True, level + 1, child) for child in reversed(last)]
        waiting += [(folded, level + 1, child) for child in reversed(first)]


@dataclass(frozen=True)
class Families:
    """Families, each collapsed under its root.

    Attributes:
        title: the heading.
        solvers: the names of the solvers, in the order of `Version.right`.
        families: the families, in order.
        note: a note under the heading.
    """

    title: str
    solvers: Sequence[str]
    families: Sequence[Family]
    note: str = ""
    block: ClassVar = "families"

    @property
    def letters(self) -> Sequence[str]:
        """A letter for each solver, from A; none for a single solver."""
        several = len(self.solvers) > 1
        return [chr(ord("A") + at) if several else "" for at in range(len(self.solvers))]


@dataclass(frozen=True)
class OnPage:
    """Blocks that only a page shows.

    Attributes:
        make: a function that returns the blocks, which is called when the page is made.
    """

    make: Callable[[], Sequence[Block]]
    block: ClassVar = "page"


Block = Text | Cards | Table | Drawing | Passages | Code | Families | OnPage


@dataclass(frozen=True)
class Section:
    """A section of a page: its heading, a sentence with the result, and its blocks."""

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
    """Return a complete HTML page.

    Equal input gives equal text. The page has no scripts, and its content security policy forbids
    loading anything. It supports phones, dark mode and print; every chart has a title and a
    description, and every table a caption.

    Args:
        title: the heading.
        sections: the sections, in order; a page with three or more has a table of contents.
        subtitle: a sentence under the heading.
        signature: the parameters that determine the page's numbers.
        footer: the last line.
        language: a BCP 47 language tag.

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
    """Return blocks as an HTML fragment, for notebooks."""
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
    """Return a text without the backticks around parameters, such as `out=`, for pages."""
    return re.sub(r"`(\w+=\w*)`", r"\1", text)


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return an anchor for each title: its letters and digits, and a number if titles are equal."""
    anchors: list[str] = []
    for title in titles:
        base = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
        anchor, number = base, 1
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.append(anchor)
    return anchors
