"""Shares of cases: their intervals, drawing whole clusters again, and what a printed one can be."""

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
from winosmith.report import percent, span
from winosmith.results import IF_ANY, Result, computed, shown
from winosmith.text import number_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proportion(Result):
    """A fraction of cases, such as an accuracy.

    Attributes:
        right: how many cases count, of `n`; a whole number except for ties, each of which counts as
            1 / (options tied) or not at all.
        n: how many there are.
        interval: of the share, 0–1; see `proportion`.
        clusters: how many sets of cases that go together there are.
        design_effect: how many times the variance is that of independent cases; 1 or more.
        chance: the share that guessing gives, 0–1; None if the question does not arise.
        ties: how many of the cases are ties.
    """

    right: float = field(metadata=shown("right"))
    n: int = field(metadata=shown("n"))
    interval: tuple[float, float] = field(metadata=shown("95 %", span))
    clusters: int
    design_effect: float
    chance: float | None = field(default=None, metadata=IF_ANY)
    ties: int = field(default=0, metadata=IF_ANY)

    @property
    @computed(**shown("share", percent))
    def value(self) -> float:
        """The share, 0–1."""
        return self.right / self.n

    def __str__(self) -> str:
        """Return the share in percent and its interval."""
        return f"{percent(self.value)} ({span(self.interval)})"

    @property
    def in_words(self) -> str:
        """The count in words, with the number of ties if there are some: "480.5 of 959"."""
        tied = f", {self.ties:,} {'tie' if self.ties == 1 else 'ties'}" if self.ties else ""
        return f"{self.right:,.7g} of {self.n:,}{tied}"


def rate(found: Proportion) -> str:
    """Return a share in percent, with the number of ties in it, if there are any."""
    return percent(found.value) + (f" ({number_of(found.ties, 'tie')})" if found.ties else "")


INTERVAL = ("95 %", lambda found: span(found.interval))
"""The column of a share's interval."""

SIZE = attrgetter("n")
"""The cell of the number of cases of a share."""


def counted(sum_: float) -> float:
    """Return a sum of credits as a count: an int where it is whole, within rounding.

    >>> counted(3.0), counted(0.5), counted(1 / 3 + 1 / 3 + 1 / 3)
    (3, 0.5, 1)
    """
    whole = round(sum_)
    return whole if abs(sum_ - whole) < 1e-6 else float(sum_)


