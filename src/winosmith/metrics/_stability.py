"""Measure how stable a solver is under perturbation: error depth, accuracy by depth, survival."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from winosmith import report
from winosmith.errors import DataError, require
from winosmith.metrics import _proportion
from winosmith.metrics._depth import DepthKind, ErrorDepth, Family, group_families, measure_depths
from winosmith.metrics._graded import Graded
from winosmith.metrics._leaks import Overlap
from winosmith.metrics._proportion import DRAWS, Proportion, proportion, round_count, sum_by_cluster
from winosmith.report import Signature, signature_of
from winosmith.results import Result

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stability(Result):
    """The stability of a solver's predictions on perturbed problems.

    Roots are included in `roots` and, as depth 0, in `survival`, but not in the error depths.

    Attributes:
        depth: The kind of depth: "declared", "lineage" or "edit".
        n: The number of perturbed problems of known depth.
        unknown: The number of perturbed problems that are omitted because their depth is unknown.
        mean: The pooled mean depth of all errors: EvoGrad's error depth.
        family_mean: The mean depth of errors, averaged first within each family with an error and
            then over these families.
        first: The mean, over families with an error, of the depth of their first error.
        families: The families, each with its error depths, in order of first occurrence.
        accuracy: The accuracy on the perturbed problems; None if withheld (see `overlap`).
        roots: The accuracy on the roots in the data; None if there are no roots, or if withheld.
        by_depth: The accuracy on the perturbed problems at each depth, ascending; None if withheld.
        consistency: The fraction of families with only correct answers; None if withheld.
        survival: The distribution of the depth of the families' first errors.
        overlap: The overlap with the solver's training data; None if unknown.
        signature: The signature of the data, the predictions and the kind of depth.
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

    def charts(self, name: str = "solver") -> list[report.Svg]:
        """Return charts of the survival of families and of the accuracy by depth."""
        return [svg for panels in draw_stability({name: self}) for svg in panels]


