"""Many conditional logits without an intercept at once: one fold, draw or guesser a column.

A *unit* is one choice: one of its options is right, and each option is a vector. What a linear
model without an intercept sees of it are the products of the options' vectors with one shared
vector of weights (McFadden 1974, the conditional logit). Where there are two options only their
difference counts, so a unit is one row: the right option's vector minus the other's.

All columns share the rows, so that one pass over these serves every column, and one matrix turns
all their losses nearly round: the bound of Böhning (1992, "Multinomial logistic regression
algorithm"), that the Hessian is nowhere above half of what the rows, centred in their units, give.
In the basis of its Cholesky factor the Hessian is at most the identity. So a plain gradient step of
length one always descends, and L-BFGS (Nocedal & Wright 2006, algorithm 7.4), which takes ten or
so, needs no line search: where one of its steps leads uphill, the column takes the plain one.

The sums run over fixed chunks of rows and are added in one order, with BLAS on one thread in each:
the number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import DataError
from winosmith.parallel import one_thread

CHUNK = 1024
"""Rows that are multiplied at a time: 4 MB at 1,024 columns."""

TOLERANCE = 1e-3
"""A column is done when its Newton decrement falls below this, as in `debias.aflite`; the step that
it measures is still taken."""

MEMORY = 8
"""Pairs of steps and changes of gradient that are kept."""

LONGEST = 100
"""Steps after which a column stays where it is. Ten are usual; more are only taken where the rows
are separable and C is large, so that the least loss is far away and the weights hardly turn."""

CACHED = 1 << 16
"""Numbers that are multiplied at a time where no BLAS is: half a megabyte, which stays in a
processor's cache."""

GRAM = 4 * CHUNK
"""Rows whose products with each other are summed in single precision: enough for a bound."""

ROUNDING = 1e-6
"""Cosines of a row and a model's weights that mean nothing: sixteen times what single precision
rounds off (2^-24). What a model has learnt nothing of is orthogonal to its weights except for that,
and the sign of what is left is a coin's that falls the same way on one machine."""

USUAL = 0.9
"""The share of units that are no longer than what a shorter one counts as: a short one may be what
two long ones left of each other, and the few that are far longer than all others say nothing of
these."""

NARROW = 16, 64
"""Up to so many columns, so many rows are multiplied at a time: BLAS is quicker at both products
of a part that it need not pack."""

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.intp]


def rounding_error(V: NDArray[Any], W: Floats, starts: Rows | None = None) -> Floats:
    """Return how far rounding alone may move or part the products of units, (U, c).

    The rounding of a product is relative to the lengths of what is multiplied (Higham 2002,
    "Accuracy and stability of numerical algorithms", section 3.1); a unit's is that of its longest
    row, or the `USUAL` one where that is longer.

    Args:
        V: (n, d) rows, not none.
        W: (d, c) weights.
        starts: (U,) the first row of each unit; None if a row is a unit.
    """
    return ROUNDING * np.outer(unit_lengths(V, starts), np.linalg.norm(W, axis=0))


