"""Fleiss' kappa: agreement of a fixed number of people on each item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winosmith.metrics._reliability import (
    Floats,
    Reliability,
    checked,
    undefined,
    why_undefined,
    with_interval,
)

__all__ = ["fleiss_kappa"]


def fleiss_kappa(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Fleiss' kappa (1971) with an interval by the bootstrap over items.

    (P − P_e) / (1 − P_e): the mean share of pairs of people who agree on an item, beside what they
    would share if all drew from the same pool of answers. For options, the category is their
    place; where it is random, P_e is about one over their number. Tests hold the value to that of
    statsmodels, which has no interval.

    It is not defined, and says why, when the items have different numbers of answers
    (`krippendorff_alpha` is, then), or when everybody always gave the same one answer.

    Args:
        table: how many people gave each answer to each item, (items, categories); items with
            fewer than two answers are left out. `answer_table` makes it.
        clusters: the label of each item's cluster, such as its twin, drawn again as a whole;
            (items,). None when every item is one of its own.
        seed: of the bootstrap.

    Raises:
        DataError: the table is not one of counts.

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1], [1, 2]]).value, 3)
    0.333
    """
    counts, labels = checked(table, clusters)
    reason = why_undefined(counts)
    raters = counts.sum(axis=1)
    if not reason and raters.min() < raters.max():
        reason = (
            f"the items have {raters.min()} to {raters.max()} answers; Fleiss' kappa needs as many "
            "for each"
        )
    if reason:
        return undefined(counts, reason)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    totals = np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])
    return with_interval(counts, totals, labels, seed, _kappa)


def _kappa(sums: Floats) -> Floats:
    """Return kappa of sums over items of (1, the share of agreeing pairs, the shares by answer)."""
    means = sums[:, 1:] / sums[:, :1]
    observed, expected = means[:, 0], (means[:, 1:] ** 2).sum(axis=1)
    kappa = np.full(len(sums), np.nan)
    np.divide(observed - expected, 1 - expected, out=kappa, where=expected < 1 - 1e-12)
    return kappa
