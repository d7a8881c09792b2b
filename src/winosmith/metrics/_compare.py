"""Is one solver better than another on the same problems?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.metrics._agreement import Agreement, agreement
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import (
    DRAWS,
    Proportion,
    cluster_totals,
    counted,
    percentiles,
    proportion,
    resampled,
)
from winosmith.problem import MAX_OPTIONS
from winosmith.report import Signature, sign

__all__ = ["Comparison", "Pair", "compare", "compare_pair"]

CREDITS = math.lcm(*range(1, MAX_OPTIONS + 1))
"""Every credit, and every difference of two, is a whole number of its parts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two solvers on the same problems.

    Attributes:
        first, second: their names.
        both, only_first, only_second, neither: how many problems they got right; whole numbers
            but for ties, which count as if a fair draw of its own settled each.
        difference: the accuracy of the first minus that of the second, −1 to 1.
        interval: its 95 % interval, by the cluster bootstrap.
        mcnemar: the p-value of McNemar's exact test, which takes problems for independent: the
            usual figure, too small when twins are right or wrong together. With ties, of the
            permutation test that it is a case of; see `compare_pair`.
        p_value: of the exact test that keeps clusters together; see `compare_pair`.
        adjusted: `p_value` after Holm's correction for all the pairs that were compared.
        agreement: how often they choose the same option.
    """

    first: str
    second: str
    both: float
    only_first: float
    only_second: float
    neither: float
    difference: float
    interval: tuple[float, float]
    mcnemar: float
    p_value: float
    adjusted: float
    agreement: Agreement

    def record(self) -> dict[str, Any]:
        """Return the pair as JSON can hold it."""
        return {**asdict(self), "interval": list(self.interval)}


@dataclass(frozen=True)
class Comparison:
    """Two solvers or more on the same problems.

    Attributes:
        accuracies: of each solver by its name.
        pairs: each two of them, or each beside the baseline.
        against_scores: of each solver with any, how many answers don't choose their best score.
        signature: of the data and the predictions.
    """

    accuracies: Mapping[str, Proportion]
    pairs: tuple[Pair, ...]
    against_scores: Mapping[str, int]
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it."""
        return {
            "accuracies": {name: found.record() for name, found in self.accuracies.items()},
            "pairs": [pair.record() for pair in self.pairs],
            **({"against_scores": dict(self.against_scores)} if self.against_scores else {}),
            "signature": str(self.signature),
        }


def compare(
    solvers: Mapping[str, Graded], *, baseline: str | None = None, seed: int = 0
) -> Comparison:
    """Compare solvers on the same problems, each two of them.

    Args:
        solvers: what each answered, by its name; two or more, on the same data set.
        baseline: compare the others with this one only, which leaves fewer tests to correct for.
        seed: of the bootstrap.

    Raises:
        DataError: fewer than two, different data sets, or a baseline that is not there.
    """
    if len(solvers) < 2:
        raise DataError("a comparison needs the predictions of two solvers or more")
    if baseline is not None and baseline not in solvers:
        raise DataError(f"the baseline {baseline!r} is not one of {', '.join(map(repr, solvers))}")
    data = next(iter(solvers.values()))
    other = next((n for n, g in solvers.items() if g.dataset.digest != data.dataset.digest), None)
    if other is not None:
        raise DataError(f"{other!r} answered another data set; compare on the same problems")
    names = [name for name in solvers if name != baseline]
    pairs = [(n, baseline) for n in names] if baseline else list(combinations(names, 2))
    found = [_pair(a, b, solvers[a], solvers[b], seed) for a, b in pairs]
    answers = "+".join(graded.digest[:6] for graded in solvers.values())
    return Comparison(
        {n: proportion(g.credit, data.clusters, ties=g.ties) for n, g in solvers.items()},
        _holm(found),
        {name: graded.against_scores for name, graded in solvers.items() if graded.against_scores},
        sign(data.dataset, seed, predictions=answers, draws=DRAWS),
    )