def proportion(
    right: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    chance: float | None = None,
    ties: int = 0,
    level: float = 0.95,
) -> Proportion:
    """Return a share with its cluster-robust interval.

    The interval is Wilson's (1927) with the effective sample size in place of n, as for complex
    samples (Korn & Graubard 1998; Franco et al. 2019):

        n_eff = n / deff · (t_{n−1} / t_{G−1})²,      deff = Σ_g e_g² / Σ_i e_i²,

    where e_i = y_i − p is a case's residual, e_g the sum of its cluster's (the linearised variance
    of a ratio; Liang & Zeger 1986), t the quantile of Student's t, and G the number of clusters.
    Where all or none are right, the residuals can't tell what goes together; so deff is estimated
    with two more clusters of the mean size, one all right and one all wrong, which keeps the
    interval sensible at 0 % and 100 % and matters little elsewhere. deff is never taken below 1.
    With few large clusters they make it wider than necessary: with 5 clusters of 50 cases it covers
    the true share in all of 600 simulated beta-binomial samples, at twice the width or more.
    When every cluster has one case, the interval is exactly Wilson's; with a single cluster of
    several cases nothing is known, and it is 0–1. A case of a share between 0 and 1, a tie, varies
    less than one that is right or wrong; the interval takes no advantage of that.

    Args:
        right: whether each case counts, (n,) of bool, or what it counts for, 0–1; n ≥ 1.
        clusters: the label of each case's cluster, (n,); None when every case is one of its own.
        chance: what guessing gives, 0–1; kept next to the figure.
        ties: how many of the cases are ties; kept next to the figure.
        level: of the interval, 0–1.

    >>> halves = proportion([True] * 90 + [False] * 10, [at // 2 for at in range(100)])
    >>> halves.value, [round(end, 3) for end in halves.interval], round(halves.design_effect, 2)
    (0.9, [0.785, 0.957], 2.0)
    >>> [round(end, 3) for end in proportion([True] * 100).interval]  # independent: Wilson's
    [0.963, 1.0]
    """
    y = np.asarray(right, dtype=np.float64)
    labels = np.arange(len(y)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number = int(labels.max()) + 1
    effect = 1.0 if number == len(y) else max(1.0, _design_effect(y, labels))
    interval = _with_effect(float(y.mean()), len(y), number, effect, level)
    return Proportion(counted(y.sum()), len(y), interval, number, effect, chance, ties)


def crossed_proportion(
    right: npt.ArrayLike, people: npt.ArrayLike, problems: npt.ArrayLike
) -> Proportion:
    """Return a share of answers, with an interval that holds for other people and other problems.

    Both are drawn (Clark 1973): the variances of a share that is clustered by either are added, and
    that of their crossing is taken off (Cameron, Gelbach & Miller 2011, equation 2.10), where

        var = G / (G − 1) · Σ_g e_g² / n²,      e_g the sum of a cluster's residuals y_i − p,

    and the crossing's has no factor.

    The interval is Wilson's with the number of independent answers that has this variance, widened
    by Student's t for the fewer of both. Where all or none are right, as many answers
    count as there are people or problems, whichever is more. With one person the interval holds
    for that one's answers to other problems, with one problem for other people's to it. (Two added
    clusters, as in `proportion`, would be as large as a person's whole sheet: with 3 to 20 people
    the interval is then two to six times as wide, and always holds the truth.)

    Args:
        right: whether each answer counts, (n,); n ≥ 1.
        people: whose it is, (n,) labels.
        problems: to what, (n,) labels; those that go together, such as a twin's, have one.

    >>> who, what = np.divmod(np.arange(200), 50)
    >>> found = crossed_proportion((who > 0) | (what >= 10), who, what)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.95, [0.59, 1.0])
    """
    from scipy.special import ndtri, stdtrit  # of `scipy.stats`, which takes three times as long

    y = np.asarray(right, dtype=np.float64)
    ways = [np.unique(labels, return_inverse=True)[1] for labels in (people, problems)]
    n, value = len(y), float(y.mean())
    numbers = [int(labels.max()) + 1 for labels in ways]

    def squares(labels: npt.NDArray[np.int64]) -> float:
        return float((np.bincount(labels, y - value) ** 2).sum()) / n**2

    several = [(labels, size) for labels, size in zip(ways, numbers, strict=True) if size > 1]
    between = [squares(labels) * size / (size - 1) for labels, size in several]
    crossing = 0.0
    if len(several) == 2:  # a table of all people by all problems might not fit into memory
        crossing = squares(np.unique(ways[0] * numbers[1] + ways[1], return_inverse=True)[1])
    variance = max(sum(between) - crossing, *between, 0.0)
    alike = min(n, value * (1 - value) / variance) if variance > 0 else n
    if value in (0, 1):
        alike = max(numbers)
    fewest = min((size for _, size in several), default=2)
    independent = alike * float(ndtri(0.975) / stdtrit(fewest - 1, 0.975)) ** 2
    interval = wilson_interval(value * independent, independent)
    return Proportion(counted(y.sum()), n, interval, min(numbers), n / alike)


def _design_effect(y: Floats, labels: npt.NDArray[np.int64]) -> float:
    """Return how many times the variance of a share is that of independent cases.

    Args:
        y: 0 to 1 a case, (n,).
        labels: the cluster of each, from 0, (n,).
    """
    mean_size = float((np.bincount(labels).astype(float) ** 2).sum()) / len(y)
    p = (y.sum() + mean_size) / (len(y) + 2 * mean_size)
    errors = y - p
    extra = mean_size * (p**2 + (1 - p) ** 2)  # the residuals of the two added clusters
    alone = float(errors @ errors) + extra
    together = float((np.bincount(labels, errors) ** 2).sum())
    return float((together + mean_size * extra) / alone)


def _with_effect(
    value: float, n: int, clusters: int, effect: float, level: float
) -> tuple[float, float]:
    """Return the interval of a fraction of n cases whose variance is `effect` times the usual."""
    if clusters == 1 and n > 1:
        return 0.0, 1.0
    few = 1.0
    if clusters != n:
        from scipy.special import stdtrit

        upper = 0.5 + level / 2
        few = float(stdtrit(n - 1, upper) / stdtrit(clusters - 1, upper))
    n_eff = n / effect * few**2
    return wilson_interval(value * n_eff, n_eff, level)


def wilson_interval(right: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of the fraction of independent cases that count, 0–1.

    With p = right / n and z the normal quantile of the level (Wilson 1927; Brown, Cai & DasGupta
    2001, §3.1.1):

        (p + z² / 2n ± z √(p (1 − p) / n + z² / 4n²)) / (1 + z² / n)

    Args:
        right: how many count; need not be whole, where n is an effective number.
        n: how many there are, above 0.
        level: of the interval, 0–1.

    >>> [round(end, 3) for end in wilson_interval(9, 10)]
    [0.596, 0.982]
    """
    # Written out: no page waits for a library that takes a second to load and gives the same.
    right, n = float(right), float(n)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, whole = right / n, 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / whole
    reach = z / whole * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # It ends at 0 or 1 where none or all are right; what stands next to it there is rounding.
    return (
        0.0 if right == 0 else max(0.0, middle - reach),
        1.0 if right == n else min(1.0, middle + reach),
    )


DRAWS = 10_000
"""Draws of a bootstrap: the ends of a 95 % interval are then certain to about 1 % of its width."""


def cluster_totals(values: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Floats:
    """Return the sum of each column over each cluster: (n, q) values give (G, q) totals."""
    columns = np.asarray(values, dtype=np.float64)
    labels = np.unique(clusters, return_inverse=True)[1]
    totals = np.zeros((int(labels.max()) + 1, columns.shape[1]))
    np.add.at(totals, labels, columns)
    return totals


def resample(
    totals: Floats, seed: int, *, draws: int = DRAWS, prior: Floats | None = None
) -> Floats:
    """Return the sums over as many clusters drawn with replacement, (draws, q).

    Clusters with equal totals are drawn as one kind, by a multinomial: the same distribution, in a
    fraction of the time.

    Args:
        totals: what each cluster adds, (G, q).
        seed: of the draws.
        draws: how many.
        prior: (k, 1 + q) clusters that join the urn with a weight each (its first column), so
            that what was never seen is not impossible; None for none.
    """
    kinds, counts = np.unique(totals, axis=0, return_counts=True)
    weights = counts.astype(float)
    if prior is not None:
        kinds = np.concatenate([kinds, prior[:, 1:]])
        weights = np.concatenate([weights, prior[:, 0]])
    rng = np.random.default_rng([seed, len(totals)])
    drawn = rng.multinomial(len(totals), weights / weights.sum(), size=draws)
    sums: Floats = drawn @ kinds
    return sums


IN_HALVES = (0.5, 0.5, 1.0)
"""What joins a difference: half a cluster each way, and one that decides nothing (Agresti & Min
2005, section 3)."""


def pseudo_clusters(
    sizes: Floats, kinds: Sequence[Sequence[float]], weights: Sequence[float] | None = None
) -> Floats:
    """Return clusters of the mean size that join the urn of `resample`, one of each kind.

    Without them, what was never seen among a few clusters would be taken for impossible: all right
    would be right for certain.

    Args:
        sizes: of the clusters, (G,).
        kinds: what each kind adds to the sums for each case, (k, q).
        weights: of the kinds, (k,); 1 each without.
    """
    mean = float((sizes**2).sum() / sizes.sum())
    joins = np.ones(len(kinds)) if weights is None else np.asarray(weights)
    return np.column_stack([joins, mean * np.asarray(kinds)])


def percentile_interval(
    values: npt.ArrayLike, level: float = 0.95, clusters: int | None = None
) -> tuple[float, float]:
    """Return the interval that holds the middle `level` of the values.

    Where they are draws of a few clusters, it is too narrow: it takes the quantiles of a normal
    distribution where Student's t has those of an estimate, and the spread without Bessel's
    correction. With five families it holds the truth 83 to 87 times in 100. The expanded interval
    (Hesterberg 2015, section 4.6) goes as far out as √(G / (G − 1)) · t_{G−1} standard deviations.

    Args:
        values: draws, (draws,).
        level: of the interval, 0–1.
        clusters: how many were drawn from, 2 or more; None to leave the interval as it is, if
            clusters have joined the urn (`pseudo_clusters`). A null has `null_interval`.

    >>> values = np.arange(1001)
    >>> [np.round(percentile_interval(values, clusters=n)).tolist() for n in (None, 30)]
    [[25.0, 975.0], [19.0, 981.0]]
    """
    tail = 0.5 - level / 2
    if clusters is not None:
        from scipy.special import ndtr, stdtrit  # of `scipy.stats`, see `crossed_proportion`

        tail = ndtr(stdtrit(clusters - 1, tail) * np.sqrt(clusters / (clusters - 1)))
    ends = np.quantile(np.asarray(values), [tail, 1 - tail])
    return float(ends[0]), float(ends[1])


def bootstrap_interval(
    values: npt.ArrayLike,
    clusters: npt.NDArray[np.int64],
    seed: int = 0,
    ends: Sequence[float] = (),
) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by the cluster bootstrap.

    Args:
        values: one a case, (n,).
        clusters: the label of each case's cluster, (n,).
        seed: of the draws.
        ends: the least and the greatest that a value can be: a cluster of each joins the urn, of
            the mean size. Without them values that are all the same are so for certain.

    >>> bootstrap_interval([1.0] * 100, np.arange(100))
    (1.0, 1.0)
    >>> bootstrap_interval([1.0] * 100, np.arange(100), ends=(0, 1))
    (0.97, 1.0)
    """
    each = np.asarray(values, dtype=np.float64)
    totals = cluster_totals(np.stack([each, np.ones(len(each))], axis=1), clusters)
    prior = pseudo_clusters(totals[:, 1], [[end, 1] for end in ends]) if ends else None
    sums = resample(totals, seed, prior=prior)
    return percentile_interval(sums[:, 0] / sums[:, 1])


Rounding = Literal["nearest", "down", "up", "any"]


def possible_counts(
    printed: str | float,
    n: int,
    decimals: int | None = None,
    *,
    rounding: Rounding = "nearest",
    scale: int = 100,
) -> tuple[int, ...]:
    """Return the counts of n that a printed percentage can stand for; none if it is impossible.

    The test of granularity is Brown & Heathers' GRIM (2017), for shares in place of means. The
    arithmetic is exact.

    Args:
        printed: as it is printed: "86.3". As text it keeps its last zero ("90.0").
        n: how many cases there are.
        decimals: places after the point; those of `printed` when omitted.
        rounding: "nearest" takes a half either way; "down" and "up" cut and raise the last place;
            "any" is what any of them can print.
        scale: 100 for percentages, 1 for shares.

    Raises:
        DataError: `printed` is no number, or n is below 1.

    >>> possible_counts("86.3", 80)  # PDP in WinoGrande's table 6: 69 of 80 is 86.25
    (69,)
    >>> possible_counts("86.3", 60), possible_counts("96.5", 273)
    ((), ())
    >>> possible_counts("13.5", 273), possible_counts("13.5", 273, rounding="down")
    ((), (37,))
    """
    found = _wholes(printed, n, decimals, rounding, scale)
    return tuple(count for count in found if count <= n)


def possible_sums(
    printed: str | float, n: int, decimals: int | None = None, *, rounding: Rounding = "nearest"
) -> tuple[int, ...]:
    """Return the sums of n whole numbers whose mean can be printed so; none if it is impossible.

    Depths are whole numbers, so a printed error depth with the number of its errors allows one
    sum, a few, or none (Brown & Heathers 2017).

    Args:
        printed: the mean as it is printed: "6.913". As text it keeps its last zero.
        n: of how many numbers, 0 or more each, it is the mean.
        decimals: as in `possible_counts`.
        rounding: as in `possible_counts`.

    Raises:
        DataError: `printed` is no number, or n is below 1.

    >>> possible_sums("6.913", 80)  # BERT on EvoGrad-M, table 4: 60.4 % of 202 leaves 80 errors
    (553,)
    >>> possible_sums("6.867", 237, rounding="any")  # on EvoGrad-L: 54.9 % of 526 leaves 237
    ()
    """
    return tuple(_wholes(printed, n, decimals, rounding, 1))


def _wholes(
    printed: str | float, n: int, decimals: int | None, rounding: Rounding, scale: int
) -> Iterator[int]:
    """Yield the whole numbers that are printed so when they are divided by n / scale."""
    try:
        value = Decimal(str(printed).strip().removesuffix("%").strip())
    except InvalidOperation:
        raise DataError(f"{printed!r} is not a printed number, such as 86.3") from None
    if not value.is_finite() or n < 1:
        raise DataError("a printed share needs a finite number and a count of 1 or more")
    exponent = value.as_tuple().exponent
    places = decimals if decimals is not None else max(0, -int(exponent))
    unit, target = Fraction(1, 10**places), Fraction(value)
    below = {"nearest": unit / 2, "down": Fraction(0), "up": unit, "any": unit}[rounding]
    above = {"nearest": unit / 2, "down": unit, "up": Fraction(0), "any": unit}[rounding]
    first = max(0, math.ceil((target - below) * n / scale))
    last = math.floor((target + above) * n / scale)
    open_ends = rounding != "nearest"  # what is a whole unit away is printed otherwise
    for whole in range(first, last + 1):
        if not open_ends or abs(Fraction(scale * whole, n) - target) < unit:
            yield whole


_FEWEST = 39
"""Draws of which the least and the greatest have 95 % of further draws between them."""

_ROUNDED = 1e-9
"""Products such as 0.05 · 20 can be below their whole number by less."""


def nth_greatest(drawn: npt.ArrayLike, level: float) -> float:
    """Return the ⌊level · (B + 1)⌋-th greatest of B draws.

    With the observed value exchangeable with the draws, the probability that it is greater is at
    most the level; it is greater exactly if (1 + number of draws as great) / (1 + B) ≤ level.

    Args:
        drawn: (B,).
        level: of the test, 0–1.

    Raises:
        ValueError: there are fewer draws than 1 / level - 1.

    >>> nth_greatest(range(19), 0.05), nth_greatest(range(199), 0.05)
    (18.0, 189.0)
    """
    values = np.sort(np.asarray(drawn, np.float64))
    rank = int(level * (len(values) + 1) + _ROUNDED)
    if rank < 1:
        raise ValueError(f"{len(values)} draws are too few for a level of {level}")
    return float(values[-rank])


def null_interval(drawn: npt.ArrayLike) -> tuple[float, float]:
    """Return the interval of the draws of a null; `null_interval_label` says what it is.

    Its ends are the ⌊0.025 (B + 1)⌋-th least and greatest draws, between which a further draw is
    with a probability of at least 95 %. (Interpolated 2.5 and 97.5 % quantiles of 20 draws have
    86 %.) Of fewer than 39 draws they are the least and the greatest of all.

    Args:
        drawn: (B,), at least one.

    >>> null_interval(range(20)), null_interval(range(1, 1000))
    ((0.0, 19.0), (25.0, 975.0))
    """
    values = np.sort(np.asarray(drawn, np.float64))
    rank = max(1, int(0.025 * (len(values) + 1) + _ROUNDED))
    return float(values[rank - 1]), float(values[-rank])


def null_interval_label(draws: int) -> str:
    """Return what `null_interval` of so many draws is.

    >>> null_interval_label(20), null_interval_label(39)
    ("the draws' range", '95 % of the draws')
    """
    return "95 % of the draws" if draws >= _FEWEST else "the draws' range"
