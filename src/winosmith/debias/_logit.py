"""Fit many conditional logits without an intercept together: one column per fold, draw or guesser.

A *unit* is a choice among options, one of which is correct; each option has a vector. The
conditional logit (McFadden 1974) is a linear model without an intercept: it uses only the products
of the options' vectors with one shared weight vector. With two options, only their difference
matters, so a unit is one row: the vector of the correct option minus that of the other.

All columns share the rows, so that one pass over the rows serves every column. One matrix also
preconditions the losses of all columns: according to Böhning (1992, "Multinomial logistic
regression algorithm"), half of the Gram matrix of the rows, centred within their units, is an upper
bound on the Hessian. In the basis of the bound's Cholesky factor, the Hessian is at most the
identity, so a gradient step of length one always descends. L-BFGS (Nocedal & Wright 2006, algorithm
7.4; see `_solver.minimize`) takes about ten steps.

The sums are computed in fixed chunks of rows and added in a fixed order, with BLAS on one thread in
each chunk, so that no bit depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._solver import minimize
from winosmith.errors import DataError
from winosmith.parallel import count_processors, use_one_thread

CHUNK = 1024
"""The number of rows to multiply at a time: 4 MB with 1,024 columns."""

TOLERANCE = 1e-3
"""A column has converged if its Newton decrement is below this value, as in `debias.aflite`. The
step to which the decrement belongs is still taken."""

PRODUCT_CHUNK = 1 << 16
"""The number of values to multiply at a time without BLAS: half a megabyte, which fits into the
processor's cache."""

ROUNDING_ERROR = 1e-6
"""The maximum cosine between a row and a model's weights that counts as rounding error: sixteen
times the float32 rounding error (2^-24). If a model has learnt nothing about a row, the row is
orthogonal to its weights except for rounding, and the sign of the remainder is arbitrary but
constant on one machine."""

LENGTH_QUANTILE = 0.9
"""The quantile of unit lengths that serves as the minimum length in rounding bounds. A short unit
may be the rounding error of two long vectors that cancel. A quantile is used instead of the
maximum, because a few units may be far longer than all others."""

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.intp]


def bound_rounding_errors(V: NDArray[Any], W: Floats, starts: Rows | None = None) -> Floats:
    """Return bounds on the rounding errors of units' products with weights, (units, columns).

    A product's rounding error is proportional to the lengths of its factors; see Higham (2002),
    "Accuracy and stability of numerical algorithms", section 3.1. A unit's length is the length of
    its longest row, or the `LENGTH_QUANTILE` quantile of all lengths if that is larger. `starts`
    are the first rows of the units; None if each row is a unit.
    """
    return ROUNDING_ERROR * np.outer(compute_unit_lengths(V, starts), np.linalg.norm(W, axis=0))


def compute_unit_lengths(V: NDArray[Any], starts: Rows | None = None) -> Floats:
    """Return the length of each unit, as defined in `bound_rounding_errors`."""
    lengths = np.sqrt(np.einsum("ij,ij->i", V, V, dtype=np.float64))
    if starts is not None:
        lengths = np.maximum.reduceat(lengths, starts)
    return np.asarray(np.maximum(lengths, np.quantile(lengths, LENGTH_QUANTILE, method="lower")))


