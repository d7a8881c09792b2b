"""A share of a phase's classifiers: train each on its partition, let it vote on the rest.

Algorithm 1, lines 5 to 9, of WinoGrande; this is what one worker does. Nothing that a classifier
does depends on its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._loops import Loops, bound
from winosmith.debias._newton import newton
from winosmith.debias._partition import training_rows
from winosmith.debias._shared import Held, fetch
from winosmith.debias._solver import minimise
from winosmith.debias._start import Start
from winosmith.threads import one_thread

Floats = NDArray[np.float64]

ROUGH = 0.3
"""The Newton decrement that passes with rounded factors go to; their own errors are a third."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker needs to know.

    Attributes:
        held: where the basis and the labels are.
        labels: (N,) float32 in place of the labels held; None for those.
        kernel: see `_loops.check_kernel`.
        rows: (size,) int32, the rows left, ascending in canonical order.
        groups: (size,) their groups, or None.
        ridge: (D,) penalty of each weight.
        intercept: its column in the basis.
        train_size, seed, phase: see `training_rows`.
        classifiers: the numbers of its classifiers.
        start: where the solver starts.
    """

    held: Held
    labels: NDArray[np.float32] | None
    kernel: str
    rows: NDArray[np.int32]
    groups: NDArray[np.intp] | None
    ridge: Floats
    intercept: int
    train_size: int
    seed: int
    phase: int
    classifiers: range
    start: Start


@dataclass(frozen=True, slots=True)
class Votes:
    """What the ensemble, or a share of it, said.

    Attributes:
        correct, total: (size,) int32: right predictions and predictions of each row.
        close: predictions with a decision value below 1e-4 in size.
        weights: (classifiers, D).
        one_class: (classifiers,) whose training set held one class only.
        polished: (classifiers,) that were finished in float64.
        passes: (classifiers,) over the training rows.
    """

    correct: NDArray[np.int32]
    total: NDArray[np.int32]
    close: int
    weights: Floats
    one_class: NDArray[np.bool_]
    polished: NDArray[np.bool_]
    passes: NDArray[np.intp]


def train_and_vote(share: Share) -> Votes:
    """Train a share of the classifiers and count their votes on their held-out rows."""
    X, y = fetch(share.held)
    y = y if share.labels is None else share.labels
    loops = bound(share.kernel, X, y)
    partitions = [_partition(share, classifier) for classifier in share.classifiers]
    ones = np.array([y[share.rows[part]].mean(dtype=np.float64) for part in partitions])
    one_class = (ones == 0) | (ones == 1)
    weights = np.zeros((len(partitions), len(share.start.weights)))
    # The optimum's limit for one class: the intercept runs off, the other weights vanish.
    weights[one_class, share.intercept] = 2 * ones[one_class] - 1
    polished, passes = np.zeros(len(partitions), np.bool_), np.zeros(len(partitions), np.intp)
    both = np.flatnonzero(~one_class)
    if both.size:
        mixed = [partitions[column] for column in both]
        weights[both], polished[both], passes[both] = _trained(share, loops, X, y, mixed)
    correct, total, close = loops.votes(share.rows, partitions, weights)
    return Votes(correct, total, close, weights, one_class, polished, passes)


def _partition(share: Share, classifier: int) -> NDArray[np.int32]:
    return training_rows(
        len(share.rows),
        share.train_size,
        seed=share.seed,
        phase=share.phase,
        classifier=classifier,
        groups=share.groups,
    )


def _trained(
    share: Share,
    loops: Loops,
    X: NDArray[np.float32],
    y: NDArray[np.float32],
    partitions: list[NDArray[np.int32]],
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the classifiers' weights, which were finished in float64, and their passes."""
    start = share.start
    known = start.measured, start.product
    starts = np.repeat(start.weights[None], len(partitions), axis=0)
    passes = np.zeros(len(starts), np.intp)
    if loops.rough is not None:
        gradient = loops.training(share.rows, partitions, exact=False)
        rough = minimise(gradient, starts, share.ridge, start.diagonal, ROUGH, known)
        starts = np.where(rough.converged[:, None], rough.weights, starts)
        passes += rough.passes
    gradient = loops.training(share.rows, partitions)
    fit = minimise(gradient, starts, share.ridge, start.diagonal, start.tolerance, known)
    weights, slow = fit.weights, ~fit.converged
    for column in np.flatnonzero(slow):
        part = share.rows[partitions[column]]
        with one_thread():
            weights[column] = newton(X[part], y[part], share.ridge, weights[column])
    return weights, slow, passes + fit.passes
