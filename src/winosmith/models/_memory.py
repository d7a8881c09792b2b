"""Work in batches that halve themselves when memory runs out."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import TypeVar

from winosmith.errors import InputError
from winosmith.extras import require

__all__ = ["OnProgress", "free", "in_memory", "is_out_of_memory"]

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
