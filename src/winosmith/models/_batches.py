"""Rows into batches of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["length_batches", "next_batch", "shuffled_batches"]

Rows = npt.NDArray[np.intp]

POOL = 50
"""Batches that are drawn together and sorted by length in training: wide enough to save most of
the padding, narrow enough to leave the order random."""


def length_batches(lengths: Sequence[int], tokens: int) -> list[Rows]:
    """Cut rows, longest first, into batches of at most `tokens` tokens, padding counted.

    The longest come first, so that too little memory shows at once. A row that is longer than
    `tokens` is a batch of its own. Equal lengths keep their order.

    >>> [batch.tolist() for batch in length_batches([2, 9, 3, 2, 3], tokens=6)]
    [[1], [2, 4], [0, 3]]
    """
    measured = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-measured, kind="stable")
    batches: list[Rows] = []
    start = 0
    while start < len(order):
        batches.append(next_batch(order, measured, start, tokens))
        start += len(batches[-1])
    return batches


def next_batch(order: Rows, lengths: npt.NDArray[np.int64], start: int, tokens: int) -> Rows:
    """Return the rows from `start` on, in an order with the longest first, that fit into `tokens`.

    It is one row at least.
    """
    size = max(1, tokens // max(1, int(lengths[order[start]])))
    return order[start : start + size]


def shuffled_batches(
    lengths: Sequence[int],
    groups: Sequence[Sequence[int]],
    size: int,
    generator: np.random.Generator,
) -> list[Rows]:
    """Cut rows into batches of `size` in random order, alike in length, twins side by side.

    The groups are shuffled, cut into pools of 50 batches, sorted by length within a pool, and
    the batches shuffled. The two halves of a twin push a model's preference for an option by
    itself in opposite directions; in one batch these cancel out exactly, and what is left of the
    gradient is about the trigger. An odd number of singles before a twin can part its halves.
    """
    measured = np.asarray(lengths, dtype=np.int64)
    order = generator.permutation(len(groups))
    pool_size = POOL * size
    batches: list[Rows] = []
    for start in range(0, len(order), pool_size):
        pool = [np.asarray(groups[at], np.intp) for at in order[start : start + pool_size]]
        pool.sort(key=lambda rows: -int(measured[rows].max()))
        rows = np.concatenate(pool)
        batches.extend(rows[at : at + size] for at in range(0, len(rows), size))
    return [batches[at] for at in generator.permutation(len(batches))]
