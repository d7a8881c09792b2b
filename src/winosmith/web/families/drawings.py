"""The drawings of families: accuracy by depth as bars, and those of `winosmith.report`.

No style may stand in an element of a page, and any reader finds the numbers in a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import tostring

from winosmith.metrics import stability_drawings
from winosmith.web.families.figures import AtDepth

if TYPE_CHECKING:
    from winosmith.metrics import Stability


def drawings(found: Mapping[str, Stability]) -> list[str]:
    """Return the survival curves and the accuracies by depth, as SVG for a page.

    Args:
        found: of each model by its name, all by one way of counting depths.
    """
    made = [svg for panels in stability_drawings(found) for svg in panels]
    return [without_styles(svg.inline(f"d{at}")) for at, svg in enumerate(made)]


def without_styles(markup: str) -> str:
    """Return an SVG with the properties of its styles as attributes, which the policy lets pass.

    >>> without_styles('<svg><path style="fill: none; stroke-width: 0.8" /></svg>')
    '<svg><path fill="none" stroke-width="0.8" /></svg>'
    """
    from defusedxml.ElementTree import fromstring

    root = fromstring(markup.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    for element in root.iter():
        for part in element.attrib.pop("style", "").split(";"):
            name, colon, value = part.partition(":")
            if colon:
                element.set(name.strip(), value.strip())
    return tostring(root, encoding="unicode")


WIDTH, HEIGHT = 400, 170
"""Of the drawing; it shrinks to the screen."""

LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 36
"""Around the bars, for the axes."""

MOST = 40
"""Depths that are drawn; the table has all."""

LABELS = 14
"""Depths that have a number under them; of more, some."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One depth: the bar, and what stands under it ("" for nothing)."""

    x: float
    y: float
    width: float
    height: float
    middle: float
    label: str
    few: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing.

    Attributes:
        bars: from the least depth on.
        guessing: the height of the line that guessing reaches; None where it is not known.
        ticks: (height, percent) of the lines across.
        told: the accuracies in words.
    """

    bars: Sequence[Bar]
    guessing: float | None
    ticks: Sequence[tuple[float, int]]
    told: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    end: int = WIDTH - RIGHT
    base: int = HEIGHT - BOTTOM
    middle: float = (WIDTH - RIGHT + LEFT) / 2


FEW = 5
"""Fewer versions than this say little: their bars are pale."""


def chart(rows: Sequence[AtDepth], chance: float | None) -> Chart | None:
    """Return the drawing of accuracies by depth; None where there is nothing to draw.

    Args:
        rows: from the least depth on.
        chance: what guessing gives, 0–1.
    """
    shown = rows[:MOST]
    if not shown:
        return None
    slot = (WIDTH - LEFT - RIGHT) / len(shown)
    width = round(min(0.72 * slot, 34), 2)
    every = -(-len(shown) // LABELS)
    bars = [
        _bar(row, LEFT + slot * (at + 0.5), width, label=at % every == 0)
        for at, row in enumerate(shown)
    ]
    told = ", ".join(f"{row.percent:.0f} % ({row.right}/{row.n}) · {row.depth}" for row in shown)
    ticks = [(_height(percent / 100), percent) for percent in (0, 50, 100)]
    return Chart(bars, None if chance is None else _height(chance), ticks, told)


def _bar(row: AtDepth, middle: float, width: float, *, label: bool) -> Bar:
    top = _height(row.right / row.n)
    return Bar(
        round(middle - width / 2, 2),
        top,
        width,
        round(HEIGHT - BOTTOM - top, 2),
        round(middle, 2),
        str(row.depth) if label else "",
        row.n < FEW,
    )


def _height(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 2)