def unit_lengths(V: NDArray[Any], starts: Rows | None = None) -> Floats:
    """Return the length that each unit counts as, (U,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", V, V, dtype=np.float64))
    if starts is not None:
        lengths = np.maximum.reduceat(lengths, starts)
    return np.asarray(np.maximum(lengths, np.quantile(lengths, USUAL, method="lower")))


class Logit:
    """Rows, ready to be fitted again and again.

    Args:
        V: (n, d) float32: a row an option, those of a unit one after the other; or a row a unit,
            turned so that + is right, when `starts` is None.
        C: inverse strength of the penalty; a column minimises
            ``1/(2C) |w|² + sum of weight · log loss``.
        starts: (U,) the first row of each unit.

    The rows must fit into memory; they are not changed. A column that is not at the
    least loss after `LONGEST` steps is returned as it is then; that is a model too, which has seen
    what it was given and nothing else.
    """

    def __init__(self, V: Singles, *, C: float, starts: Rows | None = None):
        self.V, self.scale = _scaled(V)
        self.C = C / self.scale**2
        self.chunks = list(_chunks([len(V)], starts))
        with _threads() as threads:
            gram = _summed(threads.map(partial(_gram, self.V), self.chunks))
        self.factor = _factor(gram, self.V, C, self.scale, starts is not None)

    def fit(self, weights: Singles, turns: Singles | None = None) -> Floats:
        """Return the (d, c) weights of every column.

        Args:
            weights: (U, c) how often a column counts each unit; 0 leaves it out.
            turns: where a row is a unit: (U, c) ±1, −1 where a column sees the unit turned round.
                None for 1 everywhere. Where it is an option: (n, c) 1 at the right option of each
                unit, 0 elsewhere.
        """
        from scipy.linalg import solve_triangular

        count, width = weights.shape[1], len(self.factor)
        keys = np.broadcast_to(np.float32(1), weights.shape) if turns is None else turns

        def gradient(Z: Floats, column: Rows) -> Floats:
            some = column if len(column) < count else slice(None)  # of all, nothing is copied
            W = solve_triangular(self.factor, Z.T, lower=True, trans="T")
            W32 = np.ascontiguousarray(W, np.float32)

            def part(chunk: _Chunk) -> Singles:
                V = self.V[chunk.rows]
                turned, counts = keys[chunk.rows][:, some], weights[chunk.units][:, some]
                return np.asarray(V.T @ chunk.slopes(V @ W32, turned, counts))

            G = _summed(threads.map(part, self.chunks)) + W / self.C
            return np.asarray(solve_triangular(self.factor, G, lower=True).T)

        with _threads() as threads:
            Z = np.zeros((count, width))
            start = gradient(Z, np.arange(count))
            Z = _minimised(gradient, Z, start, np.maximum(1, weights.max(axis=0)))
        return np.asarray(solve_triangular(self.factor, Z.T, lower=True, trans="T") * self.scale)


class CrossLogit:
    """Rows dealt to folds, and by models of which each was fitted to all folds but one.

    Rows of one fold stand together, so that what a model omits is never multiplied. No sum of
    which it is made holds anything of the keys of that fold, not even to be taken away again.

    Args:
        V: (n, d) float32, as for `Logit`.
        fold: (U,) the fold of each unit, from 0; none is empty.
        C: as for `Logit`.
        starts: (U,) the first row of each unit; None if a row is a unit.

    Attributes:
        rounded: (U,) times how long weights are the products of a unit may be moved by rounding.
    """

    def __init__(self, V: Singles, fold: Rows, *, C: float, starts: Rows | None = None):
        sizes = np.ones(len(fold), np.intp)
        if starts is not None:
            sizes = np.diff(np.append(starts, len(V)))
        self.starts, self.fold, self.sizes = starts, fold, sizes
        self.rounded = ROUNDING * unit_lengths(V, starts)
        self.order = np.argsort(np.repeat(fold, sizes), kind="stable")
        ends = np.cumsum(np.bincount(fold, sizes).astype(np.intp))
        there = sizes[np.argsort(fold, kind="stable")]
        self.V, self.scale = _scaled(V[self.order])
        self.C = C / self.scale**2
        self.held = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        first = None if starts is None else np.cumsum(there) - there
        self.chunks = list(_chunks(ends.tolist(), first))
        self.of = [int(np.searchsorted(ends, c.rows.start, "right")) for c in self.chunks]
        with _threads() as threads:
            large = _chunks([len(V)], first, GRAM)
            gram = _summed(threads.map(partial(_gram, self.V), large))
        self.factor = _factor(gram, self.V, C, self.scale, starts is not None)

    def _by_fold(self, parts: Iterable[Singles]) -> list[Floats]:
        """Return the sums of what was made of the chunks of each fold."""
        parts = iter(parts)
        return [_summed(islice(parts, len(list(chunks)))) for _, chunks in groupby(self.of)]

    def scores(self, keys: Rows) -> tuple[Floats, Floats]:
        """Return the (n, r) products of rows with the weights of models that have not seen them.

        Equal rows of a fold have products with the same bits. With them come the (folds, r) lengths
        of the weights, times which products are rounded.

        Args:
            keys: (U, r) for each of r runs the key of each unit: ±1 where a row is a unit, else the
                place of the right option.
        """
        runs = keys.shape[1]
        found = np.empty((len(self.V), runs))
        if self.starts is None:
            turns = keys[self.order].astype(np.float32)
        else:
            turns = np.zeros(found.shape, np.float32)
            np.put_along_axis(turns, self.starts[:, None] + keys, 1, axis=0)
            turns = turns[self.order]
        with _threads() as threads:
            weights = self._fitted(turns, threads)
            own = weights.reshape(len(self.held), runs, -1)
            products_of = threads.map(_products, (self.V[rows] for rows in self.held), own)
            for rows, products in zip(self.held, products_of, strict=True):
                found[self.order[rows]] = products
        return found, self.scale * np.linalg.norm(own, axis=2)

    def rounding_error(self, long: Floats) -> Floats:
        """Return how far rounding alone may move or part the products of rows, (n, r).

        Args:
            long: (folds, r) the lengths that `scores` returned with them.
        """
        return np.repeat(self.rounded[:, None] * long[self.fold], self.sizes, axis=0)

    def _fitted(self, turns: Singles, threads: ThreadPoolExecutor) -> Floats:
        """Return the (folds · r, d) weights, by fold and then by run.

        Args:
            turns: (n, r) as for `Logit.fit`, in the order of the rows here.
            threads: who multiplies.
        """
        runs, folds = turns.shape[1], len(self.held)

        def at_zero(chunk: _Chunk) -> Singles:
            keys = turns[chunk.rows]
            return np.asarray(chunk.slopes(np.zeros_like(keys), keys).T @ self.V[chunk.rows])

        def gradient(Z: Floats, column: Rows) -> Floats:
            fold, run = np.divmod(column, runs)
            # a run's models stay until all are done: a product's bits may depend on its width
            there, at = np.unique(run, return_inverse=True)
            W = np.zeros((folds, len(there), self.V.shape[1]))
            W[fold, at] = Z
            W = self._solved(W, "T")
            W32, width = W.astype(np.float32), (folds - 1) * len(there)
            others = [
                np.concatenate([W32[:held], W32[held + 1 :]]).reshape(width, -1).T
                for held in range(folds)
            ]

            def part(chunk: _Chunk, held: int) -> Singles:
                def slopes(some: _Chunk) -> Singles:
                    V, keys = self.V[some.rows], turns[some.rows][:, None, there]
                    z = (V @ others[held]).reshape(len(V), -1, len(there))
                    return np.asarray(some.slopes(z, keys).reshape(len(V), -1).T @ V)

                if width > NARROW[0] or chunk.starts is not None:
                    return slopes(chunk)
                return reduce(np.add, map(slopes, chunk.parts(NARROW[1])))

            G = W / self.C
            by_fold = self._by_fold(threads.map(part, self.chunks, self.of))
            for held, more in enumerate(by_fold):
                apart = more.reshape(folds - 1, *G.shape[1:])
                G[:held] += apart[:held]
                G[held + 1 :] += apart[held:]
            return np.asarray(self._solved(G, "N")[fold, at])

        # all models of a run begin with the same slopes, so that their sums are shared
        sums = self._by_fold(threads.map(at_zero, self.chunks))
        nothing = np.zeros((runs, self.V.shape[1]))
        before = accumulate(sums[:-1], initial=nothing)
        behind = [*accumulate(sums[:0:-1], initial=nothing)][::-1]
        G = np.concatenate([one + other for one, other in zip(before, behind, strict=True)])
        start = self._solved(G, "N")
        Z = _minimised(gradient, np.zeros_like(start), start, np.ones(len(start)))
        return self._solved(Z, "T")

    def _solved(self, columns: Floats, trans: str) -> Floats:
        """Return (..., d) columns in, or with "T" from, the basis of the factor."""
        from scipy.linalg import solve_triangular

        b = columns.reshape(-1, len(self.factor)).T
        found = solve_triangular(self.factor, b, lower=True, trans=trans, check_finite=False)
        return np.asarray(found.T).reshape(columns.shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Some rows in whole units.

    Attributes:
        rows: which they are.
        units: which units they are of.
        starts: the first row of each unit, from 0; None if a row is a unit.
    """

    rows: slice
    units: slice
    starts: Rows | None

    def parts(self, size: int) -> Iterator[_Chunk]:
        """Yield the rows, each a unit, in parts of a size."""
        for begin in range(self.rows.start, self.rows.stop, size):
            rows = slice(begin, min(begin + size, self.rows.stop))
            yield _Chunk(rows, rows, None)

    def slopes(self, z: Singles, turns: Singles, weights: Singles | float = 1) -> Singles:
        """Return the derivative of each row's loss by its product with the weights.

        Args:
            z: (n, c) the products; they are written over.
            turns: (n, c) as for `Logit.fit`, or what that is spread to.
            weights: (units, c), or one for all.
        """
        if self.starts is None:
            z *= turns
            np.exp(np.minimum(z, 80, out=z), out=z)
            z += 1
            np.divide(weights, z, out=z)
            z *= turns
            return np.negative(z, out=z)
        sizes = np.diff(np.append(self.starts, len(z)))
        z -= np.repeat(np.maximum.reduceat(z, self.starts, axis=0), sizes, axis=0)
        np.exp(z, out=z)
        z /= np.repeat(np.add.reduceat(z, self.starts, axis=0), sizes, axis=0)
        z -= turns
        if not isinstance(weights, float | int):
            z *= np.repeat(weights, sizes, axis=0)
        return z


