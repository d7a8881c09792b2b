"""Bags of words placed in a space of few dimensions, whose axes are learnt from contrasts.

The axes are the leading right singular vectors of a sparse matrix. What is placed must not depend
on the library that finds them, so three things are settled here: they are found to the rounding
error, none is kept of a tie that would be cut, and each points a way of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bag = Sequence[str]
Floats = npt.NDArray[np.float64]
Matrix = Any
"""A scipy.sparse matrix."""

NEAR_TIE = 1e-3
"""Two neighbouring singular values are tied when the lower one is less than this share below the
higher one. Rounding, about 1e-16, moves a subspace by so much over this gap: what is kept agrees
far within 1e-4 between machines. Of 32 values of real twins one or two lie so near to the next."""

NOTHING = 1e-5
"""Singular values below this share of the largest are zero: their vectors would be rounding."""

SMALL = 800
"""Up to so many words, or contrasts, all singular vectors are found at once (LAPACK); for more,
only the leading ones."""

ROUNDING = 1e-9
"""By less than this share equal eigenvalues differ."""


@dataclass(frozen=True)
class Space:
    """Words, their weights and their places.

    Attributes:
        columns: the column of each known word.
        weights: one a word, (words,).
        axes: the place of each word, (words, dimensions).
    """

    columns: Mapping[str, int]
    weights: Floats
    axes: Floats

    def place(self, bags: Sequence[Bag]) -> Floats:
        """Return the sum of the weighted places of each bag's known words, (bags, dimensions)."""
        placed: Floats = _counted(bags, self.columns, self.weights) @ self.axes
        return placed

    def lengths(self, bags: Sequence[Bag]) -> Floats:
        """Return the length that each bag has before it is placed, (bags, 1).

        What it has after is at most this: the rest lies in dimensions that were not kept.
        """
        counted = _counted(bags, self.columns, self.weights)
        lengths: Floats = np.sqrt((counted * counted).sum(axis=1)).reshape(-1, 1)
        return lengths


def learn_space(
    contrasts: Sequence[tuple[Bag, Bag]],
    words: Iterable[str],
    weights: Mapping[str, float] | None,
    dimensions: int,
) -> Space:
    """Learn the axes along which the first bags differ most from the second ones.

    They are the right singular vectors of (first − second), uncentred, so turning a contrast
    around, or the order of the contrasts, changes nothing but the last bits.

    There are at most `dimensions` axes. Where the last of them would be tied with the next (see
    `NEAR_TIE`), which of the two is kept would be an accident: the cut is made above the tie, at
    the nearest place where values lie apart. When there is none (all directions are equally
    good, as when no two contrasts share a word), nothing is kept and every bag is placed at 0.
    """
    columns = {word: column for column, word in enumerate(sorted(words))}
    weighed = np.array([weights[word] if weights else 1.0 for word in columns])
    first, second = (
        _counted([pair[side] for pair in contrasts], columns, weighed) for side in (0, 1)
    )
    values, axes = _leading(first - second, dimensions + 1)
    kept = _cut(values, dimensions)
    if not kept:
        return Space(columns, weighed, np.zeros((len(columns), 1)))
    return Space(columns, weighed, _turned(axes[:, :kept]))


def _cut(values: Floats, wanted: int) -> int:
    """Return how many of the descending values are kept: at most `wanted`, and no part of a tie.

    >>> _cut(np.array([3.0, 2.0, 2.0, 1.0]), 3), _cut(np.array([3.0, 2.0, 2.0, 1.0]), 2)
    (3, 1)
    >>> _cut(np.array([2.0, 2.0, 2.0]), 2), _cut(np.array([2.0, 2.0, 2.0]), 3)
    (0, 3)
    """
    following = np.append(values[1:], 0.0)
    apart = np.flatnonzero(following < (1 - NEAR_TIE) * values) + 1
    return int(max(apart[apart <= wanted], default=0))


def _leading(contrast: Matrix, count: int) -> tuple[Floats, Floats]:
    """Return the largest singular values that are not zero, descending, and their right vectors.

    Args:
        contrast: (contrasts, words).
        count: the most that are returned.
    """
    rows, words = contrast.shape
    if not min(rows, words) or not np.any(contrast.data):
        return np.zeros(0), np.zeros((words, 0))
    tall = words <= rows
    if min(rows, words) <= max(SMALL, 4 * count):
        gram = contrast.T @ contrast if tall else contrast @ contrast.T
        squares, vectors = np.linalg.eigh(gram.toarray())
    else:
        squares, vectors = _iterated(contrast if tall else contrast.T.tocsr(), count)
    squares, vectors = squares[::-1][:count], vectors[:, ::-1][:, :count]
    values = np.sqrt(np.maximum(squares, 0))
    known = values > NOTHING * values[0]
    values, vectors = values[known], vectors[:, known]
    if not tall:  # these are the left ones
        vectors = np.linalg.qr(contrast.T @ vectors)[0] if len(values) else np.zeros((words, 0))
    return values, vectors


def _iterated(matrix: Matrix, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of matrixᵀ·matrix, ascending, and their vectors.

    A Lanczos method (ARPACK) builds on one vector and may miss copies of an equal value. So what
    is left beside the vectors found is asked for its largest value, until that is among the
    smaller ones. The start is random; where it converges to does not depend on it.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    turned, wide = matrix.T.tocsr(), matrix.shape[1]
    start = np.random.default_rng(0).standard_normal(wide)
    lift = ROUNDING * float((matrix.data**2).sum())
    """Added to all eigenvalues: ARPACK loses its way where they are zero."""

    def beside(vectors: Floats) -> Any:
        def rest(vector: Floats) -> Floats:
            left: Floats = vector - vectors @ (vectors.T @ vector)
            return left

        def product(vector: Floats) -> Floats:
            vector = vector.ravel()
            lifted: Floats = rest(turned @ (matrix @ rest(vector))) + lift * vector
            return lifted

        return LinearOperator((wide, wide), product, dtype=float)

    squares, vectors = eigsh(
        beside(np.zeros((wide, 0))), count, ncv=min(wide, 3 * count + 20), v0=start
    )
    while True:
        square, vector = eigsh(beside(vectors), 1, ncv=40, v0=start)
        if square[0] <= squares.min() * (1 + ROUNDING):
            order = np.argsort(squares)
            return squares[order] - lift, vectors[:, order]
        least = squares.argmin()
        squares[least], vectors[:, least] = square[0], vector[:, 0]


def _turned(axes: Floats) -> Floats:
    """Return the axes, each turned so that its largest number (the first of equal ones) is above 0.

    >>> _turned(np.array([[-0.8], [0.6]])).ravel().tolist()
    [0.8, -0.6]
    """
    sizes = np.abs(axes)
    first = np.argmax(sizes >= (1 - NEAR_TIE) * sizes.max(axis=0), axis=0)
    turned: Floats = axes * np.sign(axes[first, np.arange(axes.shape[1])])
    return turned


def _counted(bags: Sequence[Bag], columns: Mapping[str, int], weights: Floats) -> Matrix:
    """Return the weighted words of each bag, (bags, words); unknown words are left out."""
    from scipy.sparse import csr_array

    known = [[columns[word] for word in bag if word in columns] for bag in bags]
    ends = np.cumsum([0, *map(len, known)])
    indices = np.array([column for row in known for column in row], np.int64)
    return csr_array((weights[indices], indices, ends), shape=(len(bags), len(columns)))
