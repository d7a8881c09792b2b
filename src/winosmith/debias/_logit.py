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

Of problems with any number of options `Choices` puts those of each in an order of their vectors,
so that nothing is left of the order in which they were written, and tells what models get right.
`TwinUnits` are what a filter of whole twins counts, with the vectors by which each is guessed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, islice, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.blocks import blocks, copies, plain, whole_twins
from winosmith.dataset import Dataset
from winosmith.debias._rows import problem_labels
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

NARROW = 16, 64
"""Up to so many columns, so many rows are multiplied at a time: BLAS is quicker at both products
of a part that it need not pack."""

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.intp]


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
        self.factor = _factor(gram, self.C, starts is not None)

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
        keys = np.ones_like(weights) if turns is None else turns

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

    Rows of one fold stand together, so that what a model leaves out is never multiplied. No sum of
    which it is made holds anything of the keys of that fold, not even to be taken away again.

    Args:
        V: (n, d) float32, as for `Logit`.
        fold: (U,) the fold of each unit, from 0; none is empty.
        C: as for `Logit`.
        starts: (U,) the first row of each unit; None where a row is a unit.
    """

    def __init__(self, V: Singles, fold: Rows, *, C: float, starts: Rows | None = None):
        sizes = np.ones(len(fold), np.intp)
        if starts is not None:
            sizes = np.diff(np.append(starts, len(V)))
        self.starts = starts
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
        self.factor = _factor(gram, self.C, starts is not None)

    def _by_fold(self, parts: Iterable[Singles]) -> list[Floats]:
        """Return the sums of what was made of the chunks of each fold."""
        parts = iter(parts)
        return [_summed(islice(parts, len(list(chunks)))) for _, chunks in groupby(self.of)]

    def scores(self, keys: Rows) -> Floats:
        """Return the (n, r) products of rows with the weights of models that have not seen them.

        Equal rows of a fold have products with the same bits.

        Args:
            keys: (U, r) for each of r runs the key of each unit: ±1 where a row is a unit, else the
                place of the right option.
        """
        runs, found = keys.shape[1], np.empty((len(self.V), keys.shape[1]))
        if self.starts is None:
            turns = keys[self.order].astype(np.float32)
        else:
            turns = np.zeros(found.shape, np.float32)
            np.put_along_axis(turns, self.starts[:, None] + keys, 1, axis=0)
            turns = turns[self.order]
        with _threads() as threads:
            weights = self._fitted(turns, threads)
            own = weights.reshape(len(self.held), runs, -1)
            told = threads.map(_products, (self.V[rows] for rows in self.held), own)
            for rows, products in zip(self.held, told, strict=True):
                found[self.order[rows]] = products
        return found

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

                few = width <= NARROW[0] and chunk.starts is None
                return sum(map(slopes, chunk.parts(NARROW[1]))) if few else slopes(chunk)

            G = W / self.C
            told = self._by_fold(threads.map(part, self.chunks, self.of))
            for held, more in enumerate(told):
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
        starts: the first row of each unit, from 0; None where a row is a unit.
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
        starts: the first row of each unit; None where a row is a unit.
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


def _factor(gram: Floats, C: float, options: bool) -> Floats:
    """Return the Cholesky factor of a Hessian that none of the loss is above."""
    from scipy.linalg import cholesky

    bound = gram * (0.5 if options else 0.25)
    bound[np.diag_indices_from(bound)] += 1 / C
    return np.asarray(cholesky(bound, lower=True, overwrite_a=True, check_finite=False))


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


TIED = 1e-9
"""Scores that are nearer to each other than this part of the largest one are ties."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What models make of problems; (n, models) each.

    Attributes:
        leads: how far the highest option is above the runner-up; 0 where it ties.
        credit: what following the highest one earns: 1, 0, and 1 / (options tied) where the key is
            one of these.
        opposite: what naming any other one earns in the mean, (1 − credit) / (K − 1).
    """

    leads: Floats
    credit: Floats
    opposite: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Problems with their options and keys.

    Attributes:
        X: (n, K, d) float32, the options of each problem, zeros beyond its last one.
        key: (n,) the place of the right one.
        options: (n,) how many each has.
    """

    X: NDArray[np.float32]
    key: Rows
    options: Rows

    @classmethod
    def of(cls, X: NDArray[Any], key: ArrayLike, options: ArrayLike) -> Choices:
        """Return problems with their options in an order of their vectors.

        Raises:
            DataError: lengths that differ, vectors that are not finite, or a key that is no option.
        """
        X = np.asarray(X)
        keys, sizes = np.asarray(key), np.asarray(options, np.intp)
        if X.ndim != 3 or not X.size:
            raise DataError(f"X has the shape {X.shape}; it must be (problems, options, columns)")
        if not len(X) == len(keys) == len(sizes):
            raise DataError(
                f"there are {len(X)} problems in X, {len(keys)} keys and {len(sizes)} numbers of "
                "options"
            )
        wrong = np.flatnonzero((sizes < 2) | (sizes > X.shape[1]))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"problem {row} has {sizes[row]} options; 2 to {X.shape[1]} are in X")
        wrong = np.flatnonzero(~((keys >= 0) & (keys < sizes) & (keys == keys.astype(np.intp))))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"key[{row}] is {keys[row]}; the problem has {sizes[row]} options")
        if not np.isfinite(X).all():
            row = int(np.flatnonzero(~np.isfinite(X).all(axis=(1, 2)))[0])
            raise DataError(f"row {row} of X holds NaN or infinity; embed that problem again")
        place = np.tile(np.arange(X.shape[1]), (len(X), 1))
        for row, size in enumerate(sizes.tolist()):
            told = [_digest(X[row, option]) for option in range(size)]
            # of equal options the key goes first, or rounding would tell which it was
            place[row, :size] = sorted(range(size), key=lambda at: (told[at], at != keys[row]))
        moved = np.take_along_axis(X, place[:, :, None], axis=1).astype(np.float32)
        moved[np.arange(X.shape[1]) >= sizes[:, None]] = 0
        return cls(moved, np.argmax(place == keys[:, None], axis=1), sizes)

    def __len__(self) -> int:
        return len(self.key)

    def at(self, rows: Rows | NDArray[np.bool_]) -> Choices:
        """Return some of the problems."""
        return Choices(self.X[rows], self.key[rows], self.options[rows])

    @property
    def chance(self) -> float:
        """What knowing nothing gets right: the mean of 1 / K."""
        return float(np.mean(1 / self.options))

    @property
    def _stacked(self) -> tuple[NDArray[np.float32], Rows]:
        """Return all options one after the other, and where each problem starts."""
        there = np.arange(self.X.shape[1]) < self.options[:, None]
        return self.X[there], np.cumsum(self.options) - self.options

    def models(self, weights: NDArray[np.float32], C: float) -> Floats:
        """Return the (d, c) weights of models, each fitted to the problems with its own weights.

        Args:
            weights: (n, c) how often a model counts each problem.
            C: inverse strength of the penalty.
        """
        V, starts = self._stacked
        right = np.zeros((len(V), weights.shape[1]), np.float32)
        right[starts + self.key] = 1
        return Logit(V, C=C, starts=starts).fit(weights, right)

    def judged(self, W: Floats) -> Judged:
        """Return what models make of the problems."""
        V, starts = self._stacked
        with one_thread():
            scores = V @ W
        near = TIED * np.abs(scores).max(initial=0.0)
        top = np.maximum.reduceat(scores, starts)
        tied = scores >= np.repeat(top, self.options, axis=0) - near
        ties = np.add.reduceat(tied.astype(np.intp), starts)
        credit = tied[starts + self.key] / ties
        place = np.arange(len(V))[:, None]
        leader = np.minimum.reduceat(np.where(tied, place, len(V)), starts)
        np.put_along_axis(scores, leader, -np.inf, axis=0)
        leads = np.where(ties > 1, 0.0, top - np.maximum.reduceat(scores, starts))
        return Judged(leads, credit, (1 - credit) / (self.options[:, None] - 1))

    def canonical(self) -> NDArray[np.float32]:
        """Return a row a problem, (n, K d + 1), with the key in the last column."""
        return np.hstack([self.X.reshape(len(self), -1), self.key[:, None].astype(np.float32)])