def measure_stability(
    graded: Graded,
    *,
    depth: DepthKind | None = None,
    overlap: Overlap | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Stability:
    """Measure the stability of a solver under perturbation.

    Args:
        graded: The graded answers, from `grade`, for families of a root and its perturbations.
            Other problems are ignored.
        depth: "declared", "lineage" or "edit" (see `winosmith.lineage.Depths`); by default the kind
            that most perturbed problems have, or the first of several such kinds.
        overlap: The overlap with the training data, from `find_overlap`. If the solver may have
            seen test problems, accuracies are withheld (but error depths are not, as in EvoGrad's
            table 4).
        seed: The random seed of the draws.
        draws: The number of bootstrap draws over families.

    Raises:
        DataError: There are no perturbed problems, or none has this kind of depth.
        MissingExtraError: lifelines is not installed (the `stability` extra).

    >>> from winosmith import Dataset, Prediction, Problem
    >>> from winosmith.lineage import make_child
    >>> from winosmith.metrics import grade
    >>> root = Problem("r", "The cup hit the vase and the _ broke.", ("cup", "vase"), 1)
    >>> one = make_child(root, "The mug hit the vase and the _ broke.", ("mug", "vase"), 1, source="x")
    >>> two = make_child(one, "The mug hit the vase but the _ held.", ("mug", "vase"), 0, source="x")
    >>> data = Dataset([root, one, two])
    >>> found = measure_stability(grade(data, [Prediction(problem.id, 1) for problem in data]))
    >>> found.depth, found.mean.value, found.mean.null.coin, found.survival.share
    ('lineage', 3.0, 2.0, (0.0,))
    """  # noqa: E501
    kind, families, unknown = group_families(graded, depth)
    pooled, family_mean, first = measure_depths(families, seed, draws)
    accuracy: Proportion | None = None
    roots: Proportion | None = None
    by_depth: dict[int, Proportion] | None = None
    consistency: Proportion | None = None
    if overlap is None or not overlap.withheld:
        accuracy = _pool_accuracy(families)
        depths = sorted({int(depth) for family in families for depth in family.depths})
        by_depth = {depth: _pool_accuracy(families, depth) for depth in depths}
        chances = [family.chance.prod() * family.root_chance for family in families]
        consistency = proportion(
            [
                (1.0 if family.root_credit is None else family.root_credit)
                * float((1 - family.wrong).prod())
                for family in families
            ],
            [family.cluster for family in families],
            copies=_number_contents(families),
            chance=float(np.mean(chances)),
            ties=sum(family.root_tied or bool(family.tied.any()) for family in families),
        )
        known = [family for family in families if family.root_credit is not None]
        if known:
            roots = proportion(
                np.array([family.root_credit for family in known]),
                [family.cluster for family in known],
                copies=np.array([family.root_copy for family in known]),
                chance=float(np.mean([family.root_chance for family in known])),
                ties=sum(family.root_tied for family in known),
            )
    return Stability(
        kind,
        sum(len(family.depths) for family in families),
        unknown,
        pooled,
        family_mean,
        first,
        families,
        accuracy,
        roots,
        by_depth,
        consistency,
        estimate_survival(families),
        overlap,
        signature_of(graded.dataset, seed, predictions=graded.digest[:12], depth=kind, draws=draws),
    )


def _number_contents(families: Sequence[Family]) -> Ints:
    """Return a number that each family shares with its copies, shape (families,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(family.contents, len(numbers)) for family in families])


def _measure_distinct_fraction(families: Sequence[Family]) -> float:
    """Return the effective number of families, with copies as one, as a fraction of their number.

    If n_u families are copies of the same family, the effective number is (Σ n_u)² / Σ n_u². See
    Kish (1965, section 11.7).
    """
    return float(len(families) / (np.bincount(_number_contents(families)) ** 2).sum())


def _pool_accuracy(families: Sequence[Family], depth: int | None = None) -> Proportion:
    depths = np.concatenate([family.depths for family in families])
    rows = slice(None) if depth is None else depths == depth
    clusters = np.repeat([family.cluster for family in families], [len(f.depths) for f in families])
    return proportion(
        (1 - np.concatenate([family.wrong for family in families]))[rows],
        clusters[rows],
        copies=np.concatenate([family.copies for family in families])[rows],
        chance=float(np.concatenate([family.chance for family in families])[rows].mean()),
        ties=int(np.concatenate([family.tied for family in families])[rows].sum()),
    )


LEVEL = 0.95
"""Confidence level of the survival intervals."""


@dataclass(frozen=True, slots=True)
class Survival(Result):
    """The fraction of families without an error up to each depth (Kaplan & Meier 1958).

    The event is a family's first error (at depth 0 if the root is answered incorrectly). A family
    without an error is censored at its deepest problem.

    Attributes:
        depths: Shape (m,). The ascending depths of families' first errors or censoring.
        share: Shape (m,). The expected fraction (0–1) of families without errors beyond each depth.
        intervals: Shape (m,). The 95 % interval of each fraction: Greenwood's on the log-log scale
            (Kalbfleisch & Prentice 1980), from lifelines; for a fraction of 0 or 1, Wilson's for
            the families at risk. Copies are one family; other families are treated as independent.
        at_risk: Shape (m,). The number of families that reach each depth without an earlier error.
        errors: Shape (m,). The number of families whose first error is at each depth: an integer
            unless ties let a family end at several depths, each with a probability.
        censored: Shape (m,). The number of families that end at each depth without an error.
        median: The depth by which half of the families have an error; None if fewer than half do.
    """

    depths: tuple[int, ...]
    share: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    at_risk: tuple[float, ...]
    errors: tuple[float, ...]
    censored: tuple[float, ...]
    median: int | None


def estimate_survival(families: Sequence[Family]) -> Survival:
    lifelines = require("lifelines", "stability")
    ends = [ending for family in families for ending in family.endings]
    lasted, failed, chances = map(list, zip(*ends, strict=True))
    distinct = _measure_distinct_fraction(families)
    fitter, weights = lifelines.KaplanMeierFitter(alpha=1 - LEVEL), np.array(chances) * distinct
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "It looks like your weights are not integers")
        fitter.fit(lasted, failed, weights=None if (weights == 1).all() else weights)
    table = fitter.event_table / distinct
    bounds = fitter.confidence_interval_.to_numpy()
    share = fitter.survival_function_.to_numpy()[:, 0]
    kept = [at for at, left in enumerate(table["removed"]) if left]  # lifelines adds depth 0
    depths = tuple(int(table.index[at]) for at in kept)
    # A rounding error must not lift a survival of one half above 0.5, as in lifelines' median.
    halved = [depth for depth, at in zip(depths, kept, strict=True) if share[at] <= 0.5 + 1e-9]
    return Survival(
        depths,
        tuple(float(share[at]) for at in kept),
        _make_survival_intervals(
            share[kept], bounds[kept], fitter.event_table["at_risk"].iloc[kept]
        ),
        _round_counts(table["at_risk"].iloc[kept]),
        _round_counts(table["observed"].iloc[kept]),
        _round_counts(
            (table["removed"] - table["observed"]).iloc[kept]
        ),  # lifelines truncates its censored counts to integers
        min(halved, default=None),
    )


def _make_survival_intervals(
    share: Floats, bounds: Floats, at_risk: Iterable[float]
) -> tuple[tuple[float, float], ...]:
    """Return lifelines' intervals, or Wilson's for a survival of 0 or 1, which has no variance.

    Few families may be at risk at the end, but survival can't increase.
    """
    intervals: list[tuple[float, float]] = []
    for value, (low, high), number in zip(share, bounds, at_risk, strict=True):
        if 1e-9 < value < 1 - 1e-9:
            intervals.append((float(low), float(high)))
        else:
            low, high = _proportion.wilson_interval(round(value) * number, number)
            intervals.append((low, min([high, *(end for _, end in intervals)])))
    return tuple(intervals)


def _round_counts(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(round_count(float(number)) for number in column)


MAX_ENUMERATED_CLUSTERS = 14
"""Maximum number of differing clusters for which all 2^14 swaps are enumerated."""


@dataclass(frozen=True)
class SurvivalComparison(Result):
    """The survival curves of two solvers on the same families, and two tests of the difference.

    Attributes:
        first, second: The survival curves.
        families: The number of families that both solvers answered.
        statistic: The log-rank statistic (Mantel 1966), χ² with one degree of freedom.
        log_rank: The p-value of the log-rank statistic. This p-value is usually too large, because
            the test treats the solvers' families as independent, although both solvers answered the
            same families. Copies are one family, but the test ignores that families can be twins.
        p_value: The p-value of the same statistic if the two solvers are swapped in each cluster of
            families with probability 1/2. Report this p-value, because the test is paired. The
            p-value is exact if up to 14 clusters differ; otherwise it is computed from `draws`
            random swaps.
        later: The solver with later errors, "first" or "second"; None if neither is later.
        signature: The signature of the data, the predictions and the kind of depth.
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
    """Compare the depths of two solvers' first errors in the same families.

    Args:
        first: The graded answers of the first solver, from `grade`.
        second: The graded answers of the second solver, on the same data set.
        depth: As in `measure_stability`.
        seed: The random seed of the swaps.
        draws: The number of random swaps if there are too many to enumerate.

    Raises:
        DataError: The data sets differ, there are no perturbed problems, or the depth is unknown.
        MissingExtraError: lifelines is not installed (the `stability` extra).
    """
    if first.dataset.digest != second.dataset.digest:
        raise DataError("the two solvers answered different data sets; use the same data set")
    kind, families, _ = group_families(first, depth)
    _, others, _ = group_families(second, kind)
    both = enumerate((*families, *others))
    endings = [(*ending, at) for at, family in both for ending in family.endings]
    durations, failed, weights, of = map(np.array, zip(*endings, strict=True))
    ends = np.column_stack([durations, failed]).astype(np.int64)
    scores = compute_log_rank_scores(durations, failed, weights)
    own = np.bincount(of, weights * scores, 2 * len(families)).reshape(2, -1)
    clusters = np.array([family.cluster for family in families])
    differences = sum_by_cluster((own[0] - own[1])[:, None], clusters)[:, 0]
    is_first = of < len(families)
    distinct = weights * _measure_distinct_fraction(families)
    statistic, log_rank = _compute_log_rank(
        (ends[is_first], distinct[is_first]), (ends[~is_first], distinct[~is_first])
    )
    sooner = float(differences.sum())
    both_digests = f"{first.digest[:6]}+{second.digest[:6]}"
    return SurvivalComparison(
        estimate_survival(families),
        estimate_survival(others),
        len(families),
        statistic,
        log_rank,
        _compute_swap_p_value(differences, seed, draws),
        None if abs(sooner) < 1e-9 else "second" if sooner > 0 else "first",
        signature_of(first.dataset, seed, predictions=both_digests, depth=kind, draws=draws),
    )


def compute_log_rank_scores(
    durations: npt.NDArray[np.int64], failed: npt.NDArray[np.bool_], weights: Floats | None = None
) -> Floats:
    """Return the contributions to the log-rank statistic, observed − expected events; shape (n,).

    A score is 1 for an event or 0 otherwise, minus the cumulative hazard up to the end of the
    observation: Σ d/n over all pooled observations. The (weighted) scores sum to 0. Swapping
    solvers does not change the scores. See Kalbfleisch & Prentice (1980, section 6.2).
    """
    each = np.ones(len(durations)) if weights is None else weights
    ends, place = np.unique(durations, return_inverse=True)
    leaving = np.bincount(place, each)
    at_risk = leaving[::-1].cumsum()[::-1]
    events = np.bincount(place, weights=failed * each, minlength=len(ends))
    hazard = np.cumsum(events / at_risk)
    return np.asarray(failed - hazard[place])


def _compute_log_rank(
    first: tuple[Ints, Floats], second: tuple[Ints, Floats]
) -> tuple[float, float]:
    """Return the log-rank statistic of weighted endings, and its p-value.

    At a depth with n families at risk and d errors, the variance is d (n − d) / (n − 1) · n₁ n₂ /
    n². See Mantel (1966). With ties, n may be fractional; then (n − d) / (n − 1) is clipped to 0–1.
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
        return 0.0, 1.0  # no errors, or all families at risk have one at the same depth
    statistic = float((errors[0] - d * share).sum()) ** 2 / variance
    return statistic, math.erfc(math.sqrt(statistic / 2))


def _compute_swap_p_value(differences: Floats, seed: int, draws: int) -> float:
    some = differences[np.abs(differences) > 1e-9]
    if not len(some):
        return 1.0
    seen = abs(some.sum()) - 1e-9
    if len(some) <= MAX_ENUMERATED_CLUSTERS:
        signs = np.array(list(product((1.0, -1.0), repeat=len(some)))).reshape(-1, len(some))
        return float((np.abs(signs @ some) >= seen).mean())
    rng = np.random.default_rng([seed, len(some)])
    as_far = 0
    for start in range(0, draws, 1000):
        signs = rng.choice((1.0, -1.0), size=(min(1000, draws - start), len(some)))
        as_far += int((np.abs(signs @ some) >= seen).sum())
    return (1 + as_far) / (1 + draws)


MIN_PLOTTED = 5
"""Minimum number of problems at a plotted depth. With fewer, the accuracy is too uncertain. Tables
include all depths."""


def draw_stability(results: Mapping[str, Stability]) -> Iterator[list[report.Svg]]:
    """Yield charts of survival and of accuracy by depth, each for up to `MAX_SOLVERS` solvers.

    Accuracies are shown for depths with at least `MIN_PLOTTED` problems; roots are at depth 0. If
    accuracies are withheld for all solvers of a group, the accuracy chart is omitted.

    Args:
        results: The stability of each solver by name, all with the same kind of depth.
    """
    rest = iter(results.items())
    while group := dict(islice(rest, report.MAX_SOLVERS)):
        curves = {}
        for name, of in group.items():
            curve = of.survival
            before = [] if curve.depths[0] == 0 else [0]
            whole = [1.0] * len(before)
            curves[name] = report.DepthCurve(
                [*before, *curve.depths],
                [*whole, *curve.share],
                [*whole, *(low for low, _ in curve.intervals)],
                [*whole, *(high for _, high in curve.intervals)],
                [at for at, ended in zip(curve.depths, curve.censored, strict=True) if ended],
            )
        panels = [report.draw_survival(curves)]
        with_depths = {name: of for name, of in group.items() if of.by_depth}
        if with_depths:
            panels.append(_draw_accuracy_by_depth(with_depths))
        yield panels


def _draw_accuracy_by_depth(results: Mapping[str, Stability]) -> report.Svg:
    lines, counts = {}, {}
    for name, of in results.items():
        by_depth = {d: one for d, one in (of.by_depth or {}).items() if one.n >= MIN_PLOTTED}
        if of.roots and 0 not in by_depth:
            by_depth = {0: of.roots, **by_depth}
        lines[name] = report.DepthCurve(
            list(by_depth),
            [one.value for one in by_depth.values()],
            [one.interval[0] for one in by_depth.values()],
            [one.interval[1] for one in by_depth.values()],
        )
        counts.update({depth: one.n for depth, one in by_depth.items()})
    first = next(iter(results.values())).accuracy
    return report.draw_depth_accuracy(
        lines, sorted(counts.items()), chance=first.chance if first else None
    )