class Logit:
    """Fits many conditional logit models to the same rows.

    Args:
        V: (n, d) float32, one row per option, with the options of a unit consecutive; or, if
            `starts` is None, one row per unit, with the sign chosen so that + is correct.
        C: The inverse strength of the penalty; a column minimises ``1/(2C) |w|² + sum of weight ·
            log loss``.
        starts: (U,) the first row of each unit; None if each row is a unit.

    The rows must fit into memory and are not modified. A column is returned after 150 passes even
    if it has not converged, which only happens if the rows are separable and C is large.
    """

    def __init__(self, V: Singles, *, C: float, starts: Rows | None = None):
        largest = float(max(V.max(), -V.min()))
        is_usual = 2**-20 < largest < 2**20
        self.scale = 1.0 if is_usual else float(2.0 ** -np.frexp(largest)[1])
        self.V: Singles = V if is_usual else V * np.float32(self.scale)
        self.C = C / self.scale**2
        cuts = np.arange(len(V) + 1) if starts is None else np.append(starts, len(V))
        stops = cuts[np.searchsorted(cuts, [*range(CHUNK, len(V), CHUNK), len(V)])]
        self.chunks = []
        for begin, stop in pairwise([0, *np.unique(stops).tolist()]):
            units = slice(*np.searchsorted(cuts, (begin, stop)).tolist())
            first = None if starts is None else starts[units] - begin
            self.chunks.append(_Chunk(slice(begin, stop), units, first))
        self.factor = _factorize_bound(self.V, self.chunks, C, self.scale)

    def fit(self, weights: Singles, coded_keys: Singles | None = None) -> Floats:
        """Fit a model for each column of weights; return the coefficients, (dimensions, columns).

        Args:
            weights: (U, c) the weight of each unit in each column; 0 omits the unit.
            coded_keys: If each row is a unit: (U, c) ±1, with −1 to flip the unit's sign in a
                column, or None for 1 everywhere. If each row is an option: an (n, c) array with 1
                for the correct option of each unit and 0 elsewhere.
        """
        from scipy.linalg import solve_triangular

        count, width = weights.shape[1], len(self.factor)
        keys = np.broadcast_to(np.float32(1), weights.shape) if coded_keys is None else coded_keys

        def compute_gradient(Z: Floats, column: Rows) -> Floats:
            # Always of all columns, because the bits of a product may depend on its width.
            every = np.zeros((count, width))
            every[column] = Z
            W = solve_triangular(self.factor, every.T, lower=True, trans="T")
            W32 = np.ascontiguousarray(W, np.float32)

            def sum_chunk(chunk: _Chunk) -> Singles:
                V = self.V[chunk.rows]
                slopes = chunk.compute_slopes(V @ W32, keys[chunk.rows], weights[chunk.units])
                return np.asarray(V.T @ slopes)

            G = _sum_in_order(threads.map(sum_chunk, self.chunks)) + W / self.C
            return np.asarray(solve_triangular(self.factor, G, lower=True).T[column])

        with _open_thread_pool() as threads:
            Z = np.zeros((count, width))
            start = compute_gradient(Z, np.arange(count))
            Z = minimize(compute_gradient, Z, np.ones(width), TOLERANCE, first=start).weights
        return np.asarray(solve_triangular(self.factor, Z.T, lower=True, trans="T") * self.scale)


