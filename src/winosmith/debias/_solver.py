"""Many logistic regressions at once, to the optimum.

Column j minimises ``1/(2C) |w|² + sum over its training rows of log(1 + e^(-t z))``, the intercept
free, t being +1 for the rows of class 1 and -1 for the others (scikit-learn's
``LogisticRegression(C=C)``). A vote goes to class 1 when the decision value z is above 0. All
columns take their step together, since one pass over the rows serves them all, but nothing that is
computed for one depends on another: a column gets the same bits alone and in any company.

**The basis** (`basis_of`). Three changes that leave every prediction as it was:

- *Centring*: the intercept carries no penalty and takes up the difference.
- *Rotating* by the eigenvectors of the centred Gram matrix: the penalty is the squared length of
  the weights, which a rotation keeps. The Hessian becomes nearly diagonal, whatever the columns'
  correlations were. (Standardising the columns would change the penalty, and is not done.)
- *Scaling* all columns by one power of two, with the penalty scaled by its square, so that any
  unit of measurement fits into float32.

Rows that are mapped from a file stay there, and their rotated copy goes to a file as well: what is
held in memory does not grow with their number.

**The start** (`first_start`, `start_at`). In the first phase it is the classifier of all rows, each
counted as the part of a training set that it makes up on average; after that, the mean of the last
phase's classifiers. Both are as near to every classifier's optimum as anything known before it is
trained.

**The steps** (`minimise`) are those of L-BFGS (Nocedal & Wright 2006, algorithm 7.4), started from
a diagonal that is nearly the Hessian, so that the unit step is nearly right, and from one pair that
is known beforehand: the weights at the start and the Hessian times these. Along them the losses are
flatter than the diagonal says, since it is there that the rows lie far from the boundary; without
the pair the first passes would find out nothing else. There is no line search on the value of the
loss, which sums of float32 could not resolve near the optimum. Instead a step is kept when the
slope at its end is not as large as at its start, which for a convex loss bounds the overshoot; the
column then goes to where the slope along the step, were it straight, is zero, and takes its
gradient from between the two ends. As steps shrink both become exact, and the method that of
conjugate gradients, at no other pass. A step that is too long is shortened to the same point and
measured again.

**What does not arrive** (`newton`), nearly separable classes with a large `C`, or columns that
float32 sums can't bring to rest, is settled one by one in float64, slow and sure.

Sums over all rows run over fixed parts and are added in a fixed order, with BLAS on one thread in
each: the number of threads changes no bit.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._rows import (
    Rows,
    aligned_zeros,
    gather,
    is_mapped,
    padded_width,
    scratch_matrix,
)
from winosmith.errors import DataError
from winosmith.parallel import ordered_map

if TYPE_CHECKING:
    from winosmith.debias._kernel import Gradient, Kernel

Floats = NDArray[np.float64]

Places = NDArray[np.int32]

Pair = tuple[Floats, Floats, Floats]

DOUBLE_BELOW = 5e9
"""Multiplications of the rotation up to which it is done in float64; about a second's worth."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Rows in the basis.

    Attributes:
        matrix: (N, D) float32, aligned to cache lines: `columns` coordinates, then a 1 for the
            intercept, then zeros up to a multiple of 16.
        columns: how many coordinates there are.
        scale: the power of two that coordinates were multiplied by.
        file: the .npy file that the matrix is mapped from; None when it is in memory.
    """

    matrix: NDArray[np.float32]
    columns: int
    scale: float
    file: Path | None = None


def penalties(basis: Basis, C: float) -> NDArray[np.float64]:
    """Return the (D,) penalty of each weight: none for the intercept and for the padding."""
    penalty = np.zeros(basis.matrix.shape[1])
    penalty[: basis.columns] = basis.scale**2 / C
    return penalty


@contextlib.contextmanager
def basis_of(rows: Rows, threads: Executor, scratch: Path | None = None) -> Iterator[Basis]:
    """Hold the rows in canonical order, centred, rotated and scaled, while the block runs.

    Args:
        rows: what is rotated.
        threads: who does the work.
        scratch: the folder for the rotated copy; None for memory.

    Raises:
        DataError: the numbers are too large to be computed with.
        OutputError: the folder can't be written, or has no room.
    """
    shape = len(rows.order), padded_width(rows.X.shape[1])
    if scratch is None:
        yield _basis(rows, threads, aligned_zeros(*shape))
        return
    with scratch_matrix(shape, scratch) as (matrix, file):
        if is_mapped(rows.X) and np.can_cast(rows.X.dtype, np.float32):
            gather(rows.X, rows.order, matrix)
            rows = replace(rows, X=matrix[:, : rows.X.shape[1]], order=np.arange(len(matrix)))
        yield replace(_basis(rows, threads, matrix), file=file)


def _basis(rows: Rows, threads: Executor, matrix: NDArray[np.float32]) -> Basis:
    """Fill the matrix; rows that lie in it themselves give their place to what becomes of them."""
    count, columns = rows.X.shape
    parts = list(rows.parts())
    kind = np.float64 if count * columns**2 <= DOUBLE_BELOW else np.float32
    mean, largest = _centre(rows)
    scale = 2.0 ** -float(np.round(np.log2(largest))) if largest > 0 else 1.0
    gram = np.zeros((columns, columns))
    work = partial(_gram, rows, mean, scale, kind)
    for product in ordered_map(work, parts, threads, ahead=4):  # of d² numbers each
        gram += product
    rotation = np.linalg.eigh(gram)[1].astype(kind)
    turn = partial(_rotate, rows, mean, scale, rotation, matrix)
    for _ in ordered_map(turn, parts, threads):
        pass  # each part is written where it belongs
    return Basis(matrix, columns, scale)


def _centre(rows: Rows) -> tuple[NDArray[np.float64], float]:
    """Return the mean of each column, and how far from it a number is at most."""
    mean = np.zeros(rows.X.shape[1])
    low, high = np.full_like(mean, np.inf), np.full_like(mean, -np.inf)
    for part in rows.parts():
        chunk = rows.chunk(part)
        mean += chunk.sum(axis=0) / len(rows.order)
        low, high = np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
    largest = float(np.maximum(high - mean, mean - low).max())
    if not largest < 1e150:
        raise DataError(f"X holds numbers as large as {high.max():.3g}; divide it by that")
    return mean, largest


def _centred(
    rows: Rows, mean: NDArray[np.float64], scale: float, kind: type[np.floating[Any]], part: slice
) -> NDArray[Any]:
    return ((rows.chunk(part) - mean) * scale).astype(kind)


def _gram(
    rows: Rows, mean: NDArray[np.float64], scale: float, kind: type[np.floating[Any]], part: slice
) -> NDArray[Any]:
    """Return one part's contribution to the centred Gram matrix."""
    chunk = _centred(rows, mean, scale, kind, part)
    product: NDArray[Any] = chunk.T @ chunk
    return product


