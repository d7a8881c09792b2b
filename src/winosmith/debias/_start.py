"""Where the solver starts in a phase, and how far it goes.

In the first phase the start is the classifier of all rows, each counted as the part of a training
set that it makes up on average; after that, the mean of the last phase's classifiers. Both are as
near to every classifier's optimum as anything known before it is trained.

The sums over all rows run over parts of a fixed size, added in order: the number of threads
changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._loops import Loops
from winosmith.debias._solver import minimise
from winosmith.parallel import ordered_map

Floats = NDArray[np.float64]
Places = NDArray[np.int32]
Part = TypeVar("Part")

ACCURACY, SPREAD = 3e-4, 1000
"""The Newton decrement δ to reach: this, or its part D/1000 with fewer columns than 1,000 (m/1000
with fewer training rows). δ times the root of a row's leverage x · H⁻¹ x bounds how far that row's
decision value is from the optimum's; where there are many directions, what is left points towards
no row and its part is far smaller. The last step, which is taken on top, shrinks it again. Tests
hold that decision values end within 1e-4 so."""

LEVERAGES = (1.0, 400.0)
"""Leverages below and above are taken as these; more can't be reached with sums of float32."""

PART = 4096
"""Rows of a part."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What starts are measured on.

    Attributes:
        loops: the rows.
        ridge: (D,) penalty of each weight.
        intercept: its column in the basis.
        train_size: rows of a training set.
        threads: who sums the parts.
    """

    loops: Loops
    ridge: Floats
    intercept: int
    train_size: int
    threads: Executor

    def over(self, work: Callable[[Places], Part], rows: Places) -> list[Part]:
        """Return what the work makes of each part of the rows."""
        parts = [rows[first : first + PART] for first in range(0, len(rows), PART)]
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


def start_at(weights: Floats, on: Measured, rows: Places) -> Start:
    """Return the start at these (D,) weights, for the rows that are left."""
    loops, scale = on.loops, on.train_size / len(rows)
    curved = on.over(lambda part: loops.curvature(part, weights, scale), rows)
    diagonal, product = (np.sum(ones, axis=0) for ones in zip(*curved, strict=True))
    diagonal = on.ridge + diagonal
    diagonal[diagonal == 0] = 1.0  # the padding, and constant columns without a penalty
    leverage = max(on.over(lambda part: loops.leverage(part, diagonal), rows))
    share = min(1.0, len(weights) / SPREAD, on.train_size / SPREAD)
    return Start(
        weights=weights,
        measured=weights,
        diagonal=diagonal,
        product=on.ridge * weights + product,
        tolerance=ACCURACY * share / float(np.clip(leverage, *LEVERAGES)) ** 0.5,
    )


def first_start(on: Measured, rows: Places) -> Start:
    """Return the start at the classifier of all rows left."""
    share = on.train_size / len(rows)
    nowhere = np.zeros((1, len(on.ridge)))
    flat = start_at(nowhere[0], on, rows)
    one = np.zeros(1, np.intp)

    def part_of(W: Floats, part: Places) -> Floats:
        everything = np.arange(len(part), dtype=np.int32)
        return on.loops.training(part, [everything])(W, one)

    def gradient(W: Floats, _: NDArray[np.intp]) -> Floats:
        return np.asarray(sum(on.over(partial(part_of, W), rows))) if len(W) else W

    fit = minimise(gradient, nowhere, on.ridge / share, flat.diagonal / share, 1e-2)
    return start_at(fit.weights[0], on, rows)
