"""Proportions with cluster-robust intervals, bootstraps, and the counts behind percentages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from operator import attrgetter
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.report import percent, percent_span
from winosmith.results import IF_ANY, Result, computed, shown
from winosmith.text import format_count

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proportion(Result):
    """A fraction of cases, such as an accuracy.

    Attributes:
        right: The number of correct cases out of `n`; an integer unless there are ties, each of
            which counts as 1 / (options tied) or 0.
        n: The number of cases.
        interval: The interval of the fraction, 0–1; see `proportion`.
        clusters: The number of clusters of dependent cases.
        design_effect: The variance divided by that of independent cases, 1 or more.
        chance: The fraction expected from guessing, 0–1; None if not applicable.
        ties: The number of cases that are ties.
    """

    right: float = field(metadata={**shown("correct"), "key": "correct"})
    n: int = field(metadata=shown("n"))
    interval: tuple[float, float] = field(metadata=shown("95 %", percent_span))
    clusters: int
    design_effect: float
    chance: float | None = field(default=None, metadata=IF_ANY)
    ties: int = field(default=0, metadata=IF_ANY)

    @property
    @computed(**shown("fraction", percent))
    def value(self) -> float:
        """The fraction, 0–1."""
        return self.right / self.n

    def __str__(self) -> str:
        return f"{percent(self.value)} ({percent_span(self.interval)})"

    @property
    def in_words(self) -> str:
        """The counts as a string: "480.5 of 959, 1 tie"."""
        tied = f", {self.ties:,} {'tie' if self.ties == 1 else 'ties'}" if self.ties else ""
        return f"{self.right:,.7g} of {self.n:,}{tied}"


def format_rate(rate: Proportion) -> str:
    """Return a fraction in percent, followed by the number of ties if there are any."""
    return percent(rate.value) + (f" ({format_count(rate.ties, 'tie')})" if rate.ties else "")


INTERVAL = ("95 %", lambda found: percent_span(found.interval))
"""Heading of the column with a fraction's interval, and formatter of its cells."""

SIZE = attrgetter("n")
"""Function that returns the number of cases of a fraction."""


def round_count(total: float) -> float:
    """Round a sum of credits to an int if it differs from an integer only by rounding errors.

    >>> round_count(3.0), round_count(0.5), round_count(1 / 3 + 1 / 3 + 1 / 3)
    (3, 0.5, 1)
    """
    whole = round(total)
    return whole if abs(total - whole) < 1e-6 else float(total)


def proportion(
    correct: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    copies: npt.ArrayLike | None = None,
    chance: float | None = None,
    ties: int = 0,
    level: float = 0.95,
) -> Proportion:
    """Return a fraction with its cluster-robust interval.

    The interval is Wilson's (1927) with the effective sample size in place of n, as for complex
    samples:

        n_eff = n / deff · (t_{n−1} / t_{G−1})²,      deff = Σ_g e_g² / Σ_i e_i²

    Here e_i = y_i − p is the residual of a case, e_g the sum of the residuals in a cluster, t the
    quantile of Student's t, and G the number of clusters. The design effect deff uses the
    linearised variance of a ratio. It is never below 1 or, with copies (which are one case for t),
    below their own effect. See Korn & Graubard (1998), Franco et al. (2019) and Liang & Zeger
    (1986).

    If all or none of the cases are correct, the residuals don't show the clustering. Therefore deff
    is estimated with two pseudo-clusters of the mean size, one all correct and one all incorrect.
    They keep the interval sensible at 0 % and 100 %, and have little effect elsewhere. With few
    large clusters, the pseudo-clusters make the interval wider than necessary: with 5 clusters of
    50 cases, it is at least twice as wide, and covers the true fraction in all of 600 simulated
    beta-binomial samples. If every cluster has one case, the interval is exactly Wilson's. A single
    cluster of several distinct cases gives no information, so the interval is 0–1. The interval
    ignores that a tie varies less than a correct or incorrect case.

    Args:
        correct: Shape (n,). Booleans, or the credit of each case, 0–1; n ≥ 1.
        clusters: Shape (n,). The label of each case's cluster; None for one cluster per case or,
            with copies, per group of copies.
        copies: Shape (n,). A label that identical cases, which are one observation, share. They
            must be in one cluster. None if there are none.
        chance: The fraction expected from guessing, 0–1; stored with the result.
        ties: The number of cases that are ties; stored with the result.
        level: The confidence level, 0–1.

    >>> halves = proportion([True] * 90 + [False] * 10, [at // 2 for at in range(100)])
    >>> halves.value, [round(end, 3) for end in halves.interval], round(halves.design_effect, 2)
    (0.9, [0.785, 0.957], 2.0)
    >>> [round(end, 3) for end in proportion([True] * 100).interval]  # independent: Wilson's
    [0.963, 1.0]
    """
    y = np.asarray(correct, dtype=np.float64)
    same = np.arange(len(y)) if copies is None else np.unique(copies, return_inverse=True)[1]
    labels = same if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number, distinct = int(labels.max()) + 1, int(same.max()) + 1
    groupings = [of for of, size in ((labels, number), (same, distinct)) if size < len(y)]
    effect = max([1.0, *(_compute_design_effect(y, of) for of in groupings)])
    if number == 1 and distinct > 1:
        interval = 0.0, 1.0
    else:
        few = 1.0
        if number != distinct:
            from scipy.special import stdtrit

            upper = 0.5 + level / 2
            few = float(stdtrit(distinct - 1, upper) / stdtrit(number - 1, upper))
        independent = len(y) / effect * few**2
        interval = wilson_interval(float(y.mean()) * independent, independent, level)
    return Proportion(round_count(y.sum()), len(y), interval, number, effect, chance, ties)