def _rotate(
    rows: Rows,
    mean: NDArray[np.float64],
    scale: float,
    rotation: NDArray[Any],
    matrix: NDArray[np.float32],
    part: slice,
) -> None:
    """Write one part of the rows to the matrix, and the 1 of the intercept."""
    matrix[part, len(mean)] = 1.0
    matrix[part, : len(mean)] = _centred(rows, mean, scale, rotation.dtype.type, part) @ rotation


def loss(z: Floats, y: Floats) -> float:
    """Return the sum of the losses of rows with the decision values z, (m,), and labels y."""
    return float(np.logaddexp(0.0, -np.where(y > 0, 1.0, -1.0) * z).sum())


def residual(z: Floats, y: Floats) -> Floats:
    """Return the derivative of each row's loss by its decision value, (m,)."""
    from scipy.special import expit

    return np.asarray(expit(z) - (y > 0))


def curvature(z: Floats) -> Floats:
    """Return the second derivative of each row's loss, (m,)."""
    from scipy.special import expit

    p = expit(z)
    return np.asarray(p * (1 - p))


Part = TypeVar("Part")

ACCURACY, SPREAD = 3e-4, 1000
"""The Newton decrement δ to reach: this, or its part D/1000 with fewer columns than 1,000 (m/1000
with fewer training rows). δ times the root of a row's leverage x · H⁻¹ x bounds how far that row's
decision value is from the optimum's; if there are many directions, what is left points towards
no row and its part is far smaller. The last step, which is taken on top, shrinks it again. Tests
hold that decision values end within 1e-4 so."""

