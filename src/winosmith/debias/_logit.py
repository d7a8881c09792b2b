"""Many conditional logits without an intercept at once: one fold, draw or guesser a column.

A *unit* is one choice: one of its options is right, and each option is a vector. What a linear
model without an intercept sees of it are the products of the options' vectors with one shared
vector of weights (McFadden 1974, the conditional logit). Where there are two options only their
difference counts, so a unit is one row: the right option's vector minus the other's.

All columns share the rows, so that one pass over these serves every column, and one matrix turns
all their losses nearly round: the bound of Böhning (1992, "Multinomial logistic regression
algorithm"), that the Hessian is nowhere above half of what the rows, centred in their units, give.
In the basis of its Cholesky factor a column takes ten gradients or so (`_solver.minimise`).

The sums run over fixed chunks of rows and are added in one order, with BLAS on one thread in each:
the number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._solver import minimise
from winosmith.threads import one_thread

CHUNK = 1024
"""Rows that are multiplied at a time: 4 MB at 1,024 columns."""

TOLERANCE = 1e-3
"""A column is done when its Newton decrement falls below this, as in `debias.aflite`."""

STIFFER = (1.0, 4.0, 16.0)
"""How many times as curved a column is taken to be. In few dimensions one of some thousands stalls
with the bound itself, and is begun again with shorter steps."""

Floats = NDArray[np.float64]
Chunks = list[slice]
Spread = Callable[[Callable[[slice], NDArray[np.float32]]], Floats]


class Logit:
    """Rows, ready to be fitted again and again.

    Args:
        V: (n, d) float32: a row an option, those of a unit one after the other; or a row a unit,
            turned so that + is right, when `starts` is None.
        C: inverse strength of the penalty; a column minimises
            ``1/(2C) |w|² + sum of weight · log loss``.
        starts: (U,) the first row of each unit.

    The rows must fit into memory; they are neither copied nor changed.
    """

    def __init__(self, V: NDArray[np.float32], *, C: float, starts: NDArray[np.intp] | None = None):
        from scipy.linalg import cholesky

        self.V, self.C, self.starts = V, C, starts
        ends = [*range(CHUNK, len(V), CHUNK), len(V)]
        if starts is not None:  # a unit stays whole
            cuts = np.append(starts, len(V))
            ends = sorted({int(cuts[np.searchsorted(cuts, end)]) for end in ends})
        self.chunks = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        with _spread(self.chunks) as spread:
            gram = spread(lambda rows: self._centred(rows).T @ self._centred(rows))
        bound = gram * (0.25 if starts is None else 0.5)
        bound[np.diag_indices_from(bound)] += 1 / C
        self.factor = cholesky(bound, lower=True)

    def _centred(self, rows: slice) -> NDArray[np.float32]:
        """Return rows of options minus the mean of their unit."""
        V = self.V[rows]
        if self.starts is None:
            return V
        starts = self._starts(rows)
        sizes = np.diff(np.append(starts, len(V)))
        means = np.add.reduceat(V, starts, axis=0) / sizes[:, None].astype(np.float32)
        return np.asarray(V - np.repeat(means, sizes, axis=0), np.float32)

    def _starts(self, rows: slice) -> NDArray[np.intp]:
        assert self.starts is not None  # noqa: S101 - the caller looked
        first, last = np.searchsorted(self.starts, [rows.start, rows.stop])
        return np.asarray(self.starts[first:last] - rows.start)

    def fit(self, weights: NDArray[np.float32], turns: NDArray[np.float32] | None = None) -> Floats:
        """Return the (d, c) weights of every column.

        Args:
            weights: (U, c) how often a column counts each unit; 0 leaves it out.
            turns: where a row is a unit: (U, c) ±1, −1 where a column sees the unit turned round.
                Where it is an option: (n, c) 1 at the right option of each unit, 0 elsewhere.

        Raises:
            ArithmeticError: a column did not arrive (not seen so far).
        """
        from scipy.linalg import solve_triangular

        count, width = weights.shape[1], self.V.shape[1]

        def gradient(Z: Floats, column: NDArray[np.intp]) -> Floats:
            W = solve_triangular(self.factor, Z.T, lower=True, trans="T")
            W32 = np.ascontiguousarray(W, np.float32)

            def part(rows: slice) -> NDArray[np.float32]:
                return self.V[rows].T @ self._residuals(rows, W32, weights, turns, column)

            G = spread(part) + W / self.C
            return np.asarray(solve_triangular(self.factor, G, lower=True).T)

        found, left = np.zeros((count, width)), np.arange(count)
        with _spread(self.chunks) as spread:
            for stiffer in STIFFER:
                fit = minimise(
                    lambda Z, column, left=left: gradient(Z, left[column]),  # type: ignore[misc]
                    np.zeros((len(left), width)),
                    np.zeros(1),
                    np.full(width, stiffer),
                    TOLERANCE,
                )
                found[left[fit.converged]] = fit.weights[fit.converged]
                left = left[~fit.converged]
                if not left.size:
                    return np.asarray(solve_triangular(self.factor, found.T, lower=True, trans="T"))
        raise ArithmeticError(f"{left.size} of {count} logits did not converge")

    def _residuals(
        self,
        rows: slice,
        W: NDArray[np.float32],
        weights: NDArray[np.float32],
        turns: NDArray[np.float32] | None,
        column: NDArray[np.intp],
    ) -> NDArray[np.float32]:
        """Return the derivative of each row's loss by its product with the weights."""
        z = self.V[rows] @ W
        if self.starts is None:
            counted = weights[rows][:, column]
            if turns is None:
                return np.asarray(-counted / (1 + np.exp(np.minimum(z, 80))))
            turned = turns[rows][:, column]
            return np.asarray(-turned * counted / (1 + np.exp(np.minimum(turned * z, 80))))
        assert turns is not None  # noqa: S101 - as documented
        starts = self._starts(rows)
        sizes = np.diff(np.append(starts, len(z)))
        z -= np.repeat(np.maximum.reduceat(z, starts, axis=0), sizes, axis=0)
        np.exp(z, out=z)
        z /= np.repeat(np.add.reduceat(z, starts, axis=0), sizes, axis=0)
        z -= turns[rows][:, column]
        first = int(np.searchsorted(self.starts, rows.start))
        z *= np.repeat(weights[first : first + len(starts)][:, column], sizes, axis=0)
        return z


@contextmanager
def _spread(chunks: Chunks) -> Iterator[Spread]:
    """Yield what sums a function of the chunks in one order, with a thread for each processor."""
    with one_thread(), ThreadPoolExecutor(os.cpu_count()) as threads:

        def summed(part: Callable[[slice], NDArray[np.float32]]) -> Floats:
            parts = threads.map(part, chunks)
            total = next(parts).astype(np.float64)
            for more in parts:
                total += more
            return total

        yield summed
