"""Random subsets that are made up as a filter's is: what would be seen if it had chosen blindly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._groups import numbered
from winosmith.debias._partition import ALIKE, generator


def alike(
    groups: tuple[tuple[int, ...], ...], kept: NDArray[np.bool_], draws: int, seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Yield random subsets with as many whole twins, halves of twins and singles as a kept set.

    A filter that takes halves of twins leaves sentences without a near-copy beside them; a random
    subset of the same size that keeps more twins whole would have fewer words, and would vary more
    in all that halves share. So what is drawn is only *which* groups keep how many rows: among
    groups of one size these numbers are permuted, and in each group the rows are drawn.

    Args:
        groups: the rows of each twin or single, such as `Dataset.groups`; every row in one.
        kept: (n,) which rows the filter kept.
        draws: how many subsets.
        seed: 0 or more; draw i has a generator of its own.

    Yields:
        (n,) which rows are in the subset.

    >>> kept = np.array([True, True, True, False, False])
    >>> [subset] = alike(((0, 1), (2, 3), (4,)), kept, 1, seed=1)
    >>> subset.tolist()
    [True, True, False, True, False]
    """
    number = numbered(groups, len(kept))
    sizes = np.bincount(number)
    per_group = np.bincount(number, kept, minlength=len(sizes)).astype(np.intp)
    classes = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    starts = np.cumsum(sizes) - sizes
    for draw in range(draws):
        rng = generator(seed, draw, ALIKE)
        wanted = per_group.copy()
        for places in classes:
            wanted[places] = rng.permutation(per_group[places])
        order = np.lexsort((rng.random(len(kept)), number))
        rank = np.arange(len(kept)) - starts[number[order]]
        subset = np.zeros(len(kept), np.bool_)
        subset[order] = rank < wanted[number[order]]
        yield subset