def _chunks(ends: Iterable[int], starts: Rows | None, size: int = CHUNK) -> Iterator[_Chunk]:
    """Yield rows in chunks; a unit stays whole.

    Args:
        ends: ascending rows before which a chunk must end; the last one is how many there are.
        starts: the first row of each unit; None if a row is a unit.
        size: how many rows a chunk has, and what its last unit needs.
    """
    begin = 0
    for last in ends:
        stops = [*range(begin + size, last, size), last]
        if starts is not None:
            cuts = np.append(starts[starts < last], last)
            stops = sorted({int(cuts[np.searchsorted(cuts, stop)]) for stop in stops})
        for stop in stops:
            rows = units = slice(begin, stop)
            first = None
            if starts is not None:
                units = slice(*np.searchsorted(starts, (begin, stop)).tolist())
                first = starts[units] - begin
            yield _Chunk(rows, units, first)
            begin = stop


def _gram(V: Singles, chunk: _Chunk) -> Singles:
    """Return the (d, d) products of a chunk's rows; of options minus the mean of their unit."""
    some = V[chunk.rows]
    if chunk.starts is not None:
        sizes = np.diff(np.append(chunk.starts, len(some)))
        means = np.add.reduceat(some, chunk.starts, axis=0) / sizes[:, None].astype(np.float32)
        some = np.asarray(some - np.repeat(means, sizes, axis=0), np.float32)
    return np.asarray(some.T @ some)


