"""Random subsets: the baseline that any filter has to beat, and what blind choice would show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._rows import ALIKE, fitting, generator, numbered
from winosmith.errors import InputError


def subsample(
    rows: int,
    size: int,
    *,
    seed: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> NDArray[np.intp]:
    """Return `size` of the rows, drawn at random, ascending.

    "In random data reduction, we randomly subsample the dataset to evaluate how a decrease in
    dataset size affects the bias" (WinoGrande, section 3), row by row, so that twins lose halves
    as they do to AFLite.

    Args:
        rows: how many there are.
        size: how many to keep, 0 to `rows`.
        seed: 0 or more.
        groups: the rows that stay or go together, such as `Dataset.groups`; every row in one.
            Groups are then taken in random order, each that still fits: at most `size` rows.

    Raises:
        InputError: `size` is out of its range.
        DataError: the groups do not name each row once.

    >>> subsample(10, 4, seed=1).tolist()
    [3, 4, 6, 9]
    >>> subsample(6, 4, seed=1, groups=[(0, 1), (2, 3), (4, 5)]).tolist()
    [0, 1, 2, 3]
    """
    if not 0 <= size <= rows:
        raise InputError(f"size is 0 to {rows}, the number of rows; not {size}")
    rng = np.random.default_rng(seed)
    if groups is None:
        return np.sort(rng.choice(rows, size, replace=False, shuffle=False))
    return np.flatnonzero(fitting(numbered(groups, rows), size, rng))


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
