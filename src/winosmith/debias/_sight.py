"""What vectors tell apart: where they are the same for every answer, no model can guess one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.debias._logit import ROUNDING
from winosmith.debias._rows import problem_labels
from winosmith.debias._units import option_units
from winosmith.errors import DataError
from winosmith.results import Result

LEAST_SEEN = 0.1
"""With fewer units than this fraction told apart, vectors are blind. The light embedder, which does
not see triggers before the blank, tells apart 86 % of the twins and singles of WinoGrande's dev
set, 69 % of the practice twins and 32 % of the hand-written ones; of a language that an embedder
does not read it is 0 %."""

CHUNK = 2048
"""Units whose rows are read at a time."""


@dataclass(frozen=True, slots=True)
class Sight(Result):
    """How many twins and singles have vectors that could give an answer away.

    Attributes:
        units: all twins and singles.
        seen: the twins whose halves have different vectors, and the singles whose vector is not
            zero.
    """

    units: int
    seen: int

    @property
    def fraction(self) -> float:
        """The fraction that is seen, 0–1."""
        return self.seen / self.units

    @property
    def is_blind(self) -> bool:
        """Whether a filter by these vectors, and a guesser, would work on nothing."""
        return self.fraction < LEAST_SEEN


def sight(pool: Dataset, X: NDArray[Any], *, turns: bool = True) -> Sight:
    """Count the twins and singles whose vectors could give their answers away.

    A twin's halves have opposite answers, so that a model can only guess them by a difference of
    their vectors. A single's vector has to differ from zero; with `turns=False` from that of the
    first problem, as an intercept takes away what all have in common. Of more options than two,
    the vectors of a unit's options have to differ. If all rows are the same, nothing is seen.
    Differences up to 10⁻⁶ of the longest vector count as rounding.

    Args:
        pool: problems with answers.
        X: (n, d) their vectors; (n, K, d), one an option, where a problem has more than two.
        turns: whether swapping the options of a problem turns its vector around.

    Raises:
        DataError: there is no problem, an answer is withheld, or another number of vectors.

    >>> from winosmith.testing import made_twins
    >>> sight(made_twins(2), np.zeros((4, 3))), sight(made_twins(2), np.eye(4))
    (Sight(units=2, seen=0), Sight(units=2, seen=2))
    """
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    if X.ndim == 3:
        return _of_options(pool, X)
    labels = problem_labels(pool)
    longest, lengths = 0.0, []
    is_constant = True
    for first in range(0, len(pool.groups), CHUNK):
        groups = pool.groups[first : first + CHUNK]
        rows = np.concatenate(groups)
        sizes = np.array([len(group) for group in groups])
        starts = np.cumsum(sizes) - sizes
        vectors = X[rows].astype(np.float64)
        longest = max(longest, float(np.linalg.norm(vectors, axis=1).max()))
        is_constant = is_constant and bool((vectors == X[0]).all())
        signs = 1.0 - 2 * labels[rows]
        if not turns:
            vectors -= X[0]
            signs = np.where(np.arange(len(rows)) == np.repeat(starts, sizes), 1.0, -1.0)
        lengths.append(np.linalg.norm(np.add.reduceat(vectors * signs[:, None], starts), axis=1))
    seen = np.concatenate(lengths) > ROUNDING * longest
    return Sight(len(seen), 0 if is_constant else int(seen.sum()))


def _of_options(pool: Dataset, X: NDArray[Any]) -> Sight:
    """Count the units with options that differ."""
    units = option_units(pool, X)
    assert units.items is not None  # noqa: S101 - of options
    starts = np.unique(units.items, return_index=True)[1]
    apart = np.linalg.norm(units.V - units.V[starts][units.items], axis=1)
    longest = np.linalg.norm(units.V, axis=1).max()
    seen = np.maximum.reduceat(apart, starts) > ROUNDING * longest
    return Sight(len(seen), int(seen.sum()))