def _scaled(V: Singles) -> tuple[Singles, float]:
    """Return rows times a power of two, as in `_solver`, where squares might leave float32."""
    largest = float(max(V.max(), -V.min()))
    if 2**-20 < largest < 2**20:
        return V, 1.0
    scale = float(2.0 ** -np.frexp(largest)[1])
    return V * np.float32(scale), scale


def _factor(gram: Floats, V: Singles, C: float, scale: float, options: bool) -> Floats:
    """Return the Cholesky factor of a Hessian that none of the loss is above.

    Raises:
        DataError: in single precision it equals one that has none.
    """
    from scipy.linalg import LinAlgError, cholesky

    bound = gram * (0.5 if options else 0.25)
    bound[np.diag_indices_from(bound)] += scale**2 / C
    try:
        return np.asarray(cholesky(bound, lower=True, overwrite_a=True, check_finite=False))
    except LinAlgError:
        lengths = np.linalg.norm(V, axis=1) / scale
        raise DataError(
            f"no model can be fitted to vectors of which the longest has a length of "
            f"{lengths.max():.3g}, and half one of at most {np.median(lengths):.3g}, with a C of "
            f"{C:g}: leave out or shorten those that are far longer than the others, or give a "
            "smaller C"
        ) from None


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """Yield a thread for each processor, with linear algebra on one in each."""
    with one_thread(), ThreadPoolExecutor(os.cpu_count()) as threads:
        yield threads


