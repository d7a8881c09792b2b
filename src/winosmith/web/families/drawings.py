"""The drawings of `winosmith.report` for a page on which no style may stand in an element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING
from xml.etree.ElementTree import tostring

from winosmith import report

if TYPE_CHECKING:
    from winosmith.metrics import Stability

__all__ = ["drawings", "without_styles"]

FEWEST = 5
"""Depths with fewer problems are not drawn: their accuracy says nothing; the table has them."""


def drawings(found: Mapping[str, Stability]) -> list[str]:
    """Return the survival curves and the accuracies by depth, as SVG for a page.

    Args:
        found: of each model by its name, all by one way of counting depths.
    """
    made = []
    for some in _in_groups(found):
        made.append(report.survival({name: _survival(of) for name, of in some.items()}))
        told = {name: of for name, of in some.items() if of.by_depth}
        if told:
            made.append(_accuracy(told))
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


def _in_groups(found: Mapping[str, Stability]) -> Iterator[dict[str, Stability]]:
    rest = iter(found.items())
    while some := dict(islice(rest, report.ALONG)):
        yield some


def _survival(of: Stability) -> report.Along:
    """Return the curve from depth 0 on, where all families are still without an error."""
    curve = of.survival
    before = [] if curve.depths[0] == 0 else [0]
    whole = [1.0] * len(before)
    return report.Along(
        [*before, *curve.depths],
        [*whole, *curve.share],
        [*whole, *(low for low, _ in curve.intervals)],
        [*whole, *(high for _, high in curve.intervals)],
        [at for at, ended in zip(curve.depths, curve.censored, strict=True) if ended],
    )


def _accuracy(found: Mapping[str, Stability]) -> report.Svg:
    lines, counts = {}, {}
    for name, of in found.items():
        by_depth = {depth: one for depth, one in (of.by_depth or {}).items() if one.n >= FEWEST}
        if of.roots and 0 not in by_depth:
            by_depth = {0: of.roots, **by_depth}
        lines[name] = report.Along(
            list(by_depth),
            [one.value for one in by_depth.values()],
            [one.interval[0] for one in by_depth.values()],
            [one.interval[1] for one in by_depth.values()],
        )
        counts.update({depth: one.n for depth, one in by_depth.items()})
    first = next(iter(found.values())).accuracy
    return report.depth_accuracy(
        lines, sorted(counts.items()), chance=first.chance if first else None
    )
