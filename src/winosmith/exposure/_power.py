"""The levels of looks, and the shifts that a keyed release can detect."""

from __future__ import annotations

import math

from winosmith.errors import DataError

LEVEL = 0.05
"""The chance that any look at a release rejects although the model doesn't depend on its coins."""

EFFICIENCY = 3 / math.pi
"""The Pitman efficiency of signed ranks relative to the mean of normal differences (Hodges and
Lehmann 1956). For other continuous distributions it is at least .864, and more than 1 if their
tails are heavier than the logistic distribution's."""


def level_of_look(look: int, level: float = LEVEL) -> float:
    """Return the level of a look, so that all looks together have the given level.

    Look j gets level · 6 / (π² j²), because the squares' inverses sum to π² / 6.

    Args:
        look: The number of the look at a release, from 1.
        level: The level of all looks, between 0 and 1.

    Raises:
        DataError: the look is not positive.

    >>> [round(level_of_look(look), 4) for look in (1, 2, 3)]
    [0.0304, 0.0076, 0.0034]
    """
    if look < 1:
        raise DataError(f"the looks at a release are numbered from 1, not {look}")
    return level * 6 / (math.pi * look) ** 2


def detectable_shift(blocks: int, level: float = LEVEL, power: float = 0.8) -> float:
    """Return the least mean shift of a model's differences that the test of exposure detects.

    Publishing one presentation of a block shifts the model's difference d between both
    presentations towards the published one. The shift is (z(1 - level) + z(power)) /
    √(blocks · 3/π): the normal approximation of a one-sided test of signed ranks, for differences
    that are normally distributed, with the same shift in all blocks. Heavier tails make smaller
    shifts detectable; a shift in only a few blocks is harder to detect. A test of the mean of
    normal differences needs 4.5 % fewer blocks for the same shift: 2,473 for .05, 619 for .1.

    Args:
        blocks: The number of blocks with a coin and different scores.
        level: The level of the one-sided test, between 0 and 1; for m models, divide it by m.
        power: The chance that the shift is detected, between 0 and 1.

    Returns:
        The shift in standard deviations of d, after the fit that was made without coins.

    Raises:
        DataError: there is no block, or the level or power is not between 0 and 1.

    >>> [round(detectable_shift(blocks), 2) for blocks in (2472, 618, 155)]
    [0.05, 0.1, 0.2]
    >>> [round(detectable_shift(blocks, 0.0025), 2) for blocks in (5326, 1332, 333)]
    [0.05, 0.1, 0.2]
    """
    from scipy.special import ndtri

    if blocks < 1:
        raise DataError(f"a shift is detectable only in one block or more, not {blocks}")
    for name, value in (("level", level), ("power", power)):
        if not 0 < value < 1:
            raise DataError(f"the {name} must be between 0 and 1, not {value}")
    return float((ndtri(1 - level) + ndtri(power)) / math.sqrt(blocks * EFFICIENCY))
