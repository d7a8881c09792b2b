"""How much people who answered the same items agree: Krippendorff's alpha and Fleiss' kappa.

Alpha is written here because the package that has it (krippendorff 0.9) is under the GPL, and
nltk's loops take minutes for a bootstrap; tests hold it to nltk's and to the published examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.metrics._intervals import cluster_totals, percentiles, resampled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reliability:
    """Agreement beyond chance, between people who answered the same items.

    Attributes:
        value: 1 where all agree, 0 for what chance gives, below 0 for less than that; None where
            it is not defined.
        interval: its 95 % interval, by drawing items (or clusters of them) again; None with
            `value`.
        reason: why it is not defined; empty where it is.
        items: how many items count: those with two answers or more.
        answers: how many answers they have.
    """

    value: float | None
    interval: tuple[float, float] | None
    reason: str
    items: int
    answers: int

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {**asdict(self), "interval": None if self.interval is None else [*self.interval]}


def answer_table(answers: Iterable[Sequence[int | None]], categories: int | None = None) -> Ints:
    """Count how many people gave each answer to each item: (items, categories).

    Args:
        answers: for each item the answers it got, as numbers from 0; None is a missing one.
        categories: how many columns; by default as many as occur.

    Raises:
        DataError: an answer that is no number from 0, or one of `categories` or more.

    >>> answer_table([(0, 0, 1), (1, None, 1)]).tolist()
    [[2, 1], [0, 2]]
    """
    given = [[answer for answer in item if answer is not None] for item in answers]
    highest = max((answer for item in given for answer in item), default=0)
    columns = highest + 1 if categories is None else categories
    wrong = next((a for item in given for a in item if not 0 <= a < columns), None)
    if wrong is not None:
        raise DataError(f"the answer {wrong} is not a number from 0 to {columns - 1}")
    table = np.zeros((len(given), columns), dtype=np.int64)
    for row, item in enumerate(given):
        np.add.at(table[row], item, 1)
    return table


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
    counts, labels = _checked(table, clusters)
    reason = _why_undefined(counts)
    if reason:
        return _undefined(counts, reason)
    answers = counts.sum(axis=1)
    differing = (answers**2 - (counts**2).sum(axis=1)) / (answers - 1)
    return _with_interval(counts, np.column_stack([differing, counts]), labels, seed, _alpha)


def _alpha(sums: Floats) -> Floats:
    """Return alpha of sums over items of (the pairs that differ, the answers by category)."""
    counts = sums[:, 1:]
    n = counts.sum(axis=1)
    pairs = n**2 - (counts**2).sum(axis=1)
    alpha = np.full(len(sums), np.nan)
    np.divide((n - 1) * sums[:, 0], pairs, out=alpha, where=pairs > 0)
    return 1 - alpha


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
    counts, labels = _checked(table, clusters)
    reason = _why_undefined(counts)
    raters = counts.sum(axis=1)
    if not reason and raters.min() < raters.max():
        reason = (
            f"the items have {raters.min()} to {raters.max()} answers; Fleiss' kappa needs as many "
            "for each"
        )
    if reason:
        return _undefined(counts, reason)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    totals = np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])
    return _with_interval(counts, totals, labels, seed, _kappa)


def _kappa(sums: Floats) -> Floats:
    """Return kappa of sums over items of (1, the share of agreeing pairs, the shares by answer)."""
    means = sums[:, 1:] / sums[:, :1]
    observed, expected = means[:, 0], (means[:, 1:] ** 2).sum(axis=1)
    kappa = np.full(len(sums), np.nan)
    np.divide(observed - expected, 1 - expected, out=kappa, where=expected < 1 - 1e-12)
    return kappa


def _checked(table: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Ints, Ints]:
    """Return the counts, and the cluster of each item, of the items with two answers or more.

    Raises:
        DataError: the table is not one of counts, or the clusters are not one an item.
    """
    counts = np.asarray(table)
    whole = counts.ndim == 2 and counts.size and np.all(np.isfinite(counts))
    if not whole or np.any(counts < 0) or np.any(counts != np.round(counts)):
        raise DataError(
            "agreement is counted from a table (items, categories) of how many people gave each "
            f"answer; this one has the shape {counts.shape}, or cells that are no counts"
        )
    labels = np.arange(len(counts)) if clusters is None else np.asarray(clusters)
    if labels.shape != (len(counts),):
        raise DataError(f"there are {labels.size} clusters for {len(counts)} items; one is needed")
    several = counts.sum(axis=1) >= 2
    return counts[several].astype(np.int64), labels[several]


def _with_interval(
    counts: Ints,
    totals: Floats,
    clusters: Ints,
    seed: int,
    coefficient: Callable[[Floats], Floats],
) -> Reliability:
    """Return a coefficient of sums over items, and its interval by drawing clusters again.

    Args:
        counts: the table of the items that count.
        totals: what each item adds to the sums, (items, q).
        clusters: the cluster of each item.
        seed: of the draws.
        coefficient: sums (draws, q) → values (draws,), NaN where they are not defined.
    """
    value = float(coefficient(totals.sum(axis=0)[None])[0])
    drawn = coefficient(resampled(cluster_totals(totals, clusters), seed))
    interval = percentiles(drawn[~np.isnan(drawn)])
    return Reliability(value, interval, "", len(counts), int(counts.sum()))


def _undefined(counts: Ints, reason: str) -> Reliability:
    """Return a coefficient that is not defined, and why."""
    return Reliability(None, None, reason, len(counts), int(counts.sum()))


def _why_undefined(counts: Ints) -> str:
    """Return why no agreement beyond chance can be told from these counts; empty if it can."""
    if not len(counts):
        return "no item has two answers or more"
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return "everybody always gave the same one answer, so that nothing is left to chance"
    return ""
