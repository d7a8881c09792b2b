"""AFLite's loops over rows and classifiers, compiled by numba.

All loops run on the *basis*: rows of `D` float32 values that include the intercept (see `_solver`;
`D` is a multiple of 16), so that a decision value is one dot product. The loops visit only the
requested (row, classifier) pairs, in blocks of `BLOCK_ROWS` rows that stay in the second-level
cache while all classifiers use them. Four rows are processed at a time, so that each weight is
loaded once for four rows. Each classifier's sums run in the order of the rows and are never split.
So not one bit of a sum depends on the other classifiers in the call or on the number of threads.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from winosmith.debias._rows import copy_aligned

Floats = NDArray[np.float64]
Positions = NDArray[np.int32]

Gradient = Callable[[Floats, NDArray[np.intp]], Floats]
"""A function from (c, D) weights and the indices of the columns to (c, D) gradients."""

CLOSE_MARGIN = np.float32(1e-4)
"""Votes whose decision value is below this magnitude are counted as close."""

BLOCK_ROWS = 128
"""The number of rows in a block: 0.5 MB with 1,024 dimensions, half of a typical L2 cache."""

BLOCKS_PER_SUM = 4
"""The number of blocks after which the float32 partial sums are added to the float64 sums."""

MIN_LOGGED_SECONDS = 0.7
"""Compilation is logged if it takes at least this many seconds; loading cached code takes 0.3 s."""

_FAST = {"reassoc", "contract", "nsz", "arcp"}  # vector sums; infinities and NaN are preserved

Function = TypeVar("Function", bound=Callable[..., Any])
Array = Any  # for the type checker; docstrings give the types


def compile_cached(function: Function) -> Function:
    """Compile a function with numba on its first call, caching the machine code if possible."""
    options = {"fastmath": _FAST, "nogil": True}
    try:
        return numba.njit(function, cache=True, **options)  # type: ignore[no-any-return]
    except RuntimeError:  # no cache folder is writable
        logging.getLogger(__name__).info(
            "no folder for compiled code is writable, so it is compiled in every process; "
            "set NUMBA_CACHE_DIR to a writable folder"
        )
        return numba.njit(function, **options)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Kernel:
    """AFLite's loops on a basis and its labels, compiled for this machine's processor.

    `X` is the basis, (N, D) float32.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float32]

    def __post_init__(self) -> None:
        compile_loops()

    def make_gradient(self, rows: Positions, partitions: Sequence[Positions]) -> Gradient:
        """Return a function that computes the classifiers' gradients.

        `rows` are the rows left, ascending. `partitions` are the training rows of each classifier,
        as ascending positions among `rows`.
        """
        begin, end, positions = _concatenate(partitions)

        def compute_gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
            G = np.empty(W.shape)
            first, last = begin[columns], end[columns]
            write_gradients(self.X, self.y, rows, first, last, positions, copy_aligned(W), G)
            return G

        return compute_gradient

    def count_votes(
        self, rows: Positions, partitions: Sequence[Positions], weights: Floats
    ) -> tuple[Positions, Positions, int]:
        """Count each row's correct and total held-out predictions, and the close votes."""
        correct, total = np.zeros((2, len(rows)), np.int32)
        even = copy_aligned(np.concatenate([weights, weights[: len(weights) % 2]]))
        close = count_votes(self.X, self.y, rows, *_concatenate(partitions), even, correct, total)
        return correct, total, close


def _concatenate(
    partitions: Sequence[Positions],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Positions]:
    sizes = np.array([len(part) for part in partitions], np.int64)
    end = np.cumsum(sizes)
    return end - sizes, end, np.concatenate(partitions)


@functools.cache
def compile_loops() -> None:
    """Compile every loop by calling it with the argument types in use.

    The first run on a machine compiles for a few seconds, which is logged at level INFO on this
    module's logger; later runs load the code from numba's cache.
    """
    X, y = np.zeros((2, 16), np.float32), np.zeros(2, np.float32)
    rows = positions = np.arange(2, dtype=np.int32)
    begin, end = np.array([0], np.int64), np.array([1], np.int64)
    counts, wide = np.zeros(2, np.int32), np.zeros((1, 16))
    announcement = threading.Timer(
        MIN_LOGGED_SECONDS,
        logging.getLogger(__name__).info,
        ["compiling AFLite for this machine, which takes a few seconds the first time"],
    )
    announcement.daemon = True
    announcement.start()
    try:
        write_gradients(X, y, rows, begin, end, positions, X[:1], wide)
        count_votes(X, y, rows, begin, end, positions, X, counts, counts.copy())
    finally:
        announcement.cancel()


@compile_cached
def dot_four_rows(X: Array, a: int, b: int, c: int, d: int, w: Array) -> Any:
    xa, xb, xc, xd = X[a], X[b], X[c], X[d]
    za = zb = zc = zd = np.float32(0)
    for k in range(w.shape[0]):
        wk = w[k]
        za += xa[k] * wk
        zb += xb[k] * wk
        zc += xc[k] * wk
        zd += xd[k] * wk
    return za, zb, zc, zd


@compile_cached
def dot_row(X: Array, a: int, w: Array) -> Any:
    xa = X[a]
    za = np.float32(0)
    for k in range(w.shape[0]):
        za += xa[k] * w[k]
    return za