LEVERAGES = (1.0, 400.0)
"""Leverages below and above are taken as these; more can't be reached with sums of float32."""

SLAB = 4096
"""Rows of a part of a sum over all."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What starts are measured on.

    Attributes:
        kernel: over the rows.
        ridge: (D,) penalty of each weight.
        intercept: its column in the basis.
        train_size: rows of a training set.
        threads: who sums the parts.
    """

    kernel: Kernel
    ridge: Floats
    intercept: int
    train_size: int
    threads: Executor

    def over(self, work: Callable[[Places], Part], rows: Places) -> list[Part]:
        """Return what the work makes of each part of the rows."""
        parts = [rows[first : first + SLAB] for first in range(0, len(rows), SLAB)]
        return list(ordered_map(work, parts, self.threads, ahead=len(parts)))


@dataclass(frozen=True, slots=True)
class Start:
    """Where the solver starts.

    Attributes:
        weights: (D,).
        measured: (D,) the weights where the Hessian was measured.
        diagonal: (D,) of the Hessian there for one training set, the penalty included.
        product: (D,) that Hessian times `measured`.
        tolerance: the Newton decrement to reach.
    """

    weights: Floats
    measured: Floats
    diagonal: Floats
    product: Floats
    tolerance: float


def first_start(on: Measured, rows: Places) -> Start:
    """Return the start at the classifier of all rows left."""
    share = on.train_size / len(rows)
    nowhere = np.zeros((1, len(on.ridge)))
    flat = start_at(nowhere[0], on, rows)
    one = np.zeros(1, np.intp)

    def part_of(W: Floats, part: Places) -> Floats:
        everything = np.arange(len(part), dtype=np.int32)
        return on.kernel.make_gradient(part, [everything])(W, one)

    def gradient(W: Floats, _: NDArray[np.intp]) -> Floats:
        return np.asarray(sum(on.over(partial(part_of, W), rows))) if len(W) else W

    fit = minimise(gradient, nowhere, on.ridge / share, flat.diagonal / share, 1e-2)
    return start_at(fit.weights[0], on, rows)


def start_at(weights: Floats, on: Measured, rows: Places) -> Start:
    """Return the start at these (D,) weights, for the rows that are left."""
    kernel, scale = on.kernel, on.train_size / len(rows)
    curved = on.over(lambda part: kernel.compute_curvature(part, weights, scale), rows)
    diagonal, product = (np.sum(ones, axis=0) for ones in zip(*curved, strict=True))
    diagonal = on.ridge + diagonal
    diagonal[diagonal == 0] = 1.0  # the padding, and constant columns without a penalty
    leverage = max(on.over(lambda part: kernel.compute_leverage(part, diagonal), rows))
    share = min(1.0, len(weights) / SPREAD, on.train_size / SPREAD)
    return Start(
        weights=weights,
        measured=weights,
        diagonal=diagonal,
        product=on.ridge * weights + product,
        tolerance=ACCURACY * share / float(np.clip(leverage, *LEVERAGES)) ** 0.5,
    )


MEMORY = 5
"""Pairs of steps and gradient changes that are kept."""

NEAR = 10.0
"""A column is done only where the last gradient that was measured was this near to its end, so that
the one that was taken from between two can't be small by mistake."""

