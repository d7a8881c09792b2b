"""A share of a phase's classifiers: train each on its partition, let it vote on the rest.

Algorithm 1, lines 5 to 9, of WinoGrande; this is what one worker does. Nothing that a classifier
does depends on its share.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._basis import aligned
from winosmith.debias._compile import kernel
from winosmith.debias._newton import newton
from winosmith.debias._partition import training_rows
from winosmith.debias._shared import Held, fetch
from winosmith.debias._solver import minimise
from winosmith.debias._start import Start
from winosmith.threads import one_thread

__all__ = ["Share", "Votes", "train_and_vote"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker needs to know.

    Attributes:
        held: where the basis and the labels are.
        labels: (N,) float32 in place of the labels held; None for those.
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
    loops = kernel()
    X, y = fetch(share.held)
    y = y if share.labels is None else share.labels
    partitions = [_partition(share, classifier) for classifier in share.classifiers]
    lowest, highest = np.array([_labels(y[share.rows[part]]) for part in partitions]).T
    one_class = lowest == highest
    weights = np.zeros((len(partitions), X.shape[1]))
    # The optimum's limit for one class: the intercept runs off, the other weights vanish.
    weights[one_class, share.intercept] = 2 * lowest[one_class] - 1
    polished, passes = np.zeros(len(partitions), np.bool_), np.zeros(len(partitions), np.intp)
    both = np.flatnonzero(~one_class)
    if both.size:
        mixed = [partitions[column] for column in both]
        weights[both], polished[both], passes[both] = _trained(share, X, y, mixed)
    correct, total = np.zeros((2, len(share.rows)), np.int32)
    begin, end, places = _strung(partitions)
    even = aligned(np.concatenate([weights, weights[: len(weights) % 2]]))
    close = loops.count_votes(X, y, share.rows, begin, end, places, even, correct, total)
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


def _labels(labels: NDArray[np.float32]) -> tuple[np.float32, np.float32]:
    return labels.min(), labels.max()


def _strung(
    partitions: list[NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return where each partition begins and ends in one string of all, and the string."""
    sizes = np.array([len(part) for part in partitions], np.int64)
    end = np.cumsum(sizes)
    return end - sizes, end, np.concatenate(partitions)


def _trained(
    share: Share,
    X: NDArray[np.float32],
    y: NDArray[np.float32],
    partitions: list[NDArray[np.int32]],
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the classifiers' weights, which were finished in float64, and their passes."""
    loops = kernel()
    begin, end, places = _strung(partitions)

    def gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
        G = np.empty(W.shape)
        loops.add_gradients(X, y, share.rows, begin[columns], end[columns], places, aligned(W), G)
        return G

    start = share.start
    alike = np.repeat(start.weights[None], len(partitions), axis=0)
    fit = minimise(gradient, alike, share.ridge, start.diagonal, start.tolerance)
    weights, slow = fit.weights, ~fit.converged
    if slow.any():
        with _one_blas_thread(share.held):
            for column in np.flatnonzero(slow):
                part = share.rows[partitions[column]]
                weights[column] = newton(X[part], y[part], share.ridge, weights[column])
    return weights, slow, fit.passes


def _one_blas_thread(held: Held) -> AbstractContextManager[object]:
    """Return a block with BLAS on one thread; in the parent's own threads, that is so already."""
    if held.folder is None:
        return nullcontext()

    limits: AbstractContextManager[object] = one_thread()
    return limits
