"""What a linear model can still guess: the figure a filter is for, in plain per cent.

A probe is a logistic regression trained on some problems and tested on others, whole twins apart.
Unlike a KL over one principal component it needs no bins, has a known chance level, and looks at
every direction of the embedding at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import DataError
from winosmith.threads import one_thread

__all__ = ["Probe", "probe", "probe_across"]

_Z = 1.959963984540054
"""The 97.5 % point of the normal distribution, for a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Held-out accuracy of a linear model.

    Attributes:
        accuracy: the share of test problems it guesses, 0–1; chance is `chance`.
        low: the lower end of the 95 % interval, twins counted as one observation.
        high: its upper end.
        chance: the share of the more frequent answer among the test problems.
        n: the number of test problems.
    """

    accuracy: float
    low: float
    high: float
    chance: float
    n: int


def probe(
    X: NDArray[Any],
    y: NDArray[Any],
    groups: Sequence[Sequence[int]],
    *,
    folds: int = 5,
    C: float = 1.0,
    seed: int = 0,
) -> Probe:
    """Return the cross-validated accuracy of a linear model, whole groups in one fold.

    Args:
        X: (n, d) embeddings.
        y: (n,) labels, 0 or 1.
        groups: the rows that must not be parted, such as `Dataset.groups`; every row in one.
        folds: how many parts, each tested once by a model trained on the others.
        C: the inverse strength of the L2 penalty.
        seed: deals the groups to the folds.

    Raises:
        DataError: fewer groups than folds.
    """
    if len(groups) < folds:
        raise DataError(f"a probe with {folds} folds needs as many groups; there are {len(groups)}")
    group_of = np.empty(len(y), dtype=np.intp)
    for number, rows in enumerate(groups):
        group_of[list(rows)] = number
    dealt = np.random.default_rng([seed, folds]).permutation(len(groups)) % folds
    fold_of = dealt[group_of]
    right = np.empty(len(y), dtype=bool)
    for fold in range(folds):
        test = fold_of == fold
        right[test] = _guesses(X[~test], y[~test], X[test], C) == y[test]
    return _summary(right, y, group_of)


def probe_across(
    X: NDArray[Any],
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    *,
    C: float = 1.0,
) -> Probe:
    """Return the accuracy on the rows `test` of a linear model trained on the rows `train`."""
    right = _guesses(X[train], y[train], X[test], C) == y[test]
    return _summary(right, y[test], np.arange(len(test)))


def _guesses(X: NDArray[Any], y: NDArray[Any], other: NDArray[Any], C: float) -> NDArray[Any]:
    """Return the labels that a model trained on (X, y) gives to other rows."""
    if len(np.unique(y)) < 2:
        return np.full(len(other), y[0] if len(y) else 0)
    from sklearn.linear_model import LogisticRegression

    with one_thread():
        model = LogisticRegression(C=C, max_iter=1000, tol=1e-4).fit(X, y)
        guessed: NDArray[Any] = model.predict(other)
    return guessed


def _summary(right: NDArray[np.bool_], y: NDArray[Any], group_of: NDArray[np.intp]) -> Probe:
    """Return the share that is right, with an interval that is robust to clusters.

    The variance is the linearised one of a mean over clusters of unequal sizes: the sum of the
    squared cluster residuals over n squared, with g / (g - 1) for g clusters.
    """
    n = len(right)
    accuracy = float(right.mean())
    residuals = np.bincount(group_of, weights=right - accuracy)
    clusters = len(np.unique(group_of))
    error = float(np.sqrt((residuals**2).sum() * clusters / max(clusters - 1, 1))) / n
    ones = float(np.mean(y == 1))
    return Probe(
        accuracy=accuracy,
        low=max(0.0, accuracy - _Z * error),
        high=min(1.0, accuracy + _Z * error),
        chance=max(ones, 1 - ones),
        n=n,
    )
