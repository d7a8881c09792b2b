"""The share of intended answers, with an interval for other people and other items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winosmith.metrics import Proportion, wilson_interval

__all__ = ["crossed_share"]

Floats = npt.NDArray[np.float64]


def crossed_share(right: Floats) -> Proportion:
    """Return the share of answers that are right, with an interval that lets both sides vary.

    Subjects and items are crossed random effects (Clark 1973): the variance of the mean is that of
    the subjects' means plus that of the items' means, less what both hold of the residual,

        s² = var(subject means) / k + var(item means) / m − var(residuals) / (k m).

    The interval is Wilson's with the number of independent answers that has this variance, widened
    by Student's t for the smaller of k and m. With one subject only items vary, with one item only
    subjects. Where nothing varies (all right, say), as many answers count as there are subjects or
    items, whichever is more.

    Args:
        right: 1 and 0, NaN for what was not asked, (subjects k, items m).

    >>> table = np.ones((4, 50))
    >>> table[0, :10] = 0
    >>> found = crossed_share(table)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.95, [0.59, 1.0])
    """
    from scipy.stats import norm, t

    known = ~np.isnan(right)
    n, value = int(known.sum()), float(np.nanmean(right))
    asked = right[known.any(axis=1)][:, known.any(axis=0)]
    k, m = asked.shape
    people, items = np.nanmean(asked, axis=1), np.nanmean(asked, axis=0)
    residual = asked - people[:, None] - items[None, :] + value
    between = [float(means.var(ddof=1)) / len(means) for means in (people, items) if len(means) > 1]
    shared = 0.0
    if min(k, m) > 1:
        shared = float(np.nansum(residual**2)) / ((k - 1) * (m - 1)) / n
    variance = max(sum(between) - shared, *between, 0.0)
    if variance > 0 and 0 < value < 1:
        alike = min(n, value * (1 - value) / variance)
    else:
        alike = max(k, m) if n > 1 else 1
    fewest = min((size for size in (k, m) if size > 1), default=2)
    wider = float(norm.ppf(0.975) / t.ppf(0.975, fewest - 1))
    independent = alike * wider**2
    interval = wilson_interval(value * independent, independent)
    return Proportion(int(np.nansum(asked)), n, interval, min(k, m), n / alike)
