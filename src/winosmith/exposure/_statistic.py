"""Compute the exact sign test of a model's score differences, its levels, and its power.

Differences are tested after a fit that does not use the coins. The coins are fair and independent,
and the scores are made without them. So, given the scores, the statistic is distributed like a sum
of numbers with random signs, without any assumption about the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_SCORE = 50
"""Maximum absolute score. Scores are integers, so that their distribution is computed exactly. Any
function of the differences gives an exact test, and this rounding costs no power."""

MAX_DEVIATIONS = 8.0
"""Maximum distance of a sum from 0, in standard deviations. The probability of larger sums, which
are ignored, is below 3e-14 (Hoeffding 1963, theorem 2)."""

MIN_P = 1e-12

LEVEL = 0.05
"""Maximum probability of any false detection over all looks at a release."""

EFFICIENCY = 3 / math.pi
"""Pitman efficiency of signed ranks relative to the mean of normal differences (Hodges and Lehmann
1956). For other continuous distributions, it is at least .864, and more than 1 if their tails are
heavier than those of the logistic distribution."""


def subtract_fit(differences: Floats, strata: Integers, reference: Floats | None = None) -> Floats:
    """Subtract a fit that does not use the coins from the score differences.

    The fit consists of the mean of each stratum and a non-negative multiple of the reference's
    differences, fitted by least squares within strata. If the reference was exposed, too, the test
    loses power, but remains valid.

    Args:
        differences: The difference between presentations A and B for each block, (n,).
        strata: The number of each block's stratum, from 0, (n,).
        reference: The differences of a model that was not exposed, (n,).

    Returns:
        The residuals, (n,), rounded to preserve ties.
    """

    def subtract_means(values: Floats) -> Floats:
        sums, counts = np.bincount(strata, values), np.bincount(strata)
        means: Floats = (sums / np.maximum(counts, 1))[strata]
        return values - means

    residuals = subtract_means(differences)
    if reference is not None:
        other = subtract_means(reference)
        if size := float(other @ other):
            residuals = residuals - max(0.0, float(residuals @ other) / size) * other
    unit = float(np.abs(differences).max(initial=0.0)) or 1.0
    return unit * np.round(residuals / unit, 12)


def signed_ranks(values: Floats) -> Integers:
    """Return the centred signed ranks of values as integers from -`MAX_SCORE` to `MAX_SCORE`.

    Ties get their mean rank. Subtracting the mean of the signed ranks ensures that a remaining
    preference for presentation A or B costs no power.

    >>> signed_ranks(np.array([-3.0, 1.0, 2.0, 2.0]))
    array([-50,   6,  22,  22])
    """
    from scipy.stats import rankdata

    ranks = np.sign(values) * rankdata(np.abs(values))
    ranks = ranks - ranks.mean() if len(ranks) else ranks
    largest = float(np.abs(ranks).max(initial=0.0))
    scores: Integers = np.rint(ranks * (MAX_SCORE / largest if largest > 1e-9 else 0.0)).astype(
        np.int64
    )
    return scores


def tail_probability(scores: Integers, sums: npt.ArrayLike) -> Floats:
    """Return the probability that randomly signed scores sum to at least each of `sums`.

    The distribution is computed from its characteristic function, the product of cos(score · θ),
    by a discrete Fourier transform over sums up to `MAX_DEVIATIONS` standard deviations.

    Args:
        scores: Integers, (n,).
        sums: Observed sums, of any shape.

    Returns:
        The p-values in the shape of the sums, exact to 1e-12 and at least `MIN_P`.

    >>> tail_probability(np.array([1, 2, 3]), [4, 0])
    array([0.25 , 0.625])
    """
    from scipy.fft import irfft, next_fast_len

    sizes, counts = np.unique(np.abs(scores), return_counts=True)
    reach = math.ceil(
        min(float(sizes @ counts), MAX_DEVIATIONS * math.sqrt(float(sizes**2 @ counts)))
    )
    points: int = next_fast_len(2 * reach + 1, real=True)
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    product = np.ones(len(angles))
    for size, count in zip(sizes, counts, strict=True):
        product *= np.cos(size * angles) ** count
    # Sums from -reach to reach in order; the transform has negative sums at its end.
    law = np.roll(irfft(product, points), reach)[: 2 * reach + 1]
    tails = np.append(law[::-1].cumsum()[::-1], 0.0)
    found: Floats = tails[np.clip(sums, -reach, reach + 1) + reach]
    return np.clip(found.round(13), MIN_P, 1.0)


@dataclass(frozen=True)
class SignTest:
    """The sign test of one model's differences.

    Attributes:
        p_value: the one-sided p-value, exact.
        shift: the mean shift towards the published presentation, in standard deviations of the
            residuals.
        interval: 95 % interval of the shift.
    """

    p_value: float
    shift: float
    interval: tuple[float, float]


def sign_test(residuals: Floats, coins: npt.NDArray[np.bool_]) -> SignTest:
    """Test whether residuals depend on the coins, and estimate the mean shift.

    The estimate is the mean of the residuals, each multiplied by the sign of its coin. Averaged
    over the coin tosses, it equals the mean shift, except for a fraction 1 / n due to the fit. This
    is also true if blocks have different shifts. The interval uses Student's t.

    Args:
        residuals: The residuals, (n,), at least two and not all 0.
        coins: Whether presentation A of each block was published, (n,).
    """
    from scipy.special import stdtrit

    signs = np.where(coins, 1, -1)
    scores = signed_ranks(residuals)
    signed = signs * residuals / residuals.std()
    shift = float(signed.mean())
    half = float(
        stdtrit(len(residuals) - 1, 0.975) * signed.std(ddof=1) / math.sqrt(len(residuals))
    )
    p_value = float(tail_probability(scores, signs @ scores))
    return SignTest(p_value, shift, (shift - half, shift + half))


def compute_look_level(look: int, level: float = LEVEL) -> float:
    """Return the significance level of one look; over all looks, the levels add up to `level`.

    Look j gets level · 6 / (π² j²), because the sum of all 1 / j² is π² / 6.

    Args:
        look: The number of the look, from 1.
        level: The significance level of all looks together, between 0 and 1.

    Raises:
        DataError: The number of the look is not positive.

    >>> [round(compute_look_level(look), 4) for look in (1, 2, 3)]
    [0.0304, 0.0076, 0.0034]
    """
    if look < 1:
        raise DataError(f"the number of the look must be at least 1, not {look}")
    return level * 6 / (math.pi * look) ** 2


def compute_detectable_shift(blocks: int, level: float = LEVEL, power: float = 0.8) -> float:
    """Return the minimum mean shift of differences that `measure_exposure` can detect.

    If a model has read the published presentation of a block, its difference d between the two
    presentations shifts towards this presentation. The detectable shift is (z(1 - level) +
    z(power)) / √(blocks · 3/π): the normal approximation of a one-sided signed-rank test, for
    normally distributed differences with the same shift in all blocks. With heavier tails, smaller
    shifts are detectable; a shift in only a few blocks is harder to detect. A test of the mean of
    normal differences needs 4.5 % fewer blocks for the same shift (2,473 for .05, 619 for .1).

    Args:
        blocks: The number of blocks whose two presentations have different scores.
        level: The level of the one-sided test, between 0 and 1; for m models, divide it by m.
        power: The probability of detecting the shift, between 0 and 1.

    Returns:
        The shift in standard deviations of d, after subtracting the fit made without coins.

    Raises:
        DataError: There is no block, or the level or power is not between 0 and 1.

    >>> [round(compute_detectable_shift(blocks), 2) for blocks in (2472, 618, 155)]
    [0.05, 0.1, 0.2]
    >>> [round(compute_detectable_shift(blocks, 0.0025), 2) for blocks in (5326, 1332, 333)]
    [0.05, 0.1, 0.2]
    """
    from scipy.special import ndtri

    if blocks < 1:
        raise DataError(f"the number of blocks must be 1 or more, not {blocks}")
    for name, value in (("level", level), ("power", power)):
        if not 0 < value < 1:
            raise DataError(f"the {name} must be between 0 and 1, not {value}")
    return float((ndtri(1 - level) + ndtri(power)) / math.sqrt(blocks * EFFICIENCY))
