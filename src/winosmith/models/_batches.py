"""Rows into batches: of similar length, so that little is padding; halved where memory runs out."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require

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


Batch = TypeVar("Batch")

OnProgress = Callable[[int, int], None]
"""Is told the texts done and the texts in all."""

_SIGNS = ("out of memory", "can't allocate memory", "not enough memory")
"""How torch says that memory is short where it has no error of its own for it, as on a CPU."""


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory ran out."""
    torch = require("torch", "models")
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def in_memory(
    total: int,
    budget: int,
    take: Callable[[int, int], tuple[Batch, int, int]],
    run: Callable[[Batch], None],
    on_progress: OnProgress | None = None,
) -> None:
    """Run through `total` texts in batches; a batch that does not fit is cut in two, with a warning.

    Args:
        total: the number of texts.
        budget: the tokens that a batch may hold.
        take: from the first text and the budget to a batch, its texts and its tokens.
        run: what is done with a batch; what earlier batches gave is kept.
        on_progress: is told the texts done and those in all.

    Raises:
        InputError: not even one text fits into memory.
    """  # noqa: E501
    done = 0
    while done < total:
        batch, count, tokens = take(done, budget)
        try:
            run(batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if count == 1:
                raise InputError(
                    f"the memory is too small for the model and one text of {tokens} tokens; "
                    "take a smaller model, dtype='bfloat16' on a GPU, or a larger machine"
                ) from error
        else:
            done += count
            if on_progress:
                on_progress(done, total)
            continue
        budget = max(1, tokens // 2)
        warnings.warn(
            f"out of memory with {tokens} tokens at once; going on with {budget}", stacklevel=4
        )
        del batch
        free()


def free() -> None:
    """Give back what no longer has a name, so that the next try finds it."""
    torch = require("torch", "models")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