USUAL = 16
"""Passes after which the decrement must be the smaller the longer it takes: steps that shrink
slowly say little about the distance that is left. 10 to 16 are usual; 80 are taken where there are
as many columns as training rows."""

LONGEST = 150
"""Passes after which a column is given up."""

STEEPER = 0.9
"""A step is kept when the slope at its end is at most this part of the slope at its start."""

STRIDE = (0.5, 2.0)
"""Least and most of a kept step that is gone, to where the slope is zero."""

SHORTER = (0.1, 0.7)
"""Least and most of a step that was too long that is tried next."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What the solver returns.

    Attributes:
        weights: (c, D), as the start.
        passes: (c,) the gradients that each column took.
        converged: (c,) False if a column was given up.
    """

    weights: Floats
    passes: NDArray[np.intp]
    converged: NDArray[np.bool_]


def minimise(
    gradient: Gradient,
    start: Floats,
    ridge: Floats,
    diagonal: Floats,
    tolerance: float,
    known: tuple[Floats, Floats] | None = None,
) -> Fit:
    """Minimise every column's penalised loss.

    Args:
        gradient: see `_kernel.Gradient`.
        start: (c, D) first weights.
        ridge: (D,) the penalty of each weight.
        diagonal: (D,) positive; about the diagonal of the Hessian, ridge included.
        tolerance: a column is done when its Newton decrement (the square root of g · H⁻¹ g, H as
            L-BFGS knows it) falls below this; the step that it measures is still taken.
        known: a step, (D,), and about the change of every column's gradient along it.
    """
    count, w = len(start), start

    def penalised(w: Floats, column: NDArray[np.intp]) -> Floats:
        return gradient(w, column) + ridge * w

    fit = Fit(w.copy(), np.zeros(count, np.intp), np.zeros(count, np.bool_))
    column: NDArray[np.intp] = np.arange(count)
    length: Floats = np.ones(count)
    pairs = deque[Pair](maxlen=MEMORY)
    oldest = []
    if known is not None:
        step, change = known
        oldest = [_pair(step[None], change[None], np.array([True]))]
    g = penalised(w, column)
    step = _direction(g, [*oldest, *pairs], diagonal)
    slope = _dots(g, step)
    measured = g
    for passes in range(1, LONGEST):
        limit = tolerance * min(1.0, USUAL / passes)
        done = (-slope < limit**2) & (_dots(measured, measured / diagonal) < (NEAR * limit) ** 2)
        if done.any():
            fit.weights[column[done]] = w[done] + step[done]
            fit.converged[column[done]] = True
            fit.passes[column[done]] = passes
            column, slope, length = column[~done], slope[~done], length[~done]
            w, g, step, measured = w[~done], g[~done], step[~done], measured[~done]
            pairs = deque(((s[~done], y[~done], r[~done]) for s, y, r in pairs), MEMORY)
        if not column.size:
            break
        ahead = w + length[:, None] * step
        g_ahead = penalised(ahead, column)
        slope_ahead = _dots(g_ahead, step)
        kept = slope_ahead <= STEEPER * -slope
        pairs.append(_pair(ahead - w, g_ahead - g, kept))
        root = _root(slope, slope_ahead)
        part = np.where(kept, np.clip(root, *STRIDE), 0.0)[:, None]
        w, g, measured = w + part * (ahead - w), g + part * (g_ahead - g), g_ahead
        step = np.where(kept[:, None], _direction(g, [*oldest, *pairs], diagonal), step)
        length = np.where(kept, 1.0, length * np.clip(root, *SHORTER))
        slope = _dots(g, step)
    fit.passes[column] = LONGEST
    return fit


def _dots(a: Floats, b: Floats) -> Floats:
    """Return the dot product of each column's vectors, summed in the same order for any count."""
    return np.asarray((a * b).sum(axis=1))