def _summed(parts: Iterable[Singles]) -> Floats:
    """Return the sum of parts in their order."""
    parts = iter(parts)
    total = next(parts).astype(np.float64)
    for more in parts:
        total += more
    return total


def _products(V: Singles, W: Floats) -> Floats:
    """Return the (n, r) products of rows with weights; the same bits for equal rows.

    No BLAS, in which a row's place decides how its sum is rounded.

    Args:
        V: (n, d) rows.
        W: (r, d) weights of r runs.
    """
    found = np.empty((len(V), len(W)))
    step = max(1, CACHED // V.shape[1])
    for at in range(0, len(V), step):
        some = V[at : at + step].astype(np.float64)
        np.einsum("ij,kj->ik", some, W, out=found[at : at + step])
    return found


def _minimised(
    gradient: Callable[[Floats, Rows], Floats], Z: Floats, G: Floats, steepest: NDArray[Any]
) -> Floats:
    """Return where the losses of the (c, d) columns are least.

    Args:
        gradient: (k, d) places and the k columns they belong to → (k, d) gradients.
        Z: where they start.
        G: the gradients there.
        steepest: (c,) what each column's Hessian is nowhere above: so many times the identity.
    """
    found, column = Z.copy(), np.arange(len(Z))
    pairs: list[tuple[Floats, Floats, Floats]] = []
    for _ in range(LONGEST):
        step = _direction(G, pairs)
        slope = _dots(G, step)
        done = (-slope < TOLERANCE**2) & (slope <= 0)
        if done.any():
            found[column[done]] = Z[done] + step[done]
            left = ~done
            column, Z, G, step, slope = column[left], Z[left], G[left], step[left], slope[left]
            pairs = [(s[left], y[left], r[left]) for s, y, r in pairs]
        if not column.size:
            return found
        ahead = gradient(Z + step, column)
        uphill = _dots(ahead, step) > -slope  # further past the least than it was before it
        if uphill.any():
            step[uphill] = -G[uphill] / steepest[column[uphill], None]
            ahead[uphill] = gradient(Z[uphill] + step[uphill], column[uphill])
            for _, _, rho in pairs:
                rho[uphill] = 0  # what was learnt misled
        Z, change, G = Z + step, ahead - G, ahead
        sy = _dots(step, change)
        good = sy > 1e-12 * np.sqrt(_dots(step, step) * _dots(change, change))
        rho = np.divide(1.0, sy, out=np.zeros_like(sy), where=good)
        pairs = [*pairs, (step, change, rho)][-MEMORY:]
    found[column] = Z
    return found


def _direction(G: Floats, pairs: list[tuple[Floats, Floats, Floats]]) -> Floats:
    """Return minus the inverse Hessian of L-BFGS times the gradient (the two loops).

    Between these it is what the last step has shown it to be (equation 7.20): where most units are
    surely right, the Hessian is far below its bound.
    """
    q, weights = G.copy(), []
    for s, y, rho in reversed(pairs):
        a = rho * _dots(s, q)
        weights.append(a)
        q -= a[:, None] * y
    if pairs:
        _, y, rho = pairs[-1]
        q *= np.divide(1.0, rho * _dots(y, y), out=np.ones_like(rho), where=rho > 0)[:, None]
    for (s, y, rho), a in zip(pairs, reversed(weights), strict=True):
        q += (a - rho * _dots(y, q))[:, None] * s
    return -q


def _dots(a: Floats, b: Floats) -> Floats:
    """Return the dot product of each column's vectors."""
    return np.asarray((a * b).sum(axis=1))
