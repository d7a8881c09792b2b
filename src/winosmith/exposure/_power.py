"""Compute the levels of looks, and the shifts that a keyed release can detect."""

from __future__ import annotations

import math

from winosmith.errors import DataError

LEVEL = 0.05
"""Maximum probability of any false detection over all looks at a release."""

EFFICIENCY = 3 / math.pi
"""Pitman efficiency of signed ranks relative to the mean of normal differences (Hodges and Lehmann
1956). For other continuous distributions, it is at least .864, and more than 1 if their tails are
heavier than those of the logistic distribution."""


def compute_look_level(look: int, level: float = LEVEL) -> float:
    """Return the significance level of one look, such that all looks together have `level`.

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
        raise DataError(f"looks are numbered from 1, not {look}")
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
