"""Stability as drawings: survival beside accuracy by depth, for a report and for a site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from winosmith import report
from winosmith.metrics._stability import Stability

__all__ = ["FEWEST", "stability_drawings"]

FEWEST = 5
"""Depths with fewer problems are not drawn: their accuracy says nothing; tables have them."""


def stability_drawings(found: Mapping[str, Stability]) -> Iterator[list[report.Svg]]:
    """Yield the drawings of a few solvers at a time, as many as can be told apart.

    Each time the survival of families without an error, and, unless it is withheld from all of
    them, accuracy at each depth with `FEWEST` problems or more, roots at 0.

    Args:
        found: of each solver by its name, all by one way of counting depths.
    """
    rest = iter(found.items())
    while some := dict(islice(rest, report.ALONG)):
        panels = [report.survival({name: _survival(of) for name, of in some.items()})]
        told = {name: of for name, of in some.items() if of.by_depth}
        if told:
            panels.append(_accuracy(told))
        yield panels


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
