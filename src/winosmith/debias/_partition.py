"""Which rows a classifier is trained on: Algorithm 1, line 6, of WinoGrande."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import DataError

TIES, FLIPS, ALIKE, BOOTSTRAP = (2**32 - number for number in (1, 2, 4, 5))
"""They stand in for a classifier's number where a phase, a draw of a null, of a subset or of a
bootstrap needs a generator of its own. (A key of two numbers would not do:
numpy fills it up with zeros.)"""


def generator(seed: int, phase: int, classifier: int) -> np.random.Generator:
    """Return the generator that belongs to one classifier of one phase, and to nothing else."""
    return np.random.default_rng([seed, phase, classifier])


def training_rows(
    size: int,
    train_size: int,
    *,
    seed: int,
    phase: int,
    classifier: int,
    groups: NDArray[np.intp] | None = None,
) -> NDArray[np.int32]:
    """Return the training set of one classifier; the other rows are its held-out set.

    It is uniform over all sets of that size. With `groups`, whole groups are taken in random
    order, each that still fits: at most `train_size` rows, and fewer only by less than the
    smallest group left out.

    Args:
        size: how many rows are left in this phase.
        train_size: how many to train on, at most `size`.
        seed: of the whole run.
        phase: 0-based.
        classifier: 0-based.
        groups: (size,) the group of each row, whole numbers from 0.

    Returns:
        Ascending positions among the rows left, in canonical order (see `aflite`).

    Raises:
        DataError: no group has so few rows.

    >>> training_rows(6, 3, seed=0, phase=0, classifier=0).tolist()
    [3, 4, 5]
    >>> training_rows(
    ...     6, 3, seed=0, phase=0, classifier=0, groups=np.array([0, 0, 1, 1, 2, 3])
    ... ).tolist()
    [0, 1, 4]
    """
    rng = generator(seed, phase, classifier)
    if groups is None:
        taken = np.zeros(size, np.bool_)
        taken[rng.choice(size, train_size, replace=False, shuffle=False)] = True
    else:
        taken = fitting(groups, train_size, rng)
        if not taken.any():
            raise DataError(f"every group is larger than train_size, which is {train_size}")
    return np.flatnonzero(taken).astype(np.int32)


def fitting(groups: NDArray[np.intp], room: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are taken: whole groups in random order, each that still fits.

    Args:
        groups: (n,) the number of each row's group, from 0; numbers may be missing.
        room: rows to take at most.
        rng: draws the order.
    """
    sizes = np.bincount(groups)
    order = rng.permutation(np.flatnonzero(sizes))
    taken = np.zeros(len(sizes), np.bool_)
    while room and order.size:
        order = order[sizes[order] <= room]
        fits = np.cumsum(sizes[order]) <= room
        taken[order[fits]] = True
        room -= int(sizes[order[fits]].sum())
        order = order[~fits]
    return taken[groups]
