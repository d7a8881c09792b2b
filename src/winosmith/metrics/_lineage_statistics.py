"""What the lineages of a data set amount to: families, and how the three depths agree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from winosmith.dataset import Dataset
from winosmith.lineage import UNVALIDATED, Depths, depths, explain

__all__ = ["DepthSummary", "LineageStatistics", "lineage_statistics"]


@dataclass(frozen=True, slots=True)
class DepthSummary:
    """One depth of the perturbed problems.

    Attributes:
        known: of how many problems it is known.
        mean: over them; None where it is known of none.
        greatest: over them, likewise.
        equal: for how many it is the edit depth.
    """

    known: int
    mean: float | None
    greatest: int | None
    equal: int


@dataclass(frozen=True)
class LineageStatistics:
    """The families of a data set.

    Attributes:
        families: with a perturbed problem.
        perturbed: problems with a lineage.
        unvalidated: of these, how many were generated and not yet judged by people.
        largest: problems of the largest family, its root included where it is here.
        depths: "declared", "lineage" and "edit", each over the perturbed problems.
        example: the id of the problem whose depths differ most; None where none differ.
        explained: how its depths come about, in lines; empty without an example.
    """

    families: int
    perturbed: int
    unvalidated: int
    largest: int
    depths: dict[str, DepthSummary]
    example: str | None
    explained: str

    def record(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        return asdict(self)


def lineage_statistics(dataset: Dataset) -> LineageStatistics | None:
    """Count the families of a data set and compare their depths; None where nothing is perturbed.

    >>> from winosmith.testing import made_families
    >>> found = lineage_statistics(made_families([1, 4], [2]))
    >>> found.families, found.perturbed, found.depths["edit"].greatest, found.example
    (2, 3, 4, None)
    """
    rows = [row for row, problem in enumerate(dataset) if problem.lineage]
    if not rows:
        return None
    every = depths(dataset)
    of = [every[row] for row in rows]
    apart = max(rows, key=lambda row: _spread(every[row]))
    differs = _spread(every[apart]) > 0
    roots = {problem.lineage.root for problem in dataset if problem.lineage}
    return LineageStatistics(
        len(roots),
        len(rows),
        sum(bool(dataset[row].extra.get(UNVALIDATED)) for row in rows),
        max(len(dataset.families[root]) for root in roots),
        {name: _summary(of, name) for name in Depths._fields},
        dataset[apart].id if differs else None,
        explain(dataset, apart) if differs else "",
    )


def _summary(of: list[Depths], name: str) -> DepthSummary:
    known = [getattr(one, name) for one in of if getattr(one, name) is not None]
    return DepthSummary(
        len(known),
        sum(known) / len(known) if known else None,
        max(known, default=None),
        sum(one.edit is not None and getattr(one, name) == one.edit for one in of),
    )


def _spread(of: Depths) -> int:
    known = [depth for depth in of if depth is not None]
    return max(known) - min(known) if known else 0