def _pair(s: Floats, y: Floats, kept: NDArray[np.bool_]) -> Pair:
    """Return the step, the change of gradient and 1/(s · y), 0 for what teaches nothing."""
    sy = _dots(s, y)
    good = kept & (sy > 1e-12 * np.sqrt(_dots(s, s) * _dots(y, y)))
    return s, y, np.divide(1.0, sy, out=np.zeros_like(sy), where=good)


def _direction(g: Floats, pairs: list[Pair], diagonal: Floats) -> Floats:
    """Return minus the inverse Hessian of L-BFGS times the gradient (the two loops)."""
    q = g.copy()
    weights = []
    for s, y, rho in reversed(pairs):
        a = rho * _dots(s, q)
        weights.append(a)
        q -= a[:, None] * y
    q /= diagonal
    for (s, y, rho), a in zip(pairs, reversed(weights), strict=True):
        q += (a - rho * _dots(y, q))[:, None] * s
    return -q


def _root(slope: Floats, slope_ahead: Floats) -> Floats:
    """Return where along a step its slope, were it straight, is zero; 0 when that is nowhere."""
    change = slope_ahead - slope
    return np.divide(-slope, change, out=np.zeros_like(slope), where=change > 0)


STEPS = 100
"""Newton steps at most; three to twenty are usual."""

WHOLE = 1e-8
"""Slope along a Newton step, as a part of the loss, below which the step is taken whole: float64
hardly resolves what a smaller one gains, and Newton's method has long become quadratic."""

DONE = 1e-24
"""Slope (the square of the Newton decrement) at which it ends in any case."""


def newton(
    rows: NDArray[np.float32],
    labels: NDArray[np.float32],
    ridge: Floats,
    start: Floats,
) -> Floats:
    """Return the (D,) weights that minimise ``ridge/2 · w² + sum of the losses``.

    It ends when the slope along the Newton step, the square of the decrement (Boyd &
    Vandenberghe 2004, section 9.5.1), is small and rounding lets it fall no further.

    Args:
        rows: (m, D).
        labels: (m,) 0 or 1; both occur.
        ridge: (D,) penalty of each weight, 0 or more.
        start: (D,) first weights.
    """
    fit = _Fit(rows.astype(np.float64), labels.astype(np.float64), ridge)
    w, last = start.copy(), np.inf
    z = fit.X @ w
    for _ in range(STEPS):
        step, slope = fit.step(w, z)
        if slope < WHOLE * fit.loss(w, z):
            w = w - step
            if slope < DONE or slope > last / 4:
                break
            last = slope
        else:
            w = w - step * fit.halved(w, z, step, slope)
        z = fit.X @ w
    return w


@dataclass(frozen=True, slots=True)
class _Fit:
    """What is minimised; the attributes are `newton`'s arguments, in float64."""

    X: Floats
    y: Floats
    ridge: Floats

    def loss(self, w: Floats, z: Floats) -> float:
        """Return what is minimised, at the weights w with the decision values z, (m,)."""
        return loss(z, self.y) + 0.5 * float(((self.ridge * w) * w).sum())

    def step(self, w: Floats, z: Floats) -> tuple[Floats, float]:
        """Return the Newton step, to be subtracted, and the slope along it."""
        from scipy.linalg import cho_factor, cho_solve

        gradient = residual(z, self.y) @ self.X + self.ridge * w
        hessian = (self.X * curvature(z)[:, None]).T @ self.X
        diagonal = np.einsum("ii->i", hessian)
        diagonal += self.ridge + 1e-12 * (1 + diagonal)  # positive, even where sigmoids saturate
        step = cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient)
        return step, float(gradient @ step)

    def halved(self, w: Floats, z: Floats, step: Floats, slope: float) -> float:
        """Return the first of 1, 1/2, 1/4, … of the step that lowers the loss enough (Armijo)."""
        now, along, size = self.loss(w, z), self.X @ step, 1.0
        while size > 1e-10:
            ahead = self.loss(w - size * step, z - size * along)
            if ahead <= now - 1e-4 * size * slope:
                break
            size /= 2
        return size
