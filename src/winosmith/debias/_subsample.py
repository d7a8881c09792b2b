"""Random reduction: the baseline that any filter has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._groups import numbered
from winosmith.debias._partition import fitting
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
