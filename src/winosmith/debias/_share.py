"""A share of a phase's classifiers: train each on its partition, let it vote on the rest.

Algorithm 1, lines 5 to 9, of WinoGrande; this is what one worker does. Nothing that a classifier
does depends on its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._family import present_classes
from winosmith.debias._loops import Loops, bound
from winosmith.debias._newton import newton
from winosmith.debias._partition import training_rows
from winosmith.debias._shared import Held, fetch
from winosmith.debias._solver import minimise
from winosmith.debias._start import Start, without
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
        family: the classifiers' loss, see `_family`.
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
    family: int
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
        close: predictions with a decision value, or a lead, below 1e-4 in size.
        weights: (classifiers, K, D).
        whole: (classifiers,) whose training set held every class that is left.
        one_class: (classifiers,) whose training set held one class only.
        polished: (classifiers,) that were finished in float64.
        passes: (classifiers,) over the training rows.
    """

    correct: NDArray[np.int32]
    total: NDArray[np.int32]
    close: int
    weights: Floats
    whole: NDArray[np.bool_]
    one_class: NDArray[np.bool_]
    polished: NDArray[np.bool_]
    passes: NDArray[np.intp]


def train_and_vote(share: Share) -> Votes:
    """Train a share of the classifiers and count their votes on their held-out rows."""
    X, y = fetch(share.held)
    y = y if share.labels is None else share.labels
    loops = bound(share.kernel, X, y)
    partitions = [_partition(share, classifier) for classifier in share.classifiers]
    outputs = len(share.start.weights)
    present = np.array([present_classes(y[share.rows[part]], outputs) for part in partitions])
    one_class = present.sum(axis=1) == 1
    weights = np.zeros((len(partitions), *share.start.weights.shape))
    # The optimum's limit for one class: the intercept runs off, the other weights vanish.
    weights[one_class, :, share.intercept] = _only(present[one_class], outputs)
    polished, passes = np.zeros(len(partitions), np.bool_), np.zeros(len(partitions), np.intp)
    both = np.flatnonzero(~one_class)
    if both.size:
        mixed = [partitions[column] for column in both]
        alike = np.repeat(share.start.weights[None], len(mixed), axis=0)
        start = without(alike, present[both], share.family, share.intercept)
        weights[both], polished[both], passes[both] = _trained(share, loops, X, y, mixed, start)
    correct, total, close = loops.votes(share.rows, partitions, weights)
    whole = (present == present_classes(y[share.rows], outputs)).all(axis=1)
    return Votes(correct, total, close, weights, whole, one_class, polished, passes)


def _partition(share: Share, classifier: int) -> NDArray[np.int32]:
    return training_rows(
        len(share.rows),
        share.train_size,
        seed=share.seed,
        phase=share.phase,
        classifier=classifier,
        groups=share.groups,
    )


def _only(present: NDArray[np.bool_], outputs: int) -> Floats:
    """Return the intercepts of classifiers that know one class, (c, K): they predict that one."""
    return np.where(present[:, 1:] if outputs == 1 else present, 1.0, -1.0)


def _trained(
    share: Share,
    loops: Loops,
    X: NDArray[np.float32],
    y: NDArray[np.float32],
    partitions: list[NDArray[np.int32]],
    starts: Floats,
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the classifiers' weights, which were finished in float64, and their passes."""
    start = share.start
    known = start.measured, start.product
    passes = np.zeros(len(starts), np.intp)
    if loops.rough is not None:
        gradient = loops.training(share.family, share.rows, partitions, exact=False)
        rough = minimise(gradient, starts, share.ridge, start.diagonal, ROUGH, known)
        starts = np.where(rough.converged[:, None, None], rough.weights, starts)
        passes += rough.passes
    gradient = loops.training(share.family, share.rows, partitions)
    fit = minimise(gradient, starts, share.ridge, start.diagonal, start.tolerance, known)
    weights, slow = fit.weights, ~fit.converged
    for column in np.flatnonzero(slow):
        part = share.rows[partitions[column]]
        with one_thread():
            weights[column] = newton(X[part], y[part], share.ridge, weights[column], share.family)
    return weights, slow, passes + fit.passes