def crossed_proportion(
    correct: npt.ArrayLike, people: npt.ArrayLike, problems: npt.ArrayLike
) -> Proportion:
    """Return a fraction of answers whose interval generalises to other people and problems.

    People and problems are both samples; see Clark (1973). The variance clustered by people and the
    variance clustered by problems are added, and the variance clustered by pairs of both is
    subtracted. See Cameron, Gelbach & Miller (2011, equation 2.10). These variances are

        var = G / (G − 1) · Σ_g e_g² / n²

    Here G is the number of clusters, and e_g the sum of a cluster's residuals y_i − p. The variance
    by pairs has no factor G / (G − 1).

    The interval is Wilson's for the number of independent answers with this variance, widened by
    Student's t for the number of people or problems, whichever is smaller. If all or none of the
    answers are correct, this number is the number of people or problems, whichever is larger. With
    one person, the interval is for that person's answers to other problems; with one problem, for
    other people's answers to it. (Two pseudo-clusters, as in `proportion`, would be as large as a
    person's whole sheet. With 3 to 20 people, the interval would then be two to six times as wide
    and always contain the true value.)

    Args:
        correct: Shape (n,). Whether each answer is correct; n ≥ 1.
        people: Shape (n,). The label of the person who gave each answer.
        problems: Shape (n,). The label of each answer's problem; dependent problems share a label.

    >>> who, what = np.divmod(np.arange(200), 50)
    >>> found = crossed_proportion((who > 0) | (what >= 10), who, what)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.95, [0.59, 1.0])
    """
    from scipy.special import (  # not `scipy.stats`, which takes three times as long to import
        ndtri,
        stdtrit,
    )

    y = np.asarray(correct, dtype=np.float64)
    ways = [np.unique(labels, return_inverse=True)[1] for labels in (people, problems)]
    n, value = len(y), float(y.mean())
    numbers = [int(labels.max()) + 1 for labels in ways]

    def sum_squares(labels: npt.NDArray[np.int64]) -> float:
        return float((np.bincount(labels, y - value) ** 2).sum()) / n**2

    several = [(labels, size) for labels, size in zip(ways, numbers, strict=True) if size > 1]
    between = [sum_squares(labels) * size / (size - 1) for labels, size in several]
    crossing = 0.0
    if len(several) == 2:  # not a people × problems table, which might not fit into memory
        crossing = sum_squares(np.unique(ways[0] * numbers[1] + ways[1], return_inverse=True)[1])
    variance = max(sum(between) - crossing, *between, 0.0)
    alike = min(n, value * (1 - value) / variance) if variance > 0 else n
    if value in (0, 1):
        alike = max(numbers)
    fewest = min((size for _, size in several), default=2)
    independent = alike * float(ndtri(0.975) / stdtrit(fewest - 1, 0.975)) ** 2
    interval = wilson_interval(value * independent, independent)
    return Proportion(round_count(y.sum()), n, interval, min(numbers), n / alike)


