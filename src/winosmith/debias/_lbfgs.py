"""The two-loop recursion of L-BFGS for many columns (Nocedal & Wright 2006, algorithm 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Pair = tuple[Floats, Floats, Floats]
"""The columns' steps and the changes of their gradients, (c, d), and the inverse of their dot
products, (c,), which is 0 for columns that ignore the pair."""


def dot_rows(a: Floats, b: Floats) -> Floats:
    """Return the (c,) dot products of the rows of two (c, d) arrays."""
    return np.asarray((a * b).sum(axis=1))


def make_pair(step: Floats, change: Floats, kept: NDArray[np.bool_] | bool = True) -> Pair:
    """Make the pair of a step; columns that are not `kept` or not convex along it ignore it."""
    sy = dot_rows(step, change)
    good = kept & (sy > 1e-12 * np.sqrt(dot_rows(step, step) * dot_rows(change, change)))
    return step, change, np.divide(1.0, sy, out=np.zeros_like(sy), where=good)


def compute_direction(
    G: Floats, pairs: Sequence[Pair], precondition: Callable[[Floats], Floats]
) -> Floats:
    """Return the columns' search directions at gradients `G`, (c, d).

    `precondition` multiplies (c, d) vectors by the initial inverse Hessian.
    """
    q, weights = G.copy(), []
    for s, y, rho in reversed(pairs):
        a = rho * dot_rows(s, q)
        weights.append(a)
        q -= a[:, None] * y
    q = precondition(q)
    for (s, y, rho), a in zip(pairs, reversed(weights), strict=True):
        q += (a - rho * dot_rows(y, q))[:, None] * s
    return -q
