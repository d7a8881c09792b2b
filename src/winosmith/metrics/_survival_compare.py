"""Do the families of one solver last longer than those of another, on the same families?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.extras import require
from winosmith.metrics._depth_families import DepthKind, Family, families_of
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import DRAWS, cluster_totals
from winosmith.metrics._survival import Survival, survival_of
from winosmith.report import Signature, sign

__all__ = ["SurvivalComparison", "compare_survival"]

EXACT = 14
"""Up to so many families that differ, all 2^14 ways to swap them are counted."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SurvivalComparison:
    """The survival curves of two solvers on the same families, and two tests of their difference.

    Attributes:
        first, second: the curves.
        families: how many families both answered.
        statistic: of the log-rank test (Mantel 1966), χ² with one degree of freedom.
        log_rank: its p-value. It takes the two solvers' families for different, independent
            families; as they are the same ones, hard for both or easy for both, it is as a rule
            too large, and it knows nothing of families that are twins.
        p_value: of the same statistic when the two solvers are swapped in each cluster of
            families with probability 1/2: the paired test, which should be reported. Exact
            where up to 14 clusters differ; else from `draws`.
        later: "first" or "second", whose errors come later; None when neither's do.
        signature: of the data, the predictions and the depth.
    """

    first: Survival
    second: Survival
    families: int
    statistic: float
    log_rank: float
    p_value: float
    later: str | None
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it."""
        return {
            "first": self.first.record(),
            "second": self.second.record(),
            "families": self.families,
            "statistic": self.statistic,
            "log_rank": self.log_rank,
            "p_value": self.p_value,
            "later": self.later,
            "signature": str(self.signature),
        }


def compare_survival(
    first: Graded,
    second: Graded,
    *,
    depth: DepthKind | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> SurvivalComparison:
    """Compare how far two solvers get in the same families.

    Args:
        first: what the one answered, from `grade`.
        second: what the other answered, on the same data set.
        depth: as in `stability`.
        seed: of the swaps, where they are drawn.
        draws: how many swaps are drawn where there are too many to count.

    Raises:
        DataError: different data sets, nothing perturbed, or no such depth.
        MissingExtraError: lifelines is not installed (the extra `stability`).
    """
    if first.dataset.digest != second.dataset.digest:
        raise DataError("the two solvers answered different data sets; compare on the same one")
    kind, families, _ = families_of(first, depth)
    others = families_of(second, kind).families
    ends, weights, of = _ends((*families, *others))
    scores = log_rank_scores(ends[:, 0], ends[:, 1].astype(bool), weights)
    own = np.bincount(of, weights * scores, 2 * len(families)).reshape(2, -1)
    clusters = np.array([family.cluster for family in families])
    differences = cluster_totals((own[0] - own[1])[:, None], clusters)[:, 0]
    is_first = of < len(families)
    statistic, log_rank = _log_rank(
        (ends[is_first], weights[is_first]), (ends[~is_first], weights[~is_first])
    )
    sooner = float(differences.sum())
    return SurvivalComparison(
        survival_of(families),
        survival_of(others),
        len(families),
        statistic,
        log_rank,
        _swapped(differences, seed, draws),
        None if abs(sooner) < 1e-9 else "second" if sooner > 0 else "first",
        sign(
            first.dataset,
            seed,
            predictions=f"{first.digest[:6]}+{second.digest[:6]}",
            depth=kind,
            draws=draws,
        ),
    )


def _ends(families: Sequence[Family]) -> tuple[Ints, Floats, Ints]:
    """Return the endings of families, (m, 2), how probable each is, (m,), and of which it is."""
    endings = [(*ending, at) for at, family in enumerate(families) for ending in family.lasted]
    depth, failed, weights, of = zip(*endings, strict=True)
    return np.column_stack([depth, failed]).astype(np.int64), np.array(weights), np.array(of)


def log_rank_scores(
    lasted: npt.NDArray[np.int64], failed: npt.NDArray[np.bool_], weights: Floats | None = None
) -> Floats:
    """Return what each observation adds to the log-rank statistic, (n,); they sum to 0.

    An event counts 1 and every observation loses the cumulated hazard up to its end, Σ d/n over
    all observations pooled (Kalbfleisch & Prentice 1980, section 6.2): observed minus expected
    events. Which solver an observation belongs to does not enter, so the scores stay as they are
    when solvers are swapped. Observations may have weights, by which they then sum to 0.
    """
    each = np.ones(len(lasted)) if weights is None else weights
    ends, place = np.unique(lasted, return_inverse=True)
    leaving = np.bincount(place, each)
    at_risk = leaving[::-1].cumsum()[::-1]
    events = np.bincount(place, weights=failed * each, minlength=len(ends))
    hazard = np.cumsum(events / at_risk)
    scores: Floats = failed - hazard[place]
    return scores


def _log_rank(first: tuple[Ints, Floats], second: tuple[Ints, Floats]) -> tuple[float, float]:
    (one, of_one), (other, of_other) = first, second
    if not (one[:, 1].any() or other[:, 1].any()):
        return 0.0, 1.0  # nobody made an error
    lifelines = require("lifelines.statistics", "stability")
    found = lifelines.logrank_test(
        one[:, 0], other[:, 0], one[:, 1], other[:, 1], weights_A=of_one, weights_B=of_other
    )
    if not np.isfinite(found.test_statistic):
        return 0.0, 1.0  # all ended at one depth, all with an error
    return float(found.test_statistic), float(found.p_value)


def _swapped(differences: Floats, seed: int, draws: int) -> float:
    """Return the share of all swaps whose sum is as far from 0 as the one that was seen."""
    some = differences[np.abs(differences) > 1e-9]
    if not len(some):
        return 1.0
    seen = abs(some.sum()) - 1e-9
    if len(some) <= EXACT:
        signs = np.array(list(product((1.0, -1.0), repeat=len(some)))).reshape(-1, len(some))
        return float((np.abs(signs @ some) >= seen).mean())
    rng = np.random.default_rng([seed, len(some)])
    as_far = 0
    for start in range(0, draws, 1000):
        signs = rng.choice((1.0, -1.0), size=(min(1000, draws - start), len(some)))
        as_far += int((np.abs(signs @ some) >= seen).sum())
    return (1 + as_far) / (1 + draws)
