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

from winosmith.debias._family import LOGISTIC
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

ABSENT = -1e30
"""The intercept of a class of which a training set has no row: its limit, as far as sums go."""

PART = 4096
"""Rows of a part."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What starts are measured on.

    Attributes:
        loops: the rows.
        family: the classifiers' loss, see `_family`.
        ridge: (D,) penalty of each weight.
        intercept: its column in the basis.
        train_size: rows of a training set.
        threads: who sums the parts.
    """

    loops: Loops
    family: int
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
    """Where the solver starts; K outputs of D weights each.

    Attributes:
        weights: (K, D).
        measured: (K, D) the weights where the Hessian was measured.
        diagonal: (K, D) of the Hessian there for one training set, the penalty included.
        product: (K, D) that Hessian times `measured`.
        tolerance: the Newton decrement to reach.
    """

    weights: Floats
    measured: Floats
    diagonal: Floats
    product: Floats
    tolerance: float


def without(starts: Floats, present: NDArray[np.bool_], family: int, intercept: int) -> Floats:
    """Return starts, (c, K, D), with the logistic outputs of absent classes at -∞.

    They stay there: their probability is 0, and so is their gradient.

    Args:
        starts: (c, K, D) weights.
        present: (c, classes) which classes each training set has.
        family: see `_family`.
        intercept: its column.
    """
    if family != LOGISTIC or starts.shape[1] == 1:
        return starts
    starts = starts.copy()
    starts[~present] = 0.0
    starts[~present, intercept] = ABSENT
    return starts


def start_at(weights: Floats, on: Measured, rows: Places) -> Start:
    """Return the start at these (K, D) weights, for the rows that are left."""
    loops, scale = on.loops, on.train_size / len(rows)
    curved = on.over(lambda part: loops.curvature(on.family, part, weights, scale), rows)
    diagonals, products = (np.sum(ones, axis=0) for ones in zip(*curved, strict=True))
    diagonal = on.ridge + _evened(diagonals, on.family)
    diagonal[diagonal == 0] = 1.0  # the padding, and constant columns without a penalty
    leverage = max(on.over(lambda part: loops.leverage(part, diagonal), rows))
    share = min(1.0, weights.shape[1] / SPREAD, on.train_size / SPREAD)
    known = np.where(weights <= ABSENT, 0.0, weights)
    return Start(
        weights=weights,
        measured=known,
        diagonal=diagonal,
        product=on.ridge * known + products,
        tolerance=ACCURACY * share / float(np.clip(leverage, *LEVERAGES)) ** 0.5,
    )


def _evened(diagonal: Floats, family: int) -> Floats:
    """Return the diagonal of a softmax's Hessian, the same for every output.

    Outputs that shift together change nothing but the penalty, the flattest direction there is.
    Gradients have no part in it, and steps have none when they are scaled alike; K/(K-1) makes the
    scale right where all classes are equally likely.
    """
    outputs = len(diagonal)
    if family != LOGISTIC or outputs == 1:
        return diagonal
    return np.broadcast_to(diagonal.mean(axis=0) * outputs / (outputs - 1), diagonal.shape)


def first_start(on: Measured, rows: Places, present: NDArray[np.bool_], outputs: int) -> Start:
    """Return the start at the classifier of all rows left, of which these classes are present."""
    share = on.train_size / len(rows)
    nowhere = np.zeros((1, outputs, len(on.ridge)))
    nowhere = without(nowhere, present[None], on.family, on.intercept)
    flat = start_at(nowhere[0], on, rows)
    one = np.zeros(1, np.intp)

    def part_of(W: Floats, part: Places) -> Floats:
        everything = np.arange(len(part), dtype=np.int32)
        return on.loops.training(on.family, part, [everything])(W, one)

    def gradient(W: Floats, _: NDArray[np.intp]) -> Floats:
        return np.asarray(sum(on.over(partial(part_of, W), rows))) if len(W) else W

    fit = minimise(gradient, nowhere, on.ridge / share, flat.diagonal / share, 1e-2)
    return start_at(fit.weights[0], on, rows)
