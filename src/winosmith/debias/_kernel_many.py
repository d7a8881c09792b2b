"""The gradients of classifiers with more than one output, compiled by numba.

The same loops as in `_kernel`, with the outputs of a classifier inside: all of them must be known
before the derivative by any is. With one output that would cost a quarter more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from winosmith.debias._family import LOGISTIC, RIDGE
from winosmith.debias._kernel import BLOCK, FLUSH, compiled, four, one, sign, softmax

Array = Any  # for the type checker; what they hold is said where they are used


@compiled
def _residuals(family: int, label: Any, z: Array) -> None:
    """Replace the decision values of a row's outputs by the derivatives of its loss."""
    outputs = z.shape[0]
    if family == LOGISTIC:
        softmax(z)
        z[int(label)] -= np.float32(1)
    else:
        for o in range(outputs):
            target = sign(label, o, outputs)
            if family == RIDGE:
                z[o] -= target
            else:
                z[o] = np.float32(-2) * target * max(np.float32(0), np.float32(1) - target * z[o])


@compiled
def add_gradients_of_many(
    family: int,
    X: Array,
    y: Array,
    rows: Array,
    begin: Array,
    end: Array,
    places: Array,
    W: Array,
    G: Array,
) -> None:
    """Write to `G` the gradients of the summed losses of classifiers with several outputs.

    The arguments are as for `_kernel.add_gradients`, but that labels are whole numbers from 0, and
    `W` and `G` are (c, K, D).
    """
    count, outputs, width = W.shape
    partial = np.zeros((count, outputs, width), np.float32)
    z = np.zeros((4, outputs), np.float32)
    at = begin.copy()
    G[:] = 0.0
    for first in range(0, rows.shape[0], BLOCK):
        last = first + BLOCK
        flush = (last // BLOCK) % FLUSH == 0 or last >= rows.shape[0]
        for j in range(count):
            p, stop = at[j], end[j]
            while p + 4 <= stop and places[p] < last:  # the four may reach over the end
                a, b = rows[places[p]], rows[places[p + 1]]
                c, d = rows[places[p + 2]], rows[places[p + 3]]
                for o in range(outputs):
                    z[0, o], z[1, o], z[2, o], z[3, o] = four(X, a, b, c, d, W[j, o])
                _residuals(family, y[a], z[0])
                _residuals(family, y[b], z[1])
                _residuals(family, y[c], z[2])
                _residuals(family, y[d], z[3])
                xa, xb, xc, xd = X[a], X[b], X[c], X[d]
                for o in range(outputs):
                    g = partial[j, o]
                    ra, rb, rc, rd = z[0, o], z[1, o], z[2, o], z[3, o]
                    for k in range(width):
                        g[k] += ra * xa[k] + rb * xb[k] + rc * xc[k] + rd * xd[k]
                p += 4
            while p < stop and places[p] < last:
                a = rows[places[p]]
                xa = X[a]
                for o in range(outputs):
                    z[0, o] = one(X, a, W[j, o])
                _residuals(family, y[a], z[0])
                for o in range(outputs):
                    g, ra = partial[j, o], z[0, o]
                    for k in range(width):
                        g[k] += ra * xa[k]
                p += 1
            at[j] = p
            if flush:
                for o in range(outputs):
                    total, g = G[j, o], partial[j, o]
                    for k in range(width):
                        total[k] += g[k]
                        g[k] = 0