@compile_cached
def sigmoid(z: Any) -> Any:
    return np.float32(1) / (np.float32(1) + np.exp(-z))


@compile_cached
def write_gradients(
    X: Array,
    y: Array,
    rows: Array,
    begin: Array,
    end: Array,
    positions: Array,
    W: Array,
    G: Array,
) -> None:
    """Write the gradients of the classifiers' summed losses to `G`.

    Args:
        X: (N, D) float32 basis.
        y: (N,) float32 labels, 0 or 1.
        rows: (size,) int32, the rows of `X` that are left, in ascending order.
        begin: (c,) int64 start indices; classifier j is trained on `positions[begin[j]:end[j]]`.
        end: (c,) int64 end indices.
        positions: int32 indices into `rows`, ascending within a classifier.
        W: (c, D) float32 weights.
        G: (c, D) float64, which is overwritten.
    """
    count, width = W.shape
    partial = np.zeros((count, width), np.float32)
    at = begin.copy()
    G[:] = 0.0
    for first in range(0, rows.shape[0], BLOCK_ROWS):
        last = first + BLOCK_ROWS
        flush = (last // BLOCK_ROWS) % BLOCKS_PER_SUM == 0 or last >= rows.shape[0]
        for j in range(count):
            p, stop, w, g = at[j], end[j], W[j], partial[j]
            while p + 4 <= stop and positions[p] < last:  # these four may extend past the block
                a, b = rows[positions[p]], rows[positions[p + 1]]
                c, d = rows[positions[p + 2]], rows[positions[p + 3]]
                za, zb, zc, zd = dot_four_rows(X, a, b, c, d, w)
                ra, rb = sigmoid(za) - y[a], sigmoid(zb) - y[b]
                rc, rd = sigmoid(zc) - y[c], sigmoid(zd) - y[d]
                xa, xb, xc, xd = X[a], X[b], X[c], X[d]
                for k in range(width):
                    g[k] += ra * xa[k] + rb * xb[k] + rc * xc[k] + rd * xd[k]
                p += 4
            while p < stop and positions[p] < last:
                a = rows[positions[p]]
                ra = sigmoid(dot_row(X, a, w)) - y[a]
                xa = X[a]
                for k in range(width):
                    g[k] += ra * xa[k]
                p += 1
            at[j] = p
            if flush:
                total = G[j]
                for k in range(width):
                    total[k] += g[k]
                    g[k] = 0


@compile_cached
def _compute_decision_values(X: Array, rows: Array, first: int, W: Array, Z: Array) -> None:
    """Write the decision values of a block of rows to `Z`, (BLOCK_ROWS, c).

    The block starts at position `first`. Four rows are always combined with the same two
    classifiers, so that no bit depends on the other classifiers. The last row is repeated until the
    number of rows is a multiple of four.
    """
    final = rows.shape[0] - 1
    for i in range(0, min(BLOCK_ROWS, final + 1 - first), 4):
        a, b = rows[first + i], rows[min(first + i + 1, final)]
        c, d = rows[min(first + i + 2, final)], rows[min(first + i + 3, final)]
        xa, xb, xc, xd = X[a], X[b], X[c], X[d]
        for j in range(0, W.shape[0], 2):
            v, w = W[j], W[j + 1]
            za = zb = zc = zd = ya = yb = yc = yd = np.float32(0)
            for k in range(W.shape[1]):
                vk, wk = v[k], w[k]
                za += xa[k] * vk
                zb += xb[k] * vk
                zc += xc[k] * vk
                zd += xd[k] * vk
                ya += xa[k] * wk
                yb += xb[k] * wk
                yc += xc[k] * wk
                yd += xd[k] * wk
            Z[i, j], Z[i + 1, j], Z[i + 2, j], Z[i + 3, j] = za, zb, zc, zd
            Z[i, j + 1], Z[i + 1, j + 1], Z[i + 2, j + 1], Z[i + 3, j + 1] = ya, yb, yc, yd


@compile_cached
def count_votes(
    X: Array,
    y: Array,
    rows: Array,
    begin: Array,
    end: Array,
    positions: Array,
    W: Array,
    correct: Array,
    total: Array,
) -> int:
    """Count every classifier's votes on its held-out rows, and return the number of close votes.

    The decision values of training rows are computed, too, but not used, because whole tiles of
    rows and classifiers are faster. `W` has an even number of rows; a padding row does not vote.
    The first six arguments are as for `write_gradients`. Votes are added to `correct` and `total`,
    (size,) int32.
    """
    at = begin.copy()
    Z = np.empty((BLOCK_ROWS, W.shape[0]), np.float32)
    close = 0
    for first in range(0, rows.shape[0], BLOCK_ROWS):
        _compute_decision_values(X, rows, first, W, Z)
        for j in range(begin.shape[0]):
            p, stop = at[j], end[j]
            for position in range(first, min(first + BLOCK_ROWS, rows.shape[0])):
                if p < stop and positions[p] == position:
                    p += 1
                    continue
                z = Z[position - first, j]
                total[position] += 1
                correct[position] += (z > 0) == (y[rows[position]] > 0)
                if abs(z) < CLOSE_MARGIN:
                    close += 1
            at[j] = p
    return close