class CrossLogit:
    """Cross-validated conditional logits: each model is fitted to all folds except one.

    The keys of a model's omitted fold have weight 0 and change no bit of its scores.

    Args:
        V: (n, d) float32, as for `Logit`.
        fold: (U,) the 0-based fold of each unit; no fold is empty.
        C: See `Logit`.
        starts: (U,) the first row of each unit; None if each row is a unit.

    Attributes:
        unit_rounding: (U,) a bound on the rounding error of each unit's products, for weights of
            length 1.
    """

    def __init__(self, V: Singles, fold: Rows, *, C: float, starts: Rows | None = None):
        self.logit = Logit(V, C=C, starts=starts)
        self.V, self.fold, self.starts = V, fold, starts
        self.sizes = 1 if starts is None else np.diff(np.append(starts, len(V)))
        self.unit_rounding = ROUNDING_ERROR * compute_unit_lengths(V, starts)

    def score_rows(self, keys: Rows) -> tuple[Floats, Floats]:
        """Return the scores of rows, (rows, runs), by the models that were not fitted to them.

        Equal rows of a fold have bitwise equal scores. The second return value contains the
        lengths of the weights, shape (folds, r), to which rounding errors are proportional.

        Args:
            keys: (U, r) the key of each unit in each run: ±1 if each row is a unit, otherwise the
                index of the correct option.
        """
        folds, runs = int(self.fold.max()) + 1, keys.shape[1]
        coded_keys = keys.astype(np.float32)
        if self.starts is not None:
            coded_keys = np.zeros((len(self.V), runs), np.float32)
            np.put_along_axis(coded_keys, self.starts[:, None] + keys, 1, axis=0)
        is_fitted = (self.fold[:, None] != np.arange(folds)).astype(np.float32)
        W = self.logit.fit(np.repeat(is_fitted, runs, axis=1), np.tile(coded_keys, folds))
        own = W.T.reshape(folds, runs, -1)
        found = np.empty(coded_keys.shape)
        row_fold = np.repeat(self.fold, self.sizes)
        rows = [np.flatnonzero(row_fold == held_out) for held_out in range(folds)]
        with _open_thread_pool() as threads:
            scored = threads.map(_multiply_rows, (self.V[some] for some in rows), own)
            for some, products in zip(rows, scored, strict=True):
                found[some] = products
        return found, np.linalg.norm(own, axis=2)

    def bound_rounding_errors(self, lengths: Floats) -> Floats:
        """Return bounds on the rounding errors of the products from `score_rows`, (rows, runs).

        Args:
            lengths: (folds, r) the lengths that `score_rows` returned.
        """
        return np.repeat(self.unit_rounding[:, None] * lengths[self.fold], self.sizes, axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Consecutive rows that contain whole units, about `CHUNK` rows.

    Attributes:
        units: The slice of the units of these rows.
        starts: The first row of each unit, counted from the start of the chunk; None if each row is
            a unit.
    """

    rows: slice
    units: slice
    starts: Rows | None

    def compute_slopes(self, z: Singles, coded_keys: Singles, weights: Singles) -> Singles:
        """Return the derivative of each row's loss with respect to its score.

        Args:
            z: (n, c) the products, which are overwritten.
            coded_keys: (n, c) as for `Logit.fit`, or an array that broadcasts to that shape.
            weights: (units, c) weights.
        """
        if self.starts is None:
            z *= coded_keys
            np.exp(np.minimum(z, 80, out=z), out=z)
            z += 1
            np.divide(weights, z, out=z)
            z *= coded_keys
            return np.negative(z, out=z)
        sizes = np.diff(np.append(self.starts, len(z)))
        z -= np.repeat(np.maximum.reduceat(z, self.starts, axis=0), sizes, axis=0)
        np.exp(z, out=z)
        z /= np.repeat(np.add.reduceat(z, self.starts, axis=0), sizes, axis=0)
        z -= coded_keys
        z *= np.repeat(weights, sizes, axis=0)
        return z


def _factorize_bound(V: Singles, chunks: Sequence[_Chunk], C: float, scale: float) -> Floats:
    """Return the Cholesky factor of an upper bound on the loss's Hessian."""
    from scipy.linalg import LinAlgError, cholesky

    def compute_gram(chunk: _Chunk) -> Singles:
        some = V[chunk.rows]
        if chunk.starts is not None:  # options are centred within their units
            sizes = np.diff(np.append(chunk.starts, len(some)))
            means = np.add.reduceat(some, chunk.starts, axis=0) / sizes[:, None].astype(np.float32)
            some = np.asarray(some - np.repeat(means, sizes, axis=0), np.float32)
        return np.asarray(some.T @ some)

    with _open_thread_pool() as threads:
        gram = _sum_in_order(threads.map(compute_gram, chunks))
    bound = gram * (0.25 if chunks[0].starts is None else 0.5)
    bound[np.diag_indices_from(bound)] += scale**2 / C
    try:
        return np.asarray(cholesky(bound, lower=True, overwrite_a=True, check_finite=False))
    except LinAlgError:
        lengths = np.linalg.norm(V, axis=1) / scale
        raise DataError(
            f"no model can be fitted to vectors whose largest length is {lengths.max():.3g} and "
            f"median length {np.median(lengths):.3g}, with C = {C:g}; remove or shorten vectors "
            "that are far longer than the others, or choose a smaller C"
        ) from None


@contextmanager
def _open_thread_pool() -> Iterator[ThreadPoolExecutor]:
    with use_one_thread(), ThreadPoolExecutor(count_processors()) as threads:
        yield threads


def _sum_in_order(parts: Iterable[Singles]) -> Floats:
    parts = iter(parts)
    total = next(parts).astype(np.float64)
    for more in parts:
        total += more
    return total


def _multiply_rows(V: Singles, W: Floats) -> Floats:
    """Return the product of each row of `V`, (n, d), with each run's weights in `W`, (r, d).

    The products have the shape (n, r). Equal rows have bitwise equal products. Therefore BLAS is
    not used: its rounding depends on a row's position.
    """
    found = np.empty((len(V), len(W)))
    step = max(1, PRODUCT_CHUNK // V.shape[1])
    for at in range(0, len(V), step):
        rows = V[at : at + step].astype(np.float64)
        np.einsum("ij,kj->ik", rows, W, out=found[at : at + step])
    return found
