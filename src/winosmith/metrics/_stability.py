"""How stable a solver is under perturbation: error depth, accuracy by depth, survival."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from winosmith import report
from winosmith.errors import DataError, require
from winosmith.metrics._depth import DepthKind, ErrorDepth, Family, error_depths, find_families
from winosmith.metrics._graded import Graded
from winosmith.metrics._leaks import Overlap
from winosmith.metrics._proportion import DRAWS, Proportion, cluster_totals, counted, proportion
from winosmith.report import Signature, sign
from winosmith.results import Result

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stability(Result):
    """What a solver's predictions on perturbed problems tell of its stability.

    Roots are no perturbed problems: they are in `roots` and, as depth 0, in
    `survival`, not in the error depths.

    Attributes:
        depth: which depth the numbers use: "declared", "lineage" or "edit".
        n: perturbed problems whose depth is known.
        unknown: perturbed problems that are omitted because their depth is not.
        mean: the mean depth of all errors, pooled: EvoGrad's error depth.
        family_mean: the mean over families with an error of the mean depth of their errors.
        first: the mean over families with an error of the depth of their first error.
        families: each with its own error depths, in order of first occurrence.
        accuracy: on the perturbed problems; None when it is withheld, see `overlap`.
        roots: accuracy on the roots that are here; None without any, or when it is withheld.
        by_depth: accuracy of the perturbed problems at each depth, ascending; None when it is
            withheld.
        consistency: the fraction of families with everything right; None when it is withheld.
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
    kind, families, unknown = find_families(graded, depth)
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
        None if withheld else _share([(f, 1 - f.wrong, f.chance, f.tied) for f in families]),
        None if withheld else _of_roots(families),
        None if withheld else _by_depth(families),
        None if withheld else _consistency(families),
        survival_of(families),
        overlap,
        sign(graded.dataset, seed, predictions=graded.digest[:12], depth=kind, draws=draws),
    )


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
    """Return the fraction of families with everything right; guessing multiplies the chances."""
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


LEVEL = 0.95
"""Of the intervals of survival."""


@dataclass(frozen=True, slots=True)
class Survival(Result):
    """The fraction of families without an error down to each depth (Kaplan & Meier 1958).

    A family's event is its first error (depth 0 when the root itself is wrong). A family without
    any error is censored at its deepest problem: that is as far as it could tell.

    Attributes:
        depths: at which a family ended or was censored, from 0, ascending; (m,).
        share: of the families expected to be without an error beyond each depth, 0–1; (m,).
        intervals: 95 % of each share, Greenwood's on the log-log scale (Kalbfleisch & Prentice
            1980), as lifelines has it; (m,). Families are taken for independent.
        at_risk: families without an error before each depth, and with problems as deep; (m,).
        errors: families whose first error is at each depth; (m,). Whole but for ties: each counts
            as if a fair draw settled it, so a family may end at several depths, each with how
            probable that is.
        censored: families that end at each depth without an error; (m,).
        median: the depth by which half of the families have had an error; None when fewer have.
    """

    depths: tuple[int, ...]
    share: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    at_risk: tuple[float, ...]
    errors: tuple[float, ...]
    censored: tuple[float, ...]
    median: int | None


def survival_of(families: Sequence[Family]) -> Survival:
    """Return the survival curve of the families' first errors.

    Raises:
        MissingExtraError: lifelines is not installed (the extra `stability`).
    """
    lifelines = require("lifelines", "stability")
    ends = [ending for family in families for ending in family.lasted]
    lasted, failed, weights = map(list, zip(*ends, strict=True))
    fitter = lifelines.KaplanMeierFitter(alpha=1 - LEVEL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "It looks like your weights are not integers")
        fitter.fit(lasted, failed, weights=weights if len(ends) > len(families) else None)
    table = fitter.event_table
    bounds = fitter.confidence_interval_.to_numpy()
    share = fitter.survival_function_.to_numpy()[:, 0]
    kept = [at for at, left in enumerate(table["removed"]) if left]  # lifelines adds depth 0
    depths = tuple(int(table.index[at]) for at in kept)
    # lifelines misses a half that rounding has put a last digit above.
    halved = [depth for depth, at in zip(depths, kept, strict=True) if share[at] <= 0.5 + 1e-9]
    return Survival(
        depths,
        tuple(float(share[at]) for at in kept),
        tuple((float(bounds[at, 0]), float(bounds[at, 1])) for at in kept),
        _counts(table["at_risk"].iloc[kept]),
        _counts(table["observed"].iloc[kept]),
        _counts((table["removed"] - table["observed"]).iloc[kept]),  # its own are cut to integers
        min(halved, default=None),
    )


def _counts(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(counted(float(number)) for number in column)


EXACT = 14
"""Up to so many families that differ, all 2^14 ways to swap them are counted."""


@dataclass(frozen=True)
class SurvivalComparison(Result):
    """The survival curves of two solvers on the same families, and two tests of their difference.

    Attributes:
        first, second: the curves.
        families: how many families both answered.
        statistic: of the log-rank test (Mantel 1966), χ² with one degree of freedom.
        log_rank: its p-value. It takes the two solvers' families for different, independent
            families; as they are the same ones, hard for both or easy for both, it is usually
            too large, and it knows nothing of families that are twins.
        p_value: of the same statistic when the two solvers are swapped in each cluster of
            families with probability 1/2: the paired test, which should be reported. Exact
            where up to 14 clusters differ; otherwise from `draws`.
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
    kind, families, _ = find_families(first, depth)
    others = find_families(second, kind).families
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
        _swap_p_value(differences, seed, draws),
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
    """Return the log-rank statistic of endings with their weights, and its p-value.

    Its variance at a depth with n at risk and d errors is d (n − d) / (n − 1) · n₁ n₂ / n² (Mantel
    1966). Where a family ends at several depths, each as probable as its weight, n need be no whole
    number; (n − d) / (n − 1) is kept between 0 and 1 then, as it is of whole ones.
    """
    depths = np.unique(np.concatenate([first[0][:, 0], second[0][:, 0]]))
    at_risk, errors = np.empty((2, len(depths))), np.empty((2, len(depths)))
    for of, (ends, weights) in enumerate((first, second)):
        at_risk[of] = (ends[:, 0] >= depths[:, None]) @ weights
        errors[of] = (ends[:, 0] == depths[:, None]) @ (weights * ends[:, 1])
    n, d = at_risk.sum(axis=0), errors.sum(axis=0)
    share = at_risk[0] / n
    drawn = np.clip(np.divide(n - d, n - 1, where=n > 1, out=np.zeros(len(n))), 0, 1)
    variance = float((d * drawn * share * (1 - share)).sum())
    if not variance:
        return 0.0, 1.0  # nobody made an error, or all ended at one depth with one
    statistic = float((errors[0] - d * share).sum()) ** 2 / variance
    return statistic, math.erfc(math.sqrt(statistic / 2))


def _swap_p_value(differences: Floats, seed: int, draws: int) -> float:
    """Return the fraction of all swaps whose sum is as far from 0 as the one that was seen."""
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
        panels = [report.survival({name: _survival_curve(of) for name, of in some.items()})]
        with_depths = {name: of for name, of in some.items() if of.by_depth}
        if with_depths:
            panels.append(_accuracy_by_depth(with_depths))
        yield panels


def _survival_curve(of: Stability) -> report.Along:
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


def _accuracy_by_depth(found: Mapping[str, Stability]) -> report.Svg:
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
