"""How much people who answered the same items agree: the table that is counted, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.metrics._intervals import cluster_totals, percentiles, resampled

__all__ = [
    "Floats",
    "Reliability",
    "answer_table",
    "checked",
    "undefined",
    "why_undefined",
    "with_interval",
]

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


def checked(table: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Ints, Ints]:
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


def with_interval(
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


def undefined(counts: Ints, reason: str) -> Reliability:
    """Return a coefficient that is not defined, and why."""
    return Reliability(None, None, reason, len(counts), int(counts.sum()))


def why_undefined(counts: Ints) -> str:
    """Return why no agreement beyond chance can be told from these counts; empty if it can."""
    if not len(counts):
        return "no item has two answers or more"
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return "everybody always gave the same one answer, so that nothing is left to chance"
    return ""