def _compute_design_effect(y: Floats, labels: npt.NDArray[np.int64]) -> float:
    """Return the variance of a fraction divided by its variance for independent cases.

    `labels` are cluster numbers from 0.
    """
    mean_size = float((np.bincount(labels).astype(float) ** 2).sum()) / len(y)
    p = (y.sum() + mean_size) / (len(y) + 2 * mean_size)
    errors = y - p
    extra = mean_size * (p**2 + (1 - p) ** 2)  # the squared residuals of the pseudo-clusters
    independent = float(errors @ errors) + extra
    clustered = float((np.bincount(labels, errors) ** 2).sum())
    return float((clustered + mean_size * extra) / independent)


def wilson_interval(correct: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's confidence interval of a fraction of independent cases, 0–1.

    With p = correct / n and z the normal quantile of the level, the ends are

        (p + z² / 2n ± z √(p (1 − p) / n + z² / 4n²)) / (1 + z² / n)

    See Wilson (1927) and Brown, Cai & DasGupta (2001, section 3.1.1).

    Args:
        correct: The number of correct cases; it may be fractional if n is an effective sample size.
        n: The number of cases, above 0.
        level: The confidence level, 0–1.

    >>> [round(end, 3) for end in wilson_interval(9, 10)]
    [0.596, 0.982]
    """
    # Implemented here because libraries with this interval take a second to import.
    correct, n = float(correct), float(n)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, whole = correct / n, 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / whole
    reach = z / whole * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # If none or all are correct, the interval ends at 0 or 1 except for rounding errors.
    return (
        0.0 if correct == 0 else max(0.0, middle - reach),
        1.0 if correct == n else min(1.0, middle + reach),
    )


DRAWS = 10_000
"""Default number of bootstrap draws; the ends of a 95 % interval vary by about 1 % of its width."""


def sum_by_cluster(values: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Floats:
    """Sum the rows of `values` by cluster; return an array of shape (clusters, columns)."""
    columns = np.asarray(values, dtype=np.float64)
    labels = np.unique(clusters, return_inverse=True)[1]
    totals = np.zeros((int(labels.max()) + 1, columns.shape[1]))
    np.add.at(totals, labels, columns)
    return totals


def resample(
    totals: Floats, seed: int, *, draws: int = DRAWS, prior: Floats | None = None
) -> Floats:
    """Return bootstrap sums over clusters drawn with replacement, shape (draws, columns).

    Each draw has as many clusters as the data. Clusters with equal totals are drawn together from a
    multinomial distribution, which is equivalent and much faster.

    `totals` are the contributions of the clusters, shape (G, q). `prior` are pseudo-clusters to
    add, so that unobserved outcomes are not impossible: shape (k, 1 + q), with the weight of each
    in the first column.
    """
    kinds, counts = np.unique(totals, axis=0, return_counts=True)
    weights = counts.astype(float)
    if prior is not None:
        kinds = np.concatenate([kinds, prior[:, 1:]])
        weights = np.concatenate([weights, prior[:, 0]])
    rng = np.random.default_rng([seed, len(totals)])
    drawn = rng.multinomial(len(totals), weights / weights.sum(), size=draws)
    return np.asarray(drawn @ kinds)


DIFFERENCE_WEIGHTS = (0.5, 0.5, 1.0)
"""Weights of the pseudo-clusters that are added to a difference: half a cluster in each direction,
and one without a difference (Agresti & Min 2005, section 3)."""


def make_pseudo_clusters(
    sizes: Floats, outcomes: Sequence[Sequence[float]], weights: Sequence[float] | None = None
) -> Floats:
    """Return one pseudo-cluster of the mean size for each kind of outcome, for `resample`.

    Without pseudo-clusters, outcomes that a few clusters happen to lack would be impossible: if all
    answers are correct, the interval would have zero width.

    Args:
        sizes: Shape (G,). The sizes of the clusters.
        outcomes: Shape (k, q). The contribution of one case of each kind to the sums.
        weights: Shape (k,). The weights of the kinds; None for 1 each.
    """
    mean = float((sizes**2).sum() / sizes.sum())
    joins = np.ones(len(outcomes)) if weights is None else np.asarray(weights)
    return np.column_stack([joins, mean * np.asarray(outcomes)])


def compute_percentile_interval(
    values: npt.ArrayLike, clusters: int | None = None
) -> tuple[float, float]:
    """Return the interval that contains the middle 95 % of the draws.

    For draws from a few clusters, this interval is too narrow: it uses normal quantiles instead of
    Student's t, and a standard deviation without Bessel's correction. With five families, it covers
    the true value in 83 to 87 % of samples. The expanded interval extends to √(G / (G − 1)) ·
    t_{G−1} standard deviations. See Hesterberg (2015, section 4.6).

    `clusters` is the number of clusters that were resampled, 2 or more, to expand the interval. It
    is None if pseudo-clusters were added (`make_pseudo_clusters`). For draws from a null
    distribution, use `null_interval`.

    >>> values = np.arange(1001)
    >>> [np.round(compute_percentile_interval(values, clusters=n)).tolist() for n in (None, 30)]
    [[25.0, 975.0], [19.0, 981.0]]
    """
    tail = 0.5 - 0.95 / 2
    if clusters is not None:
        from scipy.special import ndtr, stdtrit  # faster to import than `scipy.stats`

        tail = ndtr(stdtrit(clusters - 1, tail) * np.sqrt(clusters / (clusters - 1)))
    ends = np.quantile(np.asarray(values), [tail, 1 - tail])
    return float(ends[0]), float(ends[1])


def bootstrap_interval(
    values: npt.ArrayLike,
    clusters: npt.NDArray[np.int64],
    seed: int = 0,
    ends: Sequence[float] = (),
    *,
    weights: Sequence[float] | None = None,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """Return the 95 % cluster-bootstrap interval of a mean.

    Args:
        values: Shape (n,). The value of each case.
        clusters: Shape (n,). The label of each case's cluster.
        seed: The random seed of the draws.
        ends: The minimum and the maximum possible value; a pseudo-cluster of the mean size is added
            for each. Without the pseudo-clusters, the interval of equal values has zero width.
        weights: The weights of the pseudo-clusters; by default 1 each.
        draws: The number of draws.

    >>> bootstrap_interval([1.0] * 100, np.arange(100))
    (1.0, 1.0)
    >>> bootstrap_interval([1.0] * 100, np.arange(100), ends=(0, 1))
    (0.97, 1.0)
    """
    each = np.asarray(values, dtype=np.float64)
    totals = sum_by_cluster(np.stack([each, np.ones(len(each))], axis=1), clusters)
    outcomes = [[end, 1] for end in ends]
    prior = make_pseudo_clusters(totals[:, 1], outcomes, weights) if ends else None
    sums = resample(totals, seed, draws=draws, prior=prior)
    return compute_percentile_interval(sums[:, 0] / sums[:, 1])


Rounding = Literal["nearest", "down", "up", "any"]


def find_possible_counts(
    printed: str | float,
    n: int,
    decimals: int | None = None,
    *,
    rounding: Rounding = "nearest",
    scale: int = 100,
) -> tuple[int, ...]:
    """Return the counts out of n that are consistent with a printed percentage; empty if none are.

    The method is the granularity test GRIM of Brown & Heathers (2017), applied to percentages
    instead of means. The arithmetic is exact.

    Args:
        printed: The printed number: "86.3". A string keeps trailing zeros ("90.0").
        n: The number of cases.
        decimals: The number of decimals; by default those of `printed`.
        rounding: How the number was rounded: to the "nearest" number (halves in either direction),
            "down" (truncated), "up", or in "any" of these ways.
        scale: 100 for percentages, 1 for fractions.

    Raises:
        DataError: `printed` is not a number, or n is below 1.

    >>> find_possible_counts("86.3", 80)  # PDP in WinoGrande's table 6: 69 of 80 is 86.25
    (69,)
    >>> find_possible_counts("86.3", 60), find_possible_counts("96.5", 273)
    ((), ())
    >>> find_possible_counts("13.5", 273), find_possible_counts("13.5", 273, rounding="down")
    ((), (37,))
    """
    found = _iterate_consistent_counts(printed, n, decimals, rounding, scale)
    return tuple(count for count in found if count <= n)


def find_possible_sums(
    printed: str | float, n: int, *, rounding: Rounding = "nearest"
) -> tuple[int, ...]:
    """Return the sums of n integers that are consistent with a printed mean; empty if none are.

    Depths are integers, so a printed error depth and a number of errors are consistent with one
    sum, several or none. See Brown & Heathers (2017).

    Args:
        printed: The printed mean: "6.913". A string keeps trailing zeros.
        n: The number of integers, each 0 or more, that are averaged.
        rounding: As in `find_possible_counts`.

    Raises:
        DataError: `printed` is not a number, or n is below 1.

    >>> find_possible_sums("6.913", 80)  # BERT on EvoGrad-M, table 4: 60.4 % of 202, so 80 errors
    (553,)
    >>> find_possible_sums("6.867", 237, rounding="any")  # on EvoGrad-L: 54.9 % of 526 leaves 237
    ()
    """
    return tuple(_iterate_consistent_counts(printed, n, None, rounding, 1))


def _iterate_consistent_counts(
    printed: str | float, n: int, decimals: int | None, rounding: Rounding, scale: int
) -> Iterator[int]:
    try:
        value = Decimal(str(printed).strip().removesuffix("%").strip())
    except InvalidOperation:
        raise DataError(f"{printed!r} is not a number; use one such as 86.3") from None
    if not value.is_finite() or n < 1:
        raise DataError(f"{printed!r} of {n}: use a finite number and a count of 1 or more")
    exponent = value.as_tuple().exponent
    places = decimals if decimals is not None else max(0, -int(exponent))
    unit, target = Fraction(1, 10**places), Fraction(value)
    below = {"nearest": unit / 2, "down": Fraction(0), "up": unit, "any": unit}[rounding]
    above = {"nearest": unit / 2, "down": unit, "up": Fraction(0), "any": unit}[rounding]
    first = max(0, math.ceil((target - below) * n / scale))
    last = math.floor((target + above) * n / scale)
    open_ends = rounding != "nearest"  # a number a whole unit away is printed differently
    for whole in range(first, last + 1):
        if not open_ends or abs(Fraction(scale * whole, n) - target) < unit:
            yield whole


_ROUNDING_ERROR = 1e-9
"""Maximum rounding error by which products such as 0.05 · 20 can be below an integer."""


MAX_P = 0.05
"""Maximum p-value of a significant result."""


def find_critical_value(draws: npt.ArrayLike, level: float = MAX_P) -> float:
    """Return the critical value of a test: the ⌊level · (B + 1)⌋-th largest of B null draws.

    If the observed value is exchangeable with the draws, it exceeds the critical value with a
    probability of at most `level`. The observed value exceeds the critical value exactly if its
    p-value, (1 + number of draws at least as large) / (1 + B), is at most `level`.

    Args:
        draws: Shape (B,). The draws from the null distribution.
        level: The significance level, 0–1.

    Raises:
        ValueError: There are fewer draws than 1 / level - 1.

    >>> find_critical_value(range(19)), find_critical_value(range(199))
    (18.0, 189.0)
    """
    values = np.sort(np.asarray(draws, np.float64))
    rank = int(level * (len(values) + 1) + _ROUNDING_ERROR)
    if rank < 1:
        raise ValueError(f"{len(values)} draws are too few for a level of {level}")
    return float(values[-rank])


def null_interval(draws: npt.ArrayLike) -> tuple[float, float]:
    """Return the interval that contains another null draw with a probability of at least 0.95.

    The ends are the ⌊0.025 (B + 1)⌋-th smallest and largest of the B draws. (The interval between
    the interpolated 2.5 and 97.5 % quantiles of 20 draws contains another draw with a probability
    of only 86 %.) With fewer than 39 draws, the interval is their range, and the probability is
    smaller.

    Args:
        draws: Shape (B,). The draws from the null distribution, at least one.

    >>> null_interval(range(20)), null_interval(range(1, 1000))
    ((0.0, 19.0), (25.0, 975.0))
    """
    values = np.sort(np.asarray(draws, np.float64))
    rank = max(1, int(0.025 * (len(values) + 1) + _ROUNDING_ERROR))
    return float(values[rank - 1]), float(values[-rank])
