"""Krippendorff's alpha: agreement of any number of people, with answers missing.

Written here because the package that has it (krippendorff 0.9) is under the GPL, and nltk's loops
take minutes for a bootstrap; tests hold it to nltk's and to the published examples.
"""

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

__all__ = ["krippendorff_alpha"]


def krippendorff_alpha(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Krippendorff's alpha for nominal answers, with an interval by drawing items again.

    1 − D_o / D_e (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C): of all
    pairs of answers to one item, how many differ, beside how many of all pairs of answers do.

        α = 1 − (n − 1) Σ_u Σ_{c≠k} n_uc n_uk / (m_u − 1)  /  Σ_{c≠k} n_c n_k,

    where m_u answers were given to item u, n_uc of them c, and n is the number of answers to items
    with two or more. It is not defined, and says why, when there is no such item or everybody
    always gave the same one answer. The interval draws items; Krippendorff's own bootstrap draws
    pairs of answers as if they were independent, and comes out narrower.

    Args:
        table: how many people gave each answer to each item, (items, categories); missing answers
            are just not counted. `answer_table` makes it.
        clusters: the label of each item's cluster, such as its twin, drawn again as a whole;
            (items,). None when every item is one of its own.
        seed: of the bootstrap.

    Raises:
        DataError: the table is not one of counts.

    >>> found = krippendorff_alpha([[3, 0], [0, 3], [2, 0], [1, 2], [1, 0]])
    >>> round(found.value, 3), found.items, found.answers
    (0.667, 4, 11)
    >>> krippendorff_alpha([[3, 0], [2, 0]]).reason
    'everybody always gave the same one answer, so that nothing is left to chance'
    """
    counts, labels = checked(table, clusters)
    reason = why_undefined(counts)
    if reason:
        return undefined(counts, reason)
    answers = counts.sum(axis=1)
    differing = (answers**2 - (counts**2).sum(axis=1)) / (answers - 1)
    return with_interval(counts, np.column_stack([differing, counts]), labels, seed, _alpha)


def _alpha(sums: Floats) -> Floats:
    """Return alpha of sums over items of (the pairs that differ, the answers by category)."""
    counts = sums[:, 1:]
    n = counts.sum(axis=1)
    pairs = n**2 - (counts**2).sum(axis=1)
    alpha = np.full(len(sums), np.nan)
    np.divide((n - 1) * sums[:, 0], pairs, out=alpha, where=pairs > 0)
    return 1 - alpha
