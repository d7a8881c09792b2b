"""Exact tests of the difference between two solvers, their corrections, and their power."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.blocks import find_copies
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics import _proportion
from winosmith.problem import MAX_OPTIONS

_MAX_EXACT_SUM, _DRAWS = 2_000_000, 20_000
"""Maximum total of the clusters' sums, in credit units, for which the distribution is computed
exactly, and number of random draws above this total. Ties among 17, 19 and 23 options exceed the
maximum."""

CREDIT_UNITS = math.lcm(*range(1, MAX_OPTIONS + 1))
"""Number of units per credit, so that all credits and their differences are whole numbers."""


def paired_p_value(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.NDArray[np.int64]
) -> float:
    """Return the exact two-sided p-value for equal accuracy, with clusters kept together.

    Under the null hypothesis, the solvers are exchangeable: in each cluster, all their answers may
    be swapped together with probability 1/2. A cluster in which the first solver has d more correct
    answers than the second then contributes +d or −d. The distribution of the sum is computed
    exactly.

    This is the permutation test of paired differences. See Fisher (1935, section 21) and Pitman
    (1937). Differences can have any size: if one answer is correct and the other is a tie between
    two options, the difference is one half. If every cluster has one problem and there is no tie,
    it is McNemar's exact test, the binomial test of the discordant pairs. See Edwards (1948). If
    ties among many different numbers of options allow too many possible sums, signs are drawn
    20,000 times, and p = (1 + #) / (1 + 20,000).

    Args:
        first: Shape (n,). The first solver's credits, 0–1; a tie has the credit 1 / (options tied).
        second: Shape (n,). The second solver's credits.
        clusters: Shape (n,). The label of each problem's cluster.

    >>> singles, twins = np.arange(10), np.arange(10) // 2
    >>> [round(paired_p_value([1] * 10, [0] * 10, labels), 4) for labels in (singles, twins)]
    [0.002, 0.0625]
    """
    gained = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return sign_flip_p_value(
        _proportion.sum_by_cluster(np.rint(gained * CREDIT_UNITS)[:, None], clusters)[:, 0]
    )


def sign_flip_p_value(sums: npt.ArrayLike) -> float:
    """Return the probability that random signs give a total at least as far from 0 as observed.

    The test is two-sided. If all sums are 1 or -1, it is the binomial test, such as McNemar's test
    on the items that only one of two models answers correctly. The result is exact even for tiny
    p-values. A Fourier transform rounds at 1e-16. Therefore, the signs are tilted so that the mean
    is the observed total, and the result is reweighted. See Esscher (1932). If the largest possible
    total exceeds `_MAX_EXACT_SUM`, signs are drawn 20,000 times, and p = (1 + #) / (1 + 20,000).

    Args:
        sums: Shape (blocks,). The integer sum of each block.

    >>> round(sign_flip_p_value([1] * 9 + [-1] * 3), 4), sign_flip_p_value([2, -2])
    (0.146, 1.0)
    >>> round(sign_flip_p_value([3] * 100) / 2.0**-99, 9)
    1.0
    """
    from scipy.optimize import brentq
    from scipy.special import expit
    from scipy.stats import binom

    flips = np.rint(sums).astype(np.int64)
    if not flips.sum():
        return 1.0
    flips //= np.gcd.reduce(flips)
    observed, flips = abs(int(flips.sum())), abs(flips[flips != 0])
    largest = int(flips.sum())
    if largest > _MAX_EXACT_SUM:
        rng = np.random.default_rng(0)
        reached = 0
        for at in range(0, _DRAWS, 500):
            signs = rng.integers(0, 2, (min(500, _DRAWS - at), len(flips)), np.int8)
            totals = (2 * signs.astype(np.int64) - 1) @ flips
            reached += int((np.abs(totals) >= observed).sum())
        return (1 + reached) / (1 + _DRAWS)
    sizes, counts = np.unique(flips, return_counts=True)
    # For the largest possible sum the odds would be infinite; half a step less is close enough.
    least = int(sizes[0])
    aim, most = min(observed, largest - least / 2), np.log(4 * largest / least) / (2 * least)
    tilt = brentq(lambda t: counts @ (sizes * np.tanh(t * sizes)) - aim, 0.0, most)
    spread = np.ones(1)  # the distribution of the total of the positive sums
    for size, count, odds in zip(sizes, counts, expit(2 * tilt * sizes), strict=True):
        spread = _convolve_spaced(spread, int(size), binom.pmf(np.arange(count + 1), count, odds))
    at = (largest + observed) // 2
    above = tilt * (2 * np.arange(at, largest + 1) - largest)
    back = counts @ (np.logaddexp(tilt * sizes, -tilt * sizes) - np.log(2))
    tail = spread[at:] * np.exp(back - above)
    return float(min(1.0, 2 * tail.sum()))


_MAX_DIRECT_LENGTH = 64
"""Maximum length for which direct convolution is faster than a Fourier transform."""


def _convolve_spaced(
    distribution: npt.NDArray[Any], step: int, counts: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    from scipy.signal import fftconvolve

    length = len(distribution) + step * (len(counts) - 1)
    if min(len(counts), len(distribution)) > _MAX_DIRECT_LENGTH:
        spaced = np.zeros(length - len(distribution) + 1)
        spaced[::step] = counts
        return np.asarray(np.maximum(fftconvolve(distribution, spaced), 0.0))
    added = np.zeros(length)
    if len(distribution) <= len(counts):
        for place, weight in enumerate(distribution):
            added[place : place + length - len(distribution) + 1 : step] += weight * counts
    else:
        for place, weight in enumerate(counts):
            added[step * place :][: len(distribution)] += weight * distribution
    return added


def compute_difference_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.NDArray[np.int64],
    seed: int,
    *,
    draws: int = _proportion.DRAWS,
) -> tuple[float, float]:
    """Return the 95 % cluster-bootstrap interval of a paired difference of accuracies.

    Three pseudo-clusters with a total weight of two are added: half a cluster with only the first
    solver correct, half with only the second, and one without a difference. Without them, the
    interval for solvers that never differ has zero width. See Agresti & Min (2005, section 3).
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return _proportion.bootstrap_interval(
        difference, clusters, seed, (1, -1, 0), weights=_proportion.DIFFERENCE_WEIGHTS, draws=draws
    )


def correct_by_holm(p_values: npt.ArrayLike) -> list[float]:
    """Return p-values with Holm's (1979) correction for multiple tests.

    >>> correct_by_holm([0.04, 0.01])
    [0.04, 0.02]
    """
    # Not from statsmodels, which runs a full garbage collection in each call.
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(corrected, 1)
    return [float(one) for one in found]


PSI = (0.1, 0.2, 0.3, 0.5)
"""Assumed fractions of problems that only one of two models answers correctly."""


def compute_detectable_difference(n: int, psi: float, *, design: float = 1.0) -> float | None:
    """Return the smallest difference between two models that n items can detect, or None.

    A difference is detected if the exact test (`paired_p_value`; McNemar's for independent items)
    is significant at 0.05 (two-sided) with a power of 0.8. The power is an exact sum over the
    number of items that only one model answers correctly, which is binomial (n, ψ). The number of
    these items that the better model answers correctly is binomial with probability (1 + δ/ψ) / 2.
    See Duffy (1984). The number of items is first divided by the design effect.

    Args:
        n: The number of items.
        psi: The fraction of items that only one of the models answers correctly, 0 < ψ ≤ 1.
        design: The design effect: the variance relative to that of independent items, 1 or more.

    Raises:
        DataError: `psi` or `n` is out of range.

    >>> round(compute_detectable_difference(1000, 0.3), 3), compute_detectable_difference(20, 0.1)
    (0.049, None)
    """
    from scipy.optimize import brentq
    from scipy.stats import binom

    if n < 1 or not 0 < psi <= 1:
        raise DataError(f"n is {n} and psi is {psi}; use n ≥ 1 and 0 < psi ≤ 1")
    size = max(1, int(n / max(1.0, design) + 1e-9))
    low, high = binom.ppf([_TAIL, 1 - _TAIL], size, psi)
    differ = np.arange(low, high + 1)
    weights = binom.pmf(differ, size, psi)
    limits = binom.isf(_proportion.MAX_P / 2, differ, 0.5)

    def find_excess(difference: float) -> float:
        powers = binom.sf(limits, differ, (1 + difference / psi) / 2)
        return float(weights @ powers) - _POWER

    return float(brentq(find_excess, 0.0, psi, xtol=1e-9)) if find_excess(psi) >= 0 else None


_POWER = 0.8
_TAIL = 1e-9
"""Total probability of the tails that the power calculation omits."""


def compute_detectable_differences(dataset: Dataset) -> tuple[tuple[float, float | None], ...]:
    """Return the detectable difference for each fraction of items on which models differ.

    Duplicates are counted once, because models give the same answer to all of them. Twins and
    families are treated as independent, because only answers can reveal their dependence.

    Args:
        dataset: The problems; in an empty data set, no difference is detectable.

    Returns:
        Each fraction with its smallest detectable difference; see `compute_detectable_difference`.

    >>> from winosmith.testing import make_twins
    >>> [round(least or 1, 3) for _, least in compute_detectable_differences(make_twins(500))]
    [0.029, 0.04, 0.049, 0.064]
    """
    if not len(dataset):
        return tuple((psi, None) for psi in PSI)
    n = len(dataset)
    design = 1 + sum(len(rows) ** 2 - len(rows) for rows in find_copies(dataset)) / n
    return tuple((psi, compute_detectable_difference(n, psi, design=design)) for psi in PSI)
