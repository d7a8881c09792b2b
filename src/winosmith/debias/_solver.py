"""Many logistic regressions at once: L-BFGS over columns, with gradients alone.

Column j minimises ``ridge/2 |w|² + sum over its training rows of the loss``, a function of the
products of row and weights; the intercept is one of the weights and carries no ridge. All columns
take their step together, since one pass over the rows serves them all, but nothing that is
computed for one depends on another: a column gets the same bits alone and in any company.

The method is L-BFGS (Nocedal & Wright 2006, algorithm 7.4) started from a diagonal that is nearly
the Hessian, so that the unit step is nearly right, and from one pair that is known beforehand: the
weights at the start and the Hessian times these. Along them the losses are flatter than the
diagonal says, since it is there that the rows lie far from the boundary; without the pair the
first passes would find out nothing else. There is no line search on the value of the
loss, which sums of float32 could not resolve near the optimum. Instead a step is kept when the
slope at its end is not as large as at its start, which for a convex loss bounds the overshoot; the
column then goes to where the slope along the step, were it straight, is zero, and takes its
gradient from between the two ends. As steps shrink both become exact, and the method that of
conjugate gradients, at no other pass. A step that is too long is shortened to the same point and
measured again. A column that does not arrive is told apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats, Floats]
Gradient = Callable[[Floats, NDArray[np.intp]], Floats]
"""(c, D) weights and the c columns they belong to → their gradients of the summed losses."""

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

PART = (0.5, 2.0)
"""Least and most of a kept step that is gone, to where the slope is zero."""

SHORTER = (0.1, 0.7)
"""Least and most of a step that was too long that is tried next."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What the solver returns.

    Attributes:
        weights: (c, D), as the start.
        passes: (c,) the gradients that each column took.
        converged: (c,) False where a column was given up.
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
        gradient: see `Gradient`.
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
        part = np.where(kept, np.clip(root, *PART), 0.0)[:, None]
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
