"""What people say of each problem, in numbers that subsets can be compared by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import MAX_OPTIONS

Floats = NDArray[np.float64]

SUBJECTS = 3
"""The fewest people whose majority is asked for (WinoGrande, section 2: three judges)."""


def human_agreement(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return the share of each problem's judges who chose its answer.

    Votes with the purpose "validate" count. A judge who chose no option did not choose the answer.

    Args:
        pool: problems with answers.
        votes: of any purpose, on any problems.

    Returns:
        (n,) shares, 0–1; NaN where nobody judged.

    Raises:
        DataError: the answer of a problem that was judged is withheld.

    >>> from winosmith import Problem
    >>> pool = Dataset([Problem(name, "Ann beat Beth, so _ won.", ("Ann", "Beth"), 0) for name in "ab"])
    >>> votes = [Response("a", who, "validate", choice) for who, choice in zip("xyz", (0, 0, 1))]
    >>> human_agreement(pool, votes).round(3).tolist()
    [0.667, nan]
    """  # noqa: E501
    right, judged = np.zeros(len(pool)), np.zeros(len(pool))
    for row, vote in _on(pool, votes, "validate"):
        if pool[row].answer is None:
            raise DataError(f"the answer of {pool.ids[row]!r} is withheld; who is right?")
        judged[row] += 1
        right[row] += vote.choice == pool[row].answer
    return _shares(right, judged)


def ambiguous(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return 1 for a problem that a judge called ambiguous, else 0; NaN where nobody judged."""
    called = np.full(len(pool), np.nan)
    for row, vote in _on(pool, votes, "validate"):
        called[row] = max(float(vote.ambiguous), np.nan_to_num(called[row]))
    return called


def fresh_right(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return 1 where the majority of a human test chose the answer, else 0; NaN below three people.

    Judges' votes are no such test: problems were kept for their being right. See
    `metrics.human_accuracy`, which also refuses people who are not fresh.
    """
    right, asked = np.zeros(len(pool)), np.zeros(len(pool))
    for row, vote in _on(pool, votes, "test"):
        asked[row] += 1
        right[row] += vote.choice is not None and vote.choice == pool[row].answer
    return np.where(asked >= SUBJECTS, (2 * right > asked).astype(float), np.nan)


def vote_counts(pool: Dataset, votes: Iterable[Response]) -> NDArray[np.int64]:
    """Return how many judges chose each option of each problem, (n, options)."""
    counts = np.zeros((len(pool), MAX_OPTIONS), np.int64)
    for row, vote in _on(pool, votes, "validate"):
        if vote.choice is not None:
            counts[row, vote.choice] += 1
    return counts


def _on(pool: Dataset, votes: Iterable[Response], purpose: str) -> Iterable[tuple[int, Response]]:
    rows = {name: row for row, name in enumerate(pool.ids)}
    for vote in votes:
        if vote.purpose == purpose and vote.problem_id in rows:
            row = rows[vote.problem_id]
            if vote.choice is not None and vote.choice >= len(pool[row].options):
                raise DataError(
                    f"{vote.participant!r} chose option {vote.choice + 1} of {vote.problem_id!r}, "
                    f"which has {len(pool[row].options)}"
                )
            yield row, vote


def _shares(count: Floats, of: Floats) -> Floats:
    shares = np.full(len(of), np.nan)
    np.divide(count, of, out=shares, where=of > 0)
    return shares
