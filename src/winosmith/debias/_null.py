"""What a filter or a measure finds where there is nothing to find.

The halves of a twin have nearly the same embedding and opposite answers. Permuting all answers
freely would break that, and change how much there is to guess by chance; so a null flips the
answers of both halves together, and permutes freely only among problems that have no other half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._groups import numbered
from winosmith.debias._partition import FLIPS, generator
from winosmith.debias._settings import DRAWS, check_draws

Labels = TypeVar("Labels", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Null:
    """A figure, and the same figure where there is nothing to find.

    Attributes:
        value: the figure, of the real answers.
        mean: its mean over the draws.
        low: the lower end of the central 95 % of the draws, between draws by interpolation.
        high: the upper end.
        p: how likely so high a figure is by chance: (1 + draws at or above the value) over
            (1 + draws), the Monte Carlo p-value (Davison & Hinkley 1997, section 4.2.3).
        draws: the figure of each draw.
    """

    value: float
    mean: float
    low: float
    high: float
    p: float
    draws: tuple[float, ...]


def twin_flipped(
    y: NDArray[Labels], groups: Sequence[Sequence[int]], rng: np.random.Generator
) -> NDArray[Labels]:
    """Return labels that mean nothing, with the structure of the real ones.

    The labels of a group of two rows or more (a twin) are all flipped or all kept, with equal
    chance; those of the groups of one are permuted among these.

    Args:
        y: (n,) labels, 0 or 1.
        groups: the rows that belong together, such as `Dataset.groups`, or `blocks.blocks`, where
            there are copies; every row in one.
        rng: draws the flips, then the permutation.

    Raises:
        DataError: the groups do not name each row once.

    >>> y = np.array([0, 1, 1, 0, 1, 1])
    >>> twin_flipped(y, [(0, 1), (2, 3), (4,), (5,)], np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 1, 1]
    """
    return flipped(np.asarray(y), numbered(groups, len(y)), rng)


def flipped(
    y: NDArray[Labels],
    numbers: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    permute: bool = True,
) -> NDArray[Labels]:
    """Flip as `twin_flipped` does, by the number of each row's group.

    Without `permute` the groups of one are flipped like the others: where the order of the options
    means nothing, so does the number of those whose first option is right.
    """
    sizes = np.bincount(numbers)
    flips = rng.random(len(sizes)) < 0.5
    if not permute:
        return np.where(flips[numbers], 1 - y, y).astype(y.dtype)
    single = sizes[numbers] == 1
    drawn = np.where(flips[numbers] & ~single, 1 - y, y).astype(y.dtype)
    drawn[single] = rng.permutation(y[single])
    return drawn


def null_of(
    statistic: Callable[[NDArray[Any]], float],
    y: NDArray[Any],
    groups: Sequence[Sequence[int]],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Null:
    """Return a figure of the labels beside what it is for twin-flipped labels.

    Args:
        statistic: labels → figure; the higher, the more was found.
        y: (n,) the real labels, 0 or 1.
        groups: see `twin_flipped`.
        draws: 20 or more.
        seed: 0 or more; draw i has a generator of its own.

    Raises:
        InputError: fewer than 20 draws.
        DataError: the groups do not name each row once.
    """
    check_draws(draws)
    numbers = numbered(groups, len(y))
    drawn = [
        float(statistic(flipped(y, numbers, generator(seed, draw, FLIPS)))) for draw in range(draws)
    ]
    return null_from(float(statistic(y)), drawn)


def null_from(value: float, drawn: Sequence[float]) -> Null:
    """Return a figure beside the draws of its null."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = sum(figure >= value for figure in drawn)
    return Null(
        value=value,
        mean=float(np.mean(drawn)),
        low=float(low),
        high=float(high),
        p=(1 + reached) / (1 + len(drawn)),
        draws=tuple(drawn),
    )
