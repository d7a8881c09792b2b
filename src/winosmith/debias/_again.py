"""What of a filter's work would be done again: by another seed, and on vectors a little shaken.

AFLite is chaotic: which problems go in one phase decides what the next ones see, so that a change
of the last digits grows. Of 6,000 practice problems another seed removes 76 to 80 % of what one
removes (Jaccard .55 to .69). What one run removed is one draw, and is to be read beside others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._scratch import scratch_folder, scratch_matrix
from winosmith.errors import InputError

NOISE = 1e-4
"""How far numbers are shaken, as a share of themselves: about what half precision rounds off, or
another machine in an encoder."""


@dataclass(frozen=True, slots=True)
class Again:
    """Of the problems that a filter removed, how many another run of it removes too.

    Attributes:
        removed: problems that the filter removed.
        other: those that the other run removed.
        both: those that both removed.
    """

    removed: int
    other: int
    both: int

    @property
    def share(self) -> float | None:
        """The share of the removed that the other run removes too, 0–1; None without any."""
        return self.both / self.removed if self.removed else None

    @property
    def jaccard(self) -> float | None:
        """Those that both removed over those that either did, 0–1; None when neither did."""
        either = self.removed + self.other - self.both
        return self.both / either if either else None


def again(kept: ArrayLike, other: ArrayLike, rows: int) -> Again:
    """Compare what two runs of a filter removed of the same rows.

    Args:
        kept: the rows that the filter kept.
        other: those that the other run kept.
        rows: how many there were.

    Raises:
        InputError: a row that there is not.

    >>> again([0, 1], [0, 2], 5)
    Again(removed=3, other=3, both=2)
    """
    gone = np.ones((2, rows), np.bool_)
    for run, left in enumerate((kept, other)):
        known = np.asarray(left, np.intp)
        if len(known) and (known.min() < 0 or known.max() >= rows):
            raise InputError(f"there are {rows} rows; a kept row is not among them")
        gone[run, known] = False
    return Again(int(gone[0].sum()), int(gone[1].sum()), int((gone[0] & gone[1]).sum()))


@contextlib.contextmanager
def shaken(
    X: NDArray[Any],
    ids: Sequence[Hashable],
    *,
    seed: int = 0,
    noise: float = NOISE,
    scratch: str | Path | None = None,
) -> Iterator[NDArray[np.float32]]:
    """Lend vectors with each number multiplied by 1 + `noise` × a standard normal one.

    What a row is multiplied by depends on the seed and on its id's place among the sorted ids, not
    on the order of the rows. Vectors that are mapped from a file are lent from a file too.

    Args:
        X: (n, d) vectors.
        ids: (n,) distinct ids of one kind that can be put in order.
        seed: 0 or more.
        noise: the standard deviation, relative to each number.
        scratch: a folder for the copy, as for `debias.aflite`.
    """
    order = sorted(range(len(ids)), key=ids.__getitem__)  # type: ignore[arg-type]
    folder = scratch_folder(X, scratch)
    with contextlib.ExitStack() as stack:
        moved: NDArray[np.float32] = (
            np.empty(X.shape, np.float32)
            if folder is None
            else (stack.enter_context(scratch_matrix((X.shape[0], X.shape[1]), folder))[0])
        )
        for place, row in enumerate(order):
            draw = np.random.default_rng([seed, place]).standard_normal(X.shape[1])
            moved[row] = X[row] * (1 + noise * draw)
        yield moved
