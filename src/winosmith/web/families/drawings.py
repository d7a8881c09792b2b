"""The drawings of `winosmith.report` for a page on which no style may stand in an element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import tostring

from winosmith.metrics import stability_drawings

if TYPE_CHECKING:
    from winosmith.metrics import Stability

__all__ = ["drawings", "without_styles"]


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
