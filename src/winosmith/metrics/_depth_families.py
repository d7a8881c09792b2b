"""The perturbed problems of a data set, family by family, with their depths and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.lineage import Depths, depths
from winosmith.metrics._depth import error_depth
from winosmith.metrics._graded import Graded
from winosmith.problem import Problem

__all__ = ["DEPTHS", "DepthKind", "Families", "Family", "families_of"]

DepthKind = Literal["declared", "lineage", "edit"]
DEPTHS: tuple[DepthKind, ...] = ("declared", "lineage", "edit")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Family:
    """What a solver made of one family.

    Attributes:
        root: the id of its root.
        cluster: the number of its cluster; families of twins and copies share one.
        root_right: whether the root was answered rightly; None when it is not in the data.
        root_chance: the probability of guessing the root rightly; 1 when it is not in the data.
        depths: of its perturbed problems whose depth is known, (n,).
        wrong: whether each of them was answered wrongly, (n,).
        chance: the probability of guessing each rightly, (n,).
    """

    root: str
    cluster: int
    root_right: bool | None
    root_chance: float
    depths: Ints
    wrong: npt.NDArray[np.bool_]
    chance: npt.NDArray[np.float64]

    @property
    def mean(self) -> float | None:
        """The mean depth of its errors; None without any."""
        return error_depth(self.depths, self.wrong, "mean")

    @property
    def first(self) -> float | None:
        """The least depth of its errors; None without any."""
        return error_depth(self.depths, self.wrong, "first")

    @property
    def lasted(self) -> tuple[int, bool]:
        """The depth of the first error and True, or the greatest depth and False: censored.

        A root that was answered wrongly is an error at depth 0.
        """
        if self.root_right is False:
            return 0, True
        first = self.first
        return (int(self.depths.max()), False) if first is None else (int(first), True)

    @property
    def all_right(self) -> bool:
        """Whether all its problems, the root included where it is here, were answered rightly."""
        return self.root_right is not False and not self.wrong.any()

    def record(self) -> dict[str, Any]:
        """Return the family as JSON can hold it."""
        return {
            "root": self.root,
            "root_right": self.root_right,
            "n": len(self.depths),
            "wrong": int(self.wrong.sum()),
            "mean": self.mean,
            "first": self.first,
            "deepest": int(self.depths.max()),
        }


class Families(NamedTuple):
    """The families of a data set in which something was perturbed.

    Attributes:
        kind: the depth that is used.
        families: those with a perturbed problem whose depth is known.
        unknown: how many perturbed problems are left out because their depth is not known.
    """

    kind: DepthKind
    families: tuple[Family, ...]
    unknown: int


def families_of(graded: Graded, wanted: DepthKind | None = None) -> Families:
    """Return the families of perturbed problems with their depths of one kind.

    Args:
        graded: from `grade`.
        wanted: which depth; when None, the one that most perturbed problems have, and the first
            of declared, lineage and edit where several have as many.

    Raises:
        DataError: nothing is perturbed, the kind is unknown, or no problem has such a depth.
    """
    if wanted is not None and wanted not in DEPTHS:
        raise DataError(f"there is no depth {wanted!r}; take one of {', '.join(DEPTHS)}")
    dataset = graded.dataset
    found = depths(dataset)
    perturbed = [row for row, of in enumerate(found) if _is_perturbed(dataset[row], of)]
    if not perturbed:
        raise DataError(
            "no problem has a lineage, so there is no depth to measure by; perturbed problems "
            "name their root and parent, and the original stands at depth 0"
        )
    known = {
        kind: sum(getattr(found[row], kind) is not None for row in perturbed) for kind in DEPTHS
    }
    most = max(DEPTHS, key=lambda name: known[name])  # of equals, the first
    kind: DepthKind = most if wanted is None else wanted
    if not known[kind]:
        raise DataError(_no_depth(kind, known))
    rows: dict[str, list[int]] = {}
    for row in perturbed:
        if getattr(found[row], kind) is not None:
            rows.setdefault(dataset[row].root, []).append(row)
    place = {problem.id: row for row, problem in enumerate(dataset)}
    families = tuple(
        _family(graded, root, place.get(root), of, [getattr(found[row], kind) for row in of])
        for root, of in rows.items()
    )
    return Families(kind, families, len(perturbed) - known[kind])


def _is_perturbed(problem: Problem, of: Depths) -> bool:
    return problem.lineage is not None or of.lineage is None


def _no_depth(kind: str, known: dict[DepthKind, int]) -> str:
    other = [name for name in DEPTHS if known[name]]
    advice = (
        f"; {' and '.join(f'{known[name]:,} have {name} depth' for name in other)}" if other else ""
    )
    return f"no perturbed problem has a known {kind} depth{advice}"


def _family(graded: Graded, root: str, place: int | None, rows: list[int], of: list[int]) -> Family:
    chance = [1 / len(graded.dataset[row].options) for row in rows]
    if place in rows:  # a cycle, or a problem of which only its depth is known
        place = None
    return Family(
        root,
        int(graded.clusters[rows[0]]),
        None if place is None else bool(graded.correct[place]),
        1.0 if place is None else 1 / len(graded.dataset[place].options),
        np.array(of, dtype=np.int64),
        ~graded.correct[rows],
        np.array(chance),
    )
