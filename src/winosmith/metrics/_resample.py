"""The cluster bootstrap: whole clusters are drawn again, with replacement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["DRAWS", "bootstrap_interval", "cluster_totals", "percentiles", "resampled"]

DRAWS = 10_000
"""Draws of a bootstrap: the ends of a 95 % interval are then certain to about 1 % of its width."""

Floats = npt.NDArray[np.float64]


def cluster_totals(values: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Floats:
    """Return the sum of each column over each cluster: (n, q) values give (G, q) totals."""
    columns = np.asarray(values, dtype=np.float64)
    labels = np.unique(clusters, return_inverse=True)[1]
    totals = np.zeros((int(labels.max()) + 1, columns.shape[1]))
    np.add.at(totals, labels, columns)
    return totals


def resampled(
    totals: Floats, seed: int, *, draws: int = DRAWS, prior: Floats | None = None
) -> Floats:
    """Return the sums over as many clusters drawn with replacement, (draws, q).

    Clusters with equal totals are drawn as one kind, by a multinomial: the same distribution, in a
    fraction of the time.

    Args:
        totals: what each cluster adds, (G, q).
        seed: of the draws.
        draws: how many.
        prior: (k, 1 + q) clusters that join the urn with a weight each (its first column), so
            that what was never seen is not impossible; None for none.
    """
    kinds, counts = np.unique(totals, axis=0, return_counts=True)
    weights = counts.astype(float)
    if prior is not None:
        kinds = np.concatenate([kinds, prior[:, 1:]])
        weights = np.concatenate([weights, prior[:, 0]])
    rng = np.random.default_rng([seed, len(totals)])
    drawn = rng.multinomial(len(totals), weights / weights.sum(), size=draws)
    sums: Floats = drawn @ kinds
    return sums


def percentiles(values: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the interval that holds the middle `level` of the values."""
    ends = np.quantile(np.asarray(values), [0.5 - level / 2, 0.5 + level / 2])
    return float(ends[0]), float(ends[1])


def bootstrap_interval(
    values: npt.ArrayLike, clusters: npt.NDArray[np.int64], seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by the cluster bootstrap.

    Args:
        values: one a case, (n,).
        clusters: the label of each case's cluster, (n,).
        seed: of the draws.

    >>> bootstrap_interval([1.0] * 5, np.arange(5))
    (1.0, 1.0)
    """
    each = np.asarray(values, dtype=np.float64)
    totals = cluster_totals(np.stack([each, np.ones(len(each))], axis=1), clusters)
    sums = resampled(totals, seed)
    return percentiles(sums[:, 0] / sums[:, 1])
