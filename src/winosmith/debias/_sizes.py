"""The paper's training and cutoff sizes, and the same shares of a smaller data set."""

from __future__ import annotations

PAPER_ROWS = 47_000
PAPER_TRAIN_SIZE = 10_000
PAPER_CUTOFF = 500
"""WinoGrande, section 3: m and k for the 47k problems that went into AFLite."""


def suggested_sizes(rows: int) -> tuple[int, int]:
    """Return the training size m and the cutoff k for that many rows.

    From 47,000 rows on they are the paper's, 10,000 and 500; below, the same shares of the rows
    (m = 0.213 N, k = 0.0106 N), at least 2 and 1. The share of rows that a classifier sees, and
    the number of phases that a given part of the data takes, stay what they are in the paper.

    >>> suggested_sizes(47_000), suggested_sizes(4_700)
    ((10000, 500), (1000, 50))
    """
    share = min(1.0, rows / PAPER_ROWS)
    return max(2, round(share * PAPER_TRAIN_SIZE)), max(1, round(share * PAPER_CUTOFF))
