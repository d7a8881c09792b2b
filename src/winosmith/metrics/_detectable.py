"""What difference between two models a set of problems can detect, and the test that does it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from winosmith.blocks import copies
from winosmith.dataset import Dataset
from winosmith.errors import DataError

PSI = (0.1, 0.2, 0.3, 0.5)
"""The shares of problems on which two models differ, where no answers are at hand."""


def mid_p(one: int, other: int) -> float:
    """Return McNemar's p for so many items that only one of two models gets right, mid-p.

    The exact test counts what was seen whole, and is right too seldom; mid-p counts half of it
    (Fagerland, Lydersen and Laake 2013).

    >>> round(mid_p(3, 9), 4), mid_p(5, 5), mid_p(0, 0)
    (0.0923, 1.0, 1.0)
    """
    from scipy.special import bdtr

    n, least = one + other, min(one, other)
    if not n or one == other:
        return 1.0
    below, upto = (
        float(bdtr(count, n, 0.5)) if count >= 0 else 0.0 for count in (least - 1, least)
    )
    return min(1.0, below + upto)


def detectable(
    n: int, psi: float, *, design: float = 1.0, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the least difference between two models that n items find, 0–1; None for none.

    It solves δ√n = z(1 − α/2) √ψ + z(power) √(ψ − δ²) for δ (Connor 1987), n over the design
    effect. Fewer than 6 items that differ are significant in no exact test at 0.05 (mid-p needs
    5), so it is 6 over that n at least.

    Args:
        n: items.
        psi: the share of items on which the models differ in being right, over 0 up to 1.
        design: the design effect of blocks.
        alpha: of the test, two-sided.
        power: the share of sets in which it is found, 0.5 or more.

    Raises:
        DataError: psi or n out of range.

    >>> round(detectable(1000, 0.3), 3), detectable(20, 0.1)
    (0.048, None)
    """
    from scipy.special import ndtri

    if n < 1 or not 0 < psi <= 1:
        raise DataError(f"n is {n} and psi {psi}; an item at least and a share over 0 are needed")
    size = n / max(1.0, design)
    first, second = float(ndtri(1 - alpha / 2)) * sqrt(psi), float(ndtri(power))
    under = first**2 * size - (size + second**2) * (first**2 - second**2 * psi)
    least = max((first * sqrt(size) + sqrt(max(0.0, under))) / (size + second**2), 6 / size)
    return least if least <= psi else None


def detectable_by_share(
    dataset: Dataset, shares: Sequence[float] = PSI
) -> tuple[tuple[float, float | None], ...]:
    """Return what a data set detects before any model has answered, by the share that differ.

    Copies are counted once, as models are right or wrong on them together. How far halves of twins
    and families go together only answers tell; here they are taken for apart.

    Args:
        dataset: its problems; none makes no difference detectable.
        shares: of problems on which two models differ in being right.

    Returns:
        Each share with the least difference; see `detectable`.

    >>> from winosmith.testing import made_twins
    >>> [round(least or 1, 3) for _, least in detectable_by_share(made_twins(500))]
    [0.028, 0.04, 0.048, 0.063]
    """
    if not len(dataset):
        return tuple((psi, None) for psi in shares)
    n = len(dataset)
    design = 1 + sum(len(rows) ** 2 - len(rows) for rows in copies(dataset)) / n
    return tuple((psi, detectable(n, psi, design=design)) for psi in shares)
