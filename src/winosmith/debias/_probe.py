"""What a linear model can guess of problems that no filter has selected, in plain per cent.

A probe is a logistic regression trained on some problems and tested on others, whole blocks apart.
Unlike a KL over one principal component it needs no bins, has a known chance level, and looks at
every direction of the embedding at once. Of what a filter by answers kept it says nothing, since
that was selected by the answers that it is asked for: see `_verify`.

The vectors of `difference` turn around when the options of a problem are swapped, and which is
written first means nothing. So their probe has no intercept: it learns w from the problems turned
so that the right option comes first, and swapping options changes not a bit of the result. Of
problems with any number of options each option has a vector, and the probe is a conditional logit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._chance import Z
from winosmith.debias._choices import Choices
from winosmith.debias._rows import numbered
from winosmith.errors import DataError
from winosmith.threads import one_thread


@dataclass(frozen=True, slots=True)
class Probe:
    """Held-out accuracy of a linear model.

    Attributes:
        accuracy: the share of test problems it guesses, 0–1, a tie counted as one over the options
            that tie; chance is `chance`.
        low: the lower end of the 95 % interval, each group counted as one observation.
        high: its upper end.
        chance: the mean of 1 / K over problems of K options, one half of two; where vectors do not
            turn with the options, the share of the more frequent answer among the test problems,
            which an intercept can learn.
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
    options: ArrayLike | None = None,
    turns: bool = True,
    folds: int = 5,
    C: float = 1.0,
    seed: int = 0,
) -> Probe:
    """Return the cross-validated accuracy of a linear model, whole groups in one fold.

    Args:
        X: (n, d) embeddings; with `options` (n, K, d), those of every option.
        y: (n,) labels, 0 or 1; with `options` the place of the right one, from 0.
        groups: the rows that must not be parted, such as `blocks.blocks(dataset)`, which has
            copies and what looks alike beside twins; every row in one.
        options: (n,) how many options each problem has; None for two, of which X has one vector.
        turns: whether swapping the options of a problem turns its vector around, as in those of
            `difference`. If not (`concat`, vectors from elsewhere), the model has an intercept, and
            the order of the options can change the figure.
        folds: how many parts, each tested once by a model trained on the others.
        C: the inverse strength of the L2 penalty.
        seed: deals the groups to the folds.

    Raises:
        DataError: fewer groups than folds.
    """
    if len(groups) < folds:
        raise DataError(f"a probe with {folds} folds needs as many groups; there are {len(groups)}")
    group_of = numbered(groups, len(y))
    fold_of = np.random.default_rng([seed, folds]).permutation(len(groups))[group_of] % folds
    if options is not None:
        choices = Choices.of(X, y, options)
        weights = (fold_of[:, None] != np.arange(folds)).astype(np.float32)
        credit = choices.judged(choices.models(weights, C)).credit
        return _summary(credit[np.arange(len(y)), fold_of], group_of, choices.chance)
    right = np.empty(len(y))
    for fold in range(folds):
        test = fold_of == fold
        right[test] = _right(X[~test], y[~test], X[test], y[test], C, turns)
    ones = float(np.mean(y == 1))
    return _summary(right, group_of, 0.5 if turns else max(ones, 1 - ones))


def _right(
    X: NDArray[Any],
    y: NDArray[Any],
    others: NDArray[Any],
    answers: NDArray[Any],
    C: float,
    turns: bool,
) -> NDArray[np.float64]:
    """Return what a model trained on (X, y) earns on each other row: 1, 0, and ½ for a tie."""
    score = _turned(X, y, others, C) if turns else _free(X, y, others, C)
    return np.where(score == 0, 0.5, (score > 0) == (answers == 1))


def _free(X: NDArray[Any], y: NDArray[Any], others: NDArray[Any], C: float) -> NDArray[Any]:
    """Return the scores of a model with an intercept, above 0 for label 1."""
    if len(np.unique(y)) < 2:
        return np.full(len(others), 2.0 * y[0] - 1 if len(y) else 0.0)
    return _fitted(X, y, others, C, intercept=True)


def _turned(X: NDArray[Any], y: NDArray[Any], others: NDArray[Any], C: float) -> NDArray[Any]:
    """Return the scores of a model without an intercept, above 0 for label 1.

    Rows are turned to label 1, and then every other one to label 0: the loss is the same, and
    nothing is left of how they came.
    """
    if len(y) < 2:
        return np.zeros(len(others))
    labels = np.arange(len(y)) % 2
    turned = np.where((labels == y)[:, None], X, -X)
    return _fitted(turned, labels, others, C, intercept=False)


def _fitted(
    X: NDArray[Any], y: NDArray[Any], others: NDArray[Any], C: float, *, intercept: bool
) -> NDArray[Any]:
    from sklearn.linear_model import LogisticRegression

    with one_thread():
        model = LogisticRegression(C=C, max_iter=1000, tol=1e-4, fit_intercept=intercept)
        scores: NDArray[Any] = model.fit(X, y).decision_function(others)
    return scores


def _summary(right: NDArray[np.float64], group_of: NDArray[np.intp], chance: float) -> Probe:
    """Return the share that is right, with an interval that is robust to clusters.

    The variance is the linearised one of a mean over clusters of unequal sizes: the sum of the
    squared cluster residuals over n squared, with g / (g - 1) for g clusters.
    """
    n = len(right)
    accuracy = float(right.mean())
    residuals = np.bincount(group_of, weights=right - accuracy)
    clusters = len(np.unique(group_of))
    error = float(np.sqrt((residuals**2).sum() * clusters / max(clusters - 1, 1))) / n
    return Probe(
        accuracy=accuracy,
        low=max(0.0, accuracy - Z * error),
        high=min(1.0, accuracy + Z * error),
        chance=chance,
        n=n,
    )
