"""How stable a solver is under perturbation: error depth, accuracy by depth, survival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.metrics._depth_families import DepthKind, Family, families_of
from winosmith.metrics._error_depth import ErrorDepth, error_depths
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import DRAWS, Proportion, proportion
from winosmith.metrics._overlap import Overlap
from winosmith.metrics._survival import Survival, survival_of
from winosmith.report import Signature, sign

__all__ = ["Stability", "stability"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stability:
    """What a solver's predictions on perturbed problems tell of its stability.

    Roots are no perturbed problems: they stand in `roots` and, as depth 0, in
    `survival`, not in the error depths.

    Attributes:
        depth: which depth the figures use: "declared", "lineage" or "edit".
        n: perturbed problems whose depth is known.
        unknown: perturbed problems that are left out because their depth is not.
        mean: the mean depth of all errors, pooled: EvoGrad's error depth.
        family_mean: the mean over families with an error of the mean depth of their errors.
        first: the mean over families with an error of the depth of their first error.
        families: each with its own error depths, in order of first occurrence.
        accuracy: on the perturbed problems; None when it is withheld, see `overlap`.
        roots: accuracy on the roots that are here; None without any, or when it is withheld.
        by_depth: accuracy of the perturbed problems at each depth, ascending; None when it is
            withheld.
        consistency: the share of families with everything right; None when it is withheld.
        survival: how deep families get before the first error.
        overlap: with what the solver was trained on; None when nothing is known of that.
        signature: of the data, the predictions and the depth.
    """

    depth: DepthKind
    n: int
    unknown: int
    mean: ErrorDepth
    family_mean: ErrorDepth
    first: ErrorDepth
    families: tuple[Family, ...]
    accuracy: Proportion | None
    roots: Proportion | None
    by_depth: Mapping[int, Proportion] | None
    consistency: Proportion | None
    survival: Survival
    overlap: Overlap | None
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        return {
            "depth": self.depth,
            "n": self.n,
            "unknown": self.unknown,
            "error_depth": {
                "mean": self.mean.record(),
                "family_mean": self.family_mean.record(),
                "first": self.first.record(),
            },
            "families": [family.record() for family in self.families],
            "accuracy": self.accuracy and self.accuracy.record(),
            "roots": self.roots and self.roots.record(),
            "by_depth": self.by_depth
            and {str(depth): found.record() for depth, found in self.by_depth.items()},
            "consistency": self.consistency and self.consistency.record(),
            "survival": self.survival.record(),
            "overlap": self.overlap and self.overlap.record(),
            "signature": str(self.signature),
        }


def stability(
    graded: Graded,
    *,
    depth: DepthKind | None = None,
    overlap: Overlap | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Stability:
    """Measure how stable a solver is under perturbation.

    Args:
        graded: from `grade`; families of a root and what was perturbed from it. Problems whose
            family has nothing perturbed play no part.
        depth: "declared", "lineage" or "edit" (see `winosmith.lineage.Depths`); when None, the
            one that most perturbed problems have, and the first of several.
        overlap: with what the solver was trained on, from `overlap`: accuracies are withheld
            where the test may have been seen, error depths are not (as in EvoGrad's table 4).
        seed: of the draws.
        draws: of the bootstrap over families.

    Raises:
        DataError: nothing is perturbed, or no problem has such a depth.
        MissingExtraError: lifelines is not installed (the extra `stability`).

    >>> from winosmith import Dataset, Prediction, Problem
    >>> from winosmith.lineage import perturbed
    >>> from winosmith.metrics import grade
    >>> root = Problem("r", "The cup hit the vase and the _ broke.", ("cup", "vase"), 1)
    >>> one = perturbed(root, "The mug hit the vase and the _ broke.", ("mug", "vase"), 1, source="x")
    >>> two = perturbed(one, "The mug hit the vase but the _ held.", ("mug", "vase"), 0, source="x")
    >>> data = Dataset([root, one, two])
    >>> found = stability(grade(data, [Prediction(problem.id, 1) for problem in data]))
    >>> found.depth, found.mean.value, found.mean.null.coin, found.survival.share
    ('lineage', 3.0, 2.0, (0.0,))
    """  # noqa: E501
    kind, families, unknown = families_of(graded, depth)
    pooled, family_mean, first = error_depths(families, seed, draws)
    withheld = overlap is not None and overlap.withheld
    return Stability(
        kind,
        sum(len(family.depths) for family in families),
        unknown,
        pooled,
        family_mean,
        first,
        families,
        None if withheld else _accuracy(families),
        None if withheld else _of_roots(families),
        None if withheld else _by_depth(families),
        None if withheld else _consistency(families),
        survival_of(families),
        overlap,
        sign(graded.dataset, seed, predictions=graded.digest[:12], depth=kind, draws=draws),
    )


def _accuracy(families: Sequence[Family]) -> Proportion:
    return _share([(f, 1 - f.wrong, f.chance, f.tied) for f in families])


def _of_roots(families: Sequence[Family]) -> Proportion | None:
    here = [
        (
            family,
            np.array([family.root_credit]),
            np.array([family.root_chance]),
            np.array([family.root_tied]),
        )
        for family in families
        if family.root_credit is not None
    ]
    return _share(here) if here else None


def _by_depth(families: Sequence[Family]) -> dict[int, Proportion]:
    depths = sorted({int(depth) for family in families for depth in family.depths})
    found: dict[int, Proportion] = {}
    for depth in depths:
        at = [(family, family.depths == depth) for family in families]
        found[depth] = _share(
            [(f, 1 - f.wrong[rows], f.chance[rows], f.tied[rows]) for f, rows in at if rows.any()]
        )
    return found


def _consistency(families: Sequence[Family]) -> Proportion:
    """Return the share of families with everything right; guessing multiplies the chances."""
    return _share(
        [
            (
                family,
                np.array([family.all_right]),
                np.array([family.chance.prod() * family.root_chance]),
                np.array([family.root_tied or family.tied.any()]),
            )
            for family in families
        ]
    )


def _share(
    parts: Sequence[tuple[Family, Floats, Floats, npt.NDArray[np.bool_]]],
) -> Proportion:
    """Return the share that is right of what families hold, with their clusters as clusters."""
    families, right, chance, tied = zip(*parts, strict=True)
    clusters = np.repeat([family.cluster for family in families], [len(own) for own in right])
    return proportion(
        np.concatenate(right),
        clusters,
        chance=float(np.concatenate(chance).mean()),
        ties=int(np.concatenate(tied).sum()),
    )