def _digest(values: NDArray[Any]) -> bytes:
    plain = np.ascontiguousarray(values, np.float32) + np.float32(0)
    return hashlib.blake2b(plain.tobytes(), digest_size=16).digest()


def choice_keys(data: Dataset) -> Rows:
    """Return the places of the right options, from 0, whatever their number.

    Raises:
        DataError: there is no problem, or an answer is withheld.
    """
    answers: Sequence[int | None] = data.answers
    if not len(answers):
        raise DataError("there are no problems to filter")
    withheld = [problem for problem in data if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answer of the problem {withheld[0].id!r} is withheld; a filter needs answers; "
            f"leave out the {len(withheld)} without one"
        )
    return np.array(answers, np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class TwinUnits:
    """Twins and singles, as `mirror` takes them: each one vector, or one for each of its options.

    Attributes:
        V: (U, d) float32: the sum over the halves of ±x, + where the first option is right; of
            identical halves the mean is taken first. With `items` a row an option.
        rows: for each unit the rows of the data set that go or stay with it, ascending.
        blocks: (U,) equal for units of one family and for those with identical sentences.
        kinds: (U,) "twin" or "single".
        ids: (U,) the id of each unit's first problem by id.
        items: (n,) the unit of each row of V; None where a row is a unit.
        key: (U,) the place of the right one among each unit's rows; None where a row is a unit.
    """

    V: NDArray[np.float32]
    rows: tuple[tuple[int, ...], ...]
    blocks: tuple[int, ...]
    kinds: tuple[str, ...]
    ids: tuple[str, ...]
    items: NDArray[np.intp] | None = None
    key: NDArray[np.intp] | None = None

    def rows_of(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the ascending rows of some units."""
        return np.array(sorted(row for unit in units for row in self.rows[unit]), np.intp)


def twin_units(pool: Dataset, X: NDArray[Any]) -> TwinUnits:
    """Return the units of problems and their vectors.

    A unit is a twin with all copies of its halves, or a single with its copies. Swapping the
    options of a problem, and its answer with them, changes nothing: x turns round, and so does its
    sign. What merely looks alike is not one block here: where people repeat themselves, that is
    what a filter is to find. (Splits keep it together: see `winosmith.blocks`.)

    Args:
        pool: problems with two options each and known answers.
        X: (n, d) vectors that turn round when the options are swapped, such as those of
            `difference`.

    Raises:
        DataError: see `problem_labels`; or another number of vectors.

    >>> from winosmith import Problem
    >>> a = Problem("a", "It is in the _ as it is old.", ("box", "bin"), 0, "t")
    >>> b = Problem("b", "It is in the _ as it is new.", ("box", "bin"), 1, "t")
    >>> twin_units(Dataset([a, b]), np.array([[3.0, 1.0], [3.0, 0.0]])).V.tolist()
    [[0.0, 1.0]]
    """
    signs = 1 - 2 * problem_labels(pool).astype(np.float32)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    identical = copies(pool)
    copy_of = {row: rows[0] for rows in identical for row in rows}
    first = [copy_of.get(row, row) for row in range(len(pool))]
    share = (1 / np.bincount(first, minlength=len(pool))[first]).astype(np.float32)
    rows = whole_twins(pool, identical)
    ids, weights = pool.ids, (signs * share)[:, None]
    # summed by id, or another order of the rows would change the last bit
    summed = [sorted(group, key=ids.__getitem__) for group in rows]
    V = np.stack([(X[group].astype(np.float32) * weights[group]).sum(axis=0) for group in summed])
    block_of = {row: at for at, block in enumerate(blocks(pool, lookalikes=False)) for row in block}
    return TwinUnits(
        V=V,
        rows=tuple(map(tuple, rows)),
        blocks=tuple(block_of[group[0]] for group in rows),
        kinds=tuple("twin" if len({first[row] for row in g}) > 1 else "single" for g in rows),
        ids=tuple(ids[group[0]] for group in summed),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """One unit of some options: its vectors, its key, its rows."""

    V: NDArray[np.float32]
    key: int
    rows: list[int]
    kind: str


def option_units(pool: Dataset, X: NDArray[Any]) -> TwinUnits:
    """Return the units of problems of any number of options, and the vectors of their options.

    A unit is a problem with its copies. A twin is one unit, with the copies of its halves: of two
    options each its key is one bit, as in `twin_units`; of K each there are K (K − 1) keys, the
    pairs of different options that its halves can have, and a pair's vector is the sum of the two.
    (Vectors of the options alone are the same in both halves, so that pairs tie in twos: of a twin
    nothing is guessed by them.) Copies that contradict each other are guessed by nothing, too.

    Args:
        pool: problems with known answers.
        X: (n, K, d) vectors of the options of each problem, such as `embed_options` returns.

    Raises:
        DataError: an answer is withheld, there is no problem, or another number of vectors.

    >>> from winosmith import Problem
    >>> a = Problem("a", "Why is it dark? _", ("night", "noon", "rain"), 0)
    >>> b = Problem("b", "Who barks? _", ("dog", "cat"), 0)
    >>> units = option_units(Dataset([a, b]), np.ones((2, 3, 1)))
    >>> units.items.tolist(), units.key.tolist()
    ([0, 0, 0, 1, 1], [0, 0])
    """
    keys = choice_keys(pool)
    if X.ndim != 3 or len(X) != len(pool):
        raise DataError(f"X has the shape {X.shape}; (problems, options, columns) is needed")
    identical = copies(pool)
    copy_of = {row: rows[0] for rows in identical for row in rows}
    block_of = {row: at for at, block in enumerate(blocks(pool, lookalikes=False)) for row in block}
    found: list[_Choice] = []
    for group in whole_twins(pool, identical):
        halves: dict[int, list[int]] = {}
        for row in sorted(group, key=pool.ids.__getitem__):
            halves.setdefault(copy_of.get(row, row), []).append(row)
        found += _choices(pool, X, keys, list(halves.values()))
    return TwinUnits(
        V=np.concatenate([unit.V for unit in found]),
        rows=tuple(tuple(sorted(unit.rows)) for unit in found),
        blocks=tuple(block_of[unit.rows[0]] for unit in found),
        kinds=tuple(unit.kind for unit in found),
        ids=tuple(pool.ids[unit.rows[0]] for unit in found),
        items=np.repeat(np.arange(len(found)), [len(unit.V) for unit in found]),
        key=np.array([unit.key for unit in found], np.intp),
    )


def _choices(
    pool: Dataset, X: NDArray[Any], keys: NDArray[np.intp], halves: Sequence[list[int]]
) -> Iterator[_Choice]:
    """Yield the units of one group: a single, a twin, or halves that make no one twin.

    Args:
        pool: all problems.
        X: their vectors.
        keys: their answers.
        halves: the rows of each half with its copies, sorted by id.
    """
    named = [[plain(option) for option in pool[rows[0]].options] for rows in halves]
    right = [{plain(pool[row].options[keys[row]]) for row in rows} for rows in halves]
    told = all(len(one) == 1 for one in right)
    of = [X[rows[0], : len(names)] for rows, names in zip(halves, named, strict=True)]
    of = [np.asarray(one, np.float32) * np.float32(told) for one in of]
    rows, kind = [row for half in halves for row in half], "twin" if len(halves) > 1 else "single"
    if {len(names) for names in named} == {2}:
        v = np.zeros(X.shape[2], np.float32)
        for one, half in zip(of, halves, strict=True):
            v += one[keys[half[0]]] - one[1 - keys[half[0]]]
        yield _Choice(np.stack([v, 0 * v]), 0, sorted(rows, key=pool.ids.__getitem__), kind)
    elif len(halves) == 2 and sorted(named[0]) == sorted(named[1]) and right[0] != right[1]:
        there = [named[1].index(name) for name in named[0]]
        pairs = list(permutations(range(len(there)), 2))
        V = np.stack([of[0][i] + of[1][there[j]] for i, j in pairs])
        key = pairs.index((int(keys[halves[0][0]]), there.index(int(keys[halves[1][0]]))))
        yield _Choice(V, key, sorted(rows, key=pool.ids.__getitem__), kind)
    else:
        for one, half in zip(of, halves, strict=True):
            yield _Choice(one, int(keys[half[0]]), half, "single")
