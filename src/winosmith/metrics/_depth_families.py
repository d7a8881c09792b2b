"""The perturbed problems of a data set, family by family, with their depths and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.lineage import Depths, depths
from winosmith.metrics._depth import error_depth, without_errors
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import counted
from winosmith.problem import Problem

__all__ = ["DEPTHS", "DepthKind", "Families", "Family", "families_of"]

DepthKind = Literal["declared", "lineage", "edit"]
DEPTHS: tuple[DepthKind, ...] = ("declared", "lineage", "edit")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Ending(NamedTuple):
    """How a family ends: the depth, whether with an error, and how probable that is, 0–1."""

    depth: int
    failed: bool
    weight: float


@dataclass(frozen=True)
class Family:
    """What a solver made of one family.

    Attributes:
        root: the id of its root.
        cluster: the number of its cluster; families of twins and copies share one.
        root_credit: what the root's answer is worth, 0–1; None when it is not in the data.
        root_tied: whether that is a tie.
        root_chance: the probability of guessing the root rightly; 1 when it is not in the data.
        depths: of its perturbed problems whose depth is known, (n,).
        wrong: whether each of them was answered wrongly, (n,): 0 or 1, and between them for a tie,
            the probability that a fair draw of what is tied is wrong.
        tied: whether each is a tie, (n,).
        chance: the probability of guessing each rightly, (n,).
    """

    root: str
    cluster: int
    root_credit: float | None
    root_tied: bool
    root_chance: float
    depths: Ints
    wrong: Floats
    tied: npt.NDArray[np.bool_]
    chance: Floats

    @property
    def mean(self) -> float | None:
        """The mean depth of its errors; None without any."""
        return error_depth(self.depths, self.wrong, "mean")

    @property
    def first(self) -> float | None:
        """The least depth of its errors, with ties expected; None without any."""
        return error_depth(self.depths, self.wrong, "first")

    @property
    def lasted(self) -> tuple[Ending, ...]:
        """How far it gets: an error at its first one, or the greatest depth without: censored.

        A root that was answered wrongly is an error at depth 0. Without ties there is one ending,
        of the weight 1; with them several, with how probable each is.
        """
        root = 0.0 if self.root_credit is None else 1 - self.root_credit
        levels, fine = without_errors(self.depths, self.wrong)
        before = (1 - root) * np.concatenate([[1.0], np.cumprod(fine)])
        ends = [Ending(0, True, root)]
        ends += [
            Ending(int(level), True, float(before[at] * (1 - fine[at])))
            for at, level in enumerate(levels)
        ]
        ends.append(Ending(int(levels[-1]), False, float(before[-1])))
        return tuple(end for end in ends if end.weight > 0)

    @property
    def all_right(self) -> float:
        """Whether all its problems, the root included where it is here, were answered rightly.

        1 or 0, and between them with ties: how probable it is.
        """
        root = 1.0 if self.root_credit is None else self.root_credit
        return float(root * (1 - self.wrong).prod())

    def record(self) -> dict[str, Any]:
        """Return the family as JSON can hold it."""
        return {
            "root": self.root,
            "root_right": None if self.root_credit is None else _right(self.root_credit),
            "n": len(self.depths),
            "wrong": counted(float(self.wrong.sum())),
            "mean": self.mean,
            "first": self.first,
            "deepest": int(self.depths.max()),
            **({"ties": int(self.tied.sum())} if self.tied.any() else {}),
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


def _right(credit: float) -> bool | float:
    """Return a credit as JSON has it: true, false, or the share of a tie."""
    return credit if 0 < credit < 1 else credit == 1


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
        None if place is None else float(graded.credit[place]),
        place is not None and bool(graded.tied[place]),
        1.0 if place is None else 1 / len(graded.dataset[place].options),
        np.array(of, dtype=np.int64),
        1 - graded.credit[rows],
        graded.tied[rows],
        np.array(chance),
    )