def compare_pair(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.NDArray[np.int64]
) -> float:
    """Return the two-sided p-value that two solvers are as good, exact and by clusters.

    Under the null the two are exchangeable: in each cluster their answers may be swapped, all
    together, with probability 1/2. A cluster in which the first has d more right than the second
    then counts +d or −d; the distribution of the sum is exact. This is the permutation test of
    paired differences (Fisher 1935, section 21; Pitman 1937), which takes differences of any size:
    where one is right and the other tied between two options, it is one half. When every cluster
    has one problem and there is no tie, it is McNemar's exact test (Edwards 1948: the binomial test
    of the discordant pairs).

    Args:
        first: what the one's answer to each problem is worth, (n,), 0–1; a tie's 1 / (options).
        second: the same of the other.
        clusters: the label of each problem's cluster, (n,).

    >>> apart, twins = np.arange(10), np.arange(10) // 2
    >>> [round(compare_pair([1] * 10, [0] * 10, labels), 4) for labels in (apart, twins)]
    [0.002, 0.0625]
    """
    from scipy.stats import binom

    gained = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    whole = np.rint(gained * CREDITS).astype(np.int64)
    difference = whole // max(1, int(np.gcd.reduce(whole)))
    by_cluster = np.abs(cluster_totals(difference[:, None], clusters)[:, 0]).astype(np.int64)
    distribution = np.ones(1)  # of (sum + largest sum) / 2
    for size, count in zip(*np.unique(by_cluster[by_cluster > 0], return_counts=True), strict=True):
        step = np.zeros(size * count + 1)
        step[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, step)
    sums = 2 * np.arange(len(distribution)) - (len(distribution) - 1)
    return float(min(1.0, distribution[np.abs(sums) >= abs(difference.sum())].sum()))


def _pair(first: str, second: str, a: Graded, b: Graded, seed: int) -> Pair:
    both, only_a, only_b, neither = crossed(a.credit, b.credit)
    p_value = compare_pair(a.credit, b.credit, a.clusters)
    return Pair(
        first,
        second,
        both,
        only_a,
        only_b,
        neither,
        float((a.credit - b.credit).sum()) / len(a.dataset),
        difference_interval(a.credit, b.credit, a.clusters, seed),
        compare_pair(a.credit, b.credit, np.arange(len(a.dataset))),
        p_value,
        p_value,
        agreement(a, b, seed),
    )


def crossed(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Return how often both, only the first, only the second and neither is right, from credits.

    >>> crossed(np.array([1, 1, 0, 0.5]), np.array([1, 0, 0, 0.5]))
    (1.25, 1.25, 0.25, 1.25)
    """
    both, only, other = first * second, first * (1 - second), (1 - first) * second
    rest = (1 - first) * (1 - second)
    counts = [counted(float(part.sum())) for part in (both, only, other, rest)]
    return counts[0], counts[1], counts[2], counts[3]


def difference_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.NDArray[np.int64],
    seed: int,
    *,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """Return the 95 % interval of a paired difference of accuracies, by the cluster bootstrap.

    Two more clusters join the urn, in the halves of Agresti & Min (2005, section 3): half a one
    with only the first right, half a one with only the second, one that decides nothing. Without
    them, solvers that never differed would differ by 0 for certain.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    totals = cluster_totals(np.stack([difference, np.ones(len(difference))], axis=1), clusters)
    size = float((totals[:, 1] ** 2).sum() / totals[:, 1].sum())
    prior = np.array([[0.5, size, size], [0.5, -size, size], [1.0, 0.0, size]])
    sums = resampled(totals, seed, draws=draws, prior=prior)
    return percentiles(sums[:, 0] / sums[:, 1])


def _holm(pairs: list[Pair]) -> tuple[Pair, ...]:
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([pair.p_value for pair in pairs], method="holm")[1]
    return tuple(replace(p, adjusted=float(q)) for p, q in zip(pairs, adjusted, strict=True))
