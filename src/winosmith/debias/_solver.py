"""Solve many logistic regressions together, to the optimum.

Column j minimises ``1/(2C) |w|² + sum over its training rows of log(1 + e^(-t z))`` with a free
intercept, where t is +1 for the rows of class 1 and -1 for the others (scikit-learn's
``LogisticRegression(C=C)``). A vote is for class 1 if the decision value z is above 0. All columns
take their steps together, because one pass over the rows serves all columns. Nevertheless, not one
bit of a column depends on the other columns.

**The basis** (`rotate_rows`) consists of three changes that leave every prediction unchanged:

- *Centring*: the intercept, which has no penalty, absorbs the difference.
- *Rotating* by the eigenvectors of the centred Gram matrix: the penalty is the squared length of
  the weights, which a rotation preserves. The Hessian becomes nearly diagonal, regardless of the
  correlations of the columns. (The columns are not standardised, because this would change the
  penalty.)
- *Scaling* all columns by one power of two, and the penalty by its square, so that any unit of
  measurement fits into float32.

Memory-mapped rows are not read into memory, and their rotated copy is also in a file, so that
memory use does not grow with the number of rows.

**The start** (`Start`, computed by `_ensemble.Ensemble`). In the first phase, the starting point is
the classifier trained on all rows, each weighted by the probability of being in a training set. In
later phases it is the mean of the last phase's classifiers. Both are close to every classifier's
optimum.

**The steps** (`minimize`, which `_logit` also uses) are those of L-BFGS (Nocedal & Wright 2006,
algorithm 7.4). They start from a diagonal that is nearly the Hessian, so that a unit step has
nearly the correct length and a line search is rarely needed, and from one known pair: the weights
at the start, and the Hessian times these weights. Along this pair the losses are flatter than the
diagonal suggests, because the rows there are far from the boundary; without the pair, the first
passes would be spent on discovering this. A step that ends on a slope steeper
than at its start is shortened to the zero of the slope, found by linear interpolation. The losses
themselves are not compared, because float32 sums can't resolve them near the optimum.

**Columns that do not converge** (`minimize_by_newton`), because of nearly separable classes and a
large `C`, or because of float32 sums, are solved individually in float64, which is slow but
reliable.

Sums over all rows are computed in fixed parts and added in a fixed order, with BLAS on one thread
in each part, so that no bit depends on the number of threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias import _rows
from winosmith.debias._rows import Rows
from winosmith.errors import DataError
from winosmith.parallel import ordered_map

if TYPE_CHECKING:
    from winosmith.debias._kernel import Gradient

Floats = NDArray[np.float64]

Pair = tuple[Floats, Floats, Floats]
"""Steps, the changes of the gradients along them, and the inverses of the products of both."""

MAX_FLOAT64_WORK = 5e9
"""The maximum number of multiplications, about a second's worth, for a rotation in float64."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The centred, rotated and scaled rows on which the solver works.

    Attributes:
        matrix: (N, D) float32, aligned to cache lines: `columns` coordinates, then a 1 for the
            intercept, then zeros up to a multiple of 16.
        columns: The number of coordinates.
        scale: The power of two by which coordinates were multiplied.
        file: The .npy file from which the matrix is mapped; None if it is in memory.
    """

    matrix: NDArray[np.float32]
    columns: int
    scale: float
    file: Path | None = None


@contextlib.contextmanager
def rotate_rows(rows: Rows, threads: Executor, scratch: Path | None = None) -> Iterator[Basis]:
    """Yield the rows in canonical order, centred, rotated and scaled.

    `scratch` is the folder for the rotated copy; None keeps the copy in memory.
    """
    shape = len(rows.order), _rows.compute_padded_width(rows.X.shape[1])
    if scratch is None:
        yield _fill_basis(rows, threads, _rows.make_aligned_zeros(*shape))
        return
    with _rows.map_scratch_matrix(shape, scratch) as (matrix, file):
        if _rows.is_memory_mapped(rows.X) and np.can_cast(rows.X.dtype, np.float32):
            _rows.gather_rows(rows.X, rows.order, matrix)
            rows = replace(rows, X=matrix[:, : rows.X.shape[1]], order=np.arange(len(matrix)))
        yield replace(_fill_basis(rows, threads, matrix), file=file)


def _fill_basis(rows: Rows, threads: Executor, matrix: NDArray[np.float32]) -> Basis:
    count, columns = rows.X.shape
    parts = [slice(first, first + _rows.CHUNK) for first in range(0, count, _rows.CHUNK)]
    dtype = np.float64 if count * columns**2 <= MAX_FLOAT64_WORK else np.float32
    mean = np.zeros(columns)
    low, high = np.full_like(mean, np.inf), np.full_like(mean, -np.inf)
    for part in parts:
        chunk = rows.read_chunk(part)
        mean += chunk.sum(axis=0) / count
        low, high = np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
    largest = float(np.maximum(high - mean, mean - low).max())
    if not largest < 1e150:
        raise DataError(
            f"X contains numbers up to {high.max():.3g}, which are too large; divide X by this "
            "number"
        )
    scale = 2.0 ** -float(np.round(np.log2(largest))) if largest > 0 else 1.0

    def centre(part: slice) -> NDArray[Any]:
        return ((rows.read_chunk(part) - mean) * scale).astype(dtype)

    def compute_gram(part: slice) -> NDArray[Any]:
        chunk = centre(part)
        return np.asarray(chunk.T @ chunk)

    def rotate(part: slice) -> None:
        matrix[part, columns] = 1.0
        matrix[part, :columns] = centre(part) @ rotation

    gram = np.zeros((columns, columns))
    for product in ordered_map(compute_gram, parts, threads, max_pending=4):  # d² numbers each
        gram += product
    rotation = np.linalg.eigh(gram)[1].astype(dtype)
    for _ in ordered_map(rotate, parts, threads):
        pass  # each part is written to the matrix
    return Basis(matrix, columns, scale)


@dataclass(frozen=True, slots=True)
class Start:
    """A starting point for the solver.

    Attributes:
        weights: (D,) the starting weights.
        diagonal: (D,) the diagonal of the Hessian at these weights for one training set, including
            the penalty.
        product: (D,) the product of that Hessian with the weights.
        tolerance: The Newton decrement to reach.
    """

    weights: Floats
    diagonal: Floats
    product: Floats
    tolerance: float


MAX_PAIRS = 8
"""The number of L-BFGS pairs (steps and gradient changes) to store."""

TYPICAL_PASSES = 16
"""The number of passes after which the tolerance decreases: if steps shrink slowly, a short step
does not mean that the optimum is near. 9 or 10 passes are typical; with as many columns as
training rows, 80 are needed."""

MAX_PASSES = 150
"""The maximum number of passes."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The weights that the solver found, and whether they converged.

    Attributes:
        weights: (c, D) the minima.
        passes: (c,) the number of gradients that each column needed.
    """

    weights: Floats
    passes: NDArray[np.intp]
    converged: NDArray[np.bool_]


def minimize(
    gradient: Gradient,
    start: Floats,
    diagonal: Floats,
    tolerance: float,
    *,
    first: Floats | None = None,
    known_pair: tuple[Floats, Floats] | None = None,
) -> Fit:
    """Minimise the penalised loss of every column with L-BFGS.

    Args:
        gradient: The gradient function, including the penalty.
        start: (c, D) initial weights.
        diagonal: (D,) a positive approximation of the diagonal of the Hessian, or multiples of it.
        tolerance: A column has converged if its Newton decrement (the square root of g · H⁻¹ g,
            with the L-BFGS approximation of H) is below this value. The step to which the decrement
            belongs is still taken.
        first: (c, D) the gradients at the start, if known.
        known_pair: A (D,) step, and the approximate change of the columns' gradients along the
            step, if known.
    """
    w, column = start, np.arange(len(start))
    fit = Fit(w.copy(), np.full(len(w), MAX_PASSES), np.zeros(len(w), np.bool_))
    pairs: list[Pair] = []
    if known_pair is not None:
        s, y = (np.repeat(row[None], len(w), axis=0) for row in known_pair)
        pairs.append(_make_pair(s, y))
    g = gradient(w, column) if first is None else first
    for passes in range(1, MAX_PASSES):
        step = _compute_direction(g, pairs, diagonal)
        slope = _dot_rows(g, step)
        limit = tolerance * min(1.0, TYPICAL_PASSES / passes)
        done = (-slope < limit**2) & (slope <= 0)
        if done.any():
            fit.weights[column[done]] = w[done] + step[done]
            fit.converged[column[done]] = True
            fit.passes[column[done]] = passes
            left = ~done
            column, w, g, step, slope = column[left], w[left], g[left], step[left], slope[left]
            pairs = [(s[left], y[left], r[left]) for s, y, r in pairs]
        if not column.size:
            return fit
        g_ahead = gradient(w + step, column)
        slope_ahead = _dot_rows(g_ahead, step)
        steep = slope_ahead > -slope
        if steep.any():
            down, ahead = slope[steep], slope_ahead[steep]
            step[steep] *= (down / (down - ahead))[:, None]
            g_ahead[steep] = gradient(w[steep] + step[steep], column[steep])
        pairs = [*pairs, _make_pair(step, g_ahead - g)][-MAX_PAIRS:]
        w, g = w + step, g_ahead
    fit.weights[column] = w
    return fit


def _dot_rows(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=1))


def _make_pair(s: Floats, y: Floats) -> Pair:
    """Return steps, their gradient changes, and 1 / (s · y), which is 0 for useless pairs."""
    sy = _dot_rows(s, y)
    good = sy > 1e-12 * np.sqrt(_dot_rows(s, s) * _dot_rows(y, y))
    return s, y, np.divide(1.0, sy, out=np.zeros_like(sy), where=good)


def _compute_direction(g: Floats, pairs: Sequence[Pair], diagonal: Floats) -> Floats:
    """Return the L-BFGS search direction, computed by the two-loop recursion.

    The Hessian is first approximated by the diagonal times the number that fits the last step
    (equation 7.20 of Nocedal & Wright 2006). Without this number, the approximation would be far
    too large if most rows are predicted with certainty.
    """
    q = g.copy()
    weights = []
    for s, y, rho in reversed(pairs):
        a = rho * _dot_rows(s, q)
        weights.append(a)
        q -= a[:, None] * y
    q /= diagonal
    if pairs:
        _, y, rho = pairs[-1]
        scale = rho * _dot_rows(y, y / diagonal)
        q /= np.where(scale > 0, scale, 1.0)[:, None]
    for (s, y, rho), a in zip(pairs, reversed(weights), strict=True):
        q += (a - rho * _dot_rows(y, q))[:, None] * s
    return -q


MAX_NEWTON_STEPS = 100
"""The maximum number of Newton steps; three to twenty are typical."""

FULL_STEP_LIMIT = 1e-8
"""The slope along a Newton step, as a fraction of the loss, below which the full step is taken
without a line search: convergence is then quadratic, and float64 hardly resolves the gain."""

FINAL_SLOPE = 1e-24
"""The slope (the square of the Newton decrement) at or below which the iteration always ends."""


def minimize_by_newton(
    rows: NDArray[np.float32],
    labels: NDArray[np.float32],
    ridge: Floats,
    start: Floats,
) -> Floats:
    """Return the weights w that minimise ``ridge/2 · w² + sum of the losses``.

    The iteration ends when the slope along the Newton step, the square of the decrement, is small
    and rounding prevents a further decrease. See Boyd and Vandenberghe (2004, section 9.5.1).
    `rows` are (m, D). `labels` are 0 or 1, and both must occur. `ridge` is the penalty of each
    weight, 0 or more.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import expit

    X, y = rows.astype(np.float64), labels > 0
    signs = np.where(y, 1.0, -1.0)

    def compute_loss(w: Floats, z: Floats) -> float:
        return float(np.logaddexp(0.0, -signs * z).sum()) + 0.5 * float(((ridge * w) * w).sum())

    w, last = start.copy(), np.inf
    z = X @ w
    for _ in range(MAX_NEWTON_STEPS):
        p = expit(z)
        gradient = (p - y) @ X + ridge * w
        hessian = (X * (p * (1 - p))[:, None]).T @ X
        diagonal = np.einsum("ii->i", hessian)
        diagonal += ridge + 1e-12 * (1 + diagonal)  # positive even if sigmoids saturate
        step = cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient)
        slope, loss, size = float(gradient @ step), compute_loss(w, z), 1.0
        is_near = slope < FULL_STEP_LIMIT * loss
        if not is_near:  # the first of the sizes 1, 1/2, 1/4, … with enough decrease (Armijo)
            along = X @ step
            while (
                size > 1e-10
                and compute_loss(w - size * step, z - size * along) > loss - 1e-4 * size * slope
            ):
                size /= 2
        w = w - size * step
        if is_near:
            if slope < FINAL_SLOPE or slope > last / 4:
                break
            last = slope
        z = X @ w
    return w
