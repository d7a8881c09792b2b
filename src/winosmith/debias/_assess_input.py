"""What goes into an assessment, checked: embeddings, labels, subsets of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._rows import checked_labels
from winosmith.errors import DataError


def checked_embeddings(
    X: NDArray[Any], y: ArrayLike, *, alike: bool = False
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return finite rows and their labels, 0 and 1; a column alone gets one of zeros beside it.

    With `alike` all labels may be the same.
    """
    X, labels = np.asarray(X), checked_labels(y, alike=alike).astype(np.intp)
    if X.ndim != 2 or X.shape[1] < 1:
        raise DataError(f"X must have rows and columns; its shape is {X.shape}")
    if len(labels) != len(X):
        raise DataError(f"X has {len(X)} rows, but y has {len(labels)} entries")
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(f"row {row} of X holds NaN or infinity; embed that problem again")
    if X.shape[1] == 1:
        X = np.hstack([X, np.zeros_like(X)])
    return X, labels


def checked_rows_of(name: str, rows: Iterable[int], n: int) -> NDArray[np.intp]:
    """Return the rows of a subset, ascending; each is once there."""
    found = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if not len(found):
        return np.empty(0, np.intp)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise DataError(f"the subset {name!r} must be a list of row numbers")
    if found.min() < 0 or found.max() >= n or len(np.unique(found)) < len(found):
        raise DataError(f"the subset {name!r} must name each row once, from 0 to {n - 1}")
    return np.sort(found.astype(np.intp))
