"""Bags of words placed in a space of few dimensions, whose axes are learnt from contrasts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Space", "learn_space"]

Bag = Sequence[str]
Matrix = Any
"""A scipy.sparse matrix."""


@dataclass(frozen=True)
class Space:
    """Words, their weights and their places.

    Attributes:
        columns: the column of each known word.
        weights: one a word, (words,).
        axes: the place of each word, (words, dimensions).
    """

    columns: Mapping[str, int]
    weights: npt.NDArray[np.float64]
    axes: npt.NDArray[np.float64]

    def place(self, bags: Sequence[Bag]) -> npt.NDArray[np.float64]:
        """Return the sum of the weighted places of each bag's known words, (bags, dimensions)."""
        placed: npt.NDArray[np.float64] = _counted(bags, self.columns, self.weights) @ self.axes
        return placed


def learn_space(
    contrasts: Sequence[tuple[Bag, Bag]],
    words: Iterable[str],
    weights: Mapping[str, float] | None,
    dimensions: int,
    seed: int,
) -> Space:
    """Learn the axes along which the first bags differ most from the second ones.

    They are the right singular vectors of (first − second), uncentred, so turning a contrast
    around changes nothing; but see that the contrasts come in an order, and each turned a way,
    that is always the same, for the SVD is randomised (Halko et al. 2011).
    """
    from sklearn.utils.extmath import randomized_svd

    columns = {word: column for column, word in enumerate(sorted(words))}
    weighed = np.array([weights[word] if weights else 1.0 for word in columns])
    first, second = (
        _counted([pair[side] for pair in contrasts], columns, weighed) for side in (0, 1)
    )
    kept = min(dimensions, len(columns), len(contrasts))
    if not kept:  # no word at all: every bag is placed at 0
        return Space(columns, weighed, np.zeros((0, 1)))
    axes = randomized_svd(first - second, kept, n_iter=7, random_state=seed)[2].T
    return Space(columns, weighed, axes)


def _counted(
    bags: Sequence[Bag], columns: Mapping[str, int], weights: npt.NDArray[np.float64]
) -> Matrix:
    """Return the weighted words of each bag, (bags, words); unknown words are left out."""
    from scipy.sparse import csr_array

    known = [[columns[word] for word in bag if word in columns] for bag in bags]
    ends = np.cumsum([0, *map(len, known)])
    indices = np.array([column for row in known for column in row], np.int64)
    return csr_array((weights[indices], indices, ends), shape=(len(bags), len(columns)))
