"""What goes into AFLite: rows and labels, checked, and the canonical order they are put in."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._groups import group_numbers
from winosmith.debias._scratch import refuse_without_room, scratch_folder
from winosmith.errors import DataError

CHUNK = 2048
"""Rows that are converted at a time, so that no second copy of the data is held in float64."""


ONE_CLASSIFIER = "AFLite trains logistic regressions, and nothing else; leave it out"
"""What to write in place of another classifier."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows and labels, with their canonical order.

    Attributes:
        X: (N, d) as given, in the order given.
        order: (N,) the row of `X` at each canonical position.
        y: (N,) float32 labels in canonical order, 0 or 1.
        groups: (N,) group numbers in canonical order, by first occurrence; None without groups.
    """

    X: NDArray[Any]
    order: NDArray[np.intp]
    y: NDArray[np.float32]
    groups: NDArray[np.intp] | None

    def parts(self) -> Iterator[slice]:
        """Yield slices of the canonical order, `CHUNK` rows at a time."""
        for first in range(0, len(self.order), CHUNK):
            yield slice(first, first + CHUNK)

    def chunk(self, part: slice) -> NDArray[np.float64]:
        """Return these rows of the canonical order as float64.

        They are read in the order in which they lie, which a file is read in faster.
        """
        wanted = self.order[part]
        ascending = np.argsort(wanted)
        chunk = np.empty((len(wanted), self.X.shape[1]))
        chunk[ascending] = self.X[wanted[ascending]]
        return chunk

    def digest(self) -> str:
        """Return a BLAKE2b over rows, labels and groups in canonical order."""
        labels = np.empty(len(self.y), np.int16)
        labels[self.order] = self.y
        state = hashlib.blake2b(repr(self.X.shape).encode(), digest_size=16)
        state.update(_digests(self.X, labels)[self.order].tobytes())
        if self.groups is not None:
            state.update(self.groups.astype("<i8").tobytes())
        return state.hexdigest()


def checked_rows(
    X: ArrayLike,
    y: ArrayLike,
    ids: Sequence[Hashable] | None,
    groups: Sequence[Hashable] | None,
    scratch: str | Path | None = None,
    *,
    alike: bool = False,
) -> Rows:
    """Check what was given and find its canonical order; `alike` as in `checked_labels`.

    Raises:
        DataError: see `debias.aflite`.
        OutputError: the rotated copy is to go to a folder, and that has no room for it.
    """
    X = np.asanyarray(X)
    if X.ndim != 2:
        raise DataError(f"X must have 2 dimensions, rows and columns; its shape is {X.shape}")
    if X.dtype.kind not in "fiub":
        raise DataError(f"X must hold real numbers; its type is {X.dtype}")
    if not X.size:
        raise DataError(f"X is empty: its shape is {X.shape}")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"y must have 1 dimension, a label a row; its shape is {labels.shape}")
    for name, column in (("y", labels), ("ids", ids), ("groups", groups)):
        if column is not None and len(column) != len(X):
            raise DataError(f"X has {len(X)} rows, but {name} has {len(column)} entries")
    classes = checked_labels(labels, ids, alike=alike)
    folder = scratch_folder(X, scratch)
    if folder is not None:
        refuse_without_room(folder, 4 * X.size)  # before hours go by reading X
    _tell_of_conversion(X)
    _refuse_gaps(X, ids)
    order = _order_of_content(X, classes) if ids is None else order_of_ids(ids)
    numbers = None if groups is None else group_numbers(groups, order)
    return Rows(X, order, classes[order].astype(np.float32), numbers)


def _tell_of_conversion(X: NDArray[Any]) -> None:
    """Say so when numbers are converted, or gathered from between others."""
    plain = X.dtype == np.float32 and X.flags.c_contiguous
    if not plain:
        logging.getLogger(__name__).info(
            "X holds %s%s; it is converted %s rows at a time, and its rotated copy is float32",
            X.dtype.name if X.dtype.isnative else f"{X.dtype.name} in another byte order",
            "" if X.flags.c_contiguous else ", not in one piece",
            CHUNK,
        )


def checked_labels(
    y: ArrayLike, ids: Sequence[Hashable] | None = None, *, alike: bool = False
) -> NDArray[np.int16]:
    """Return labels as whole numbers, 0 and 1, or say which one is none.

    Args:
        y: (n,) labels.
        ids: to name a row by.
        alike: whether all labels may be the same, as where vectors turn with the options: which
            option is first means nothing then.

    Raises:
        DataError: a label is neither 0 nor 1, or only one of them occurs, unless `alike`.
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"y must have 1 dimension, a label a row; its shape is {y.shape}")
    wrong = np.flatnonzero([label not in (0, 1) for label in y.tolist()])
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"the label of {_row(row, ids)} is {y.tolist()[row]!r}; labels are 0 or 1, the index "
            f"of the right option ({wrong.size} of {len(y)} labels are wrong); debias.mirror takes "
            "problems with more options"
        )
    labels = y.astype(np.int16)
    if not alike and len(y) and labels.min() == labels.max():
        raise DataError(f"all {len(y)} labels are {labels[0]}; both 0 and 1 must occur")
    return labels


def _refuse_gaps(X: NDArray[Any], ids: Sequence[Hashable] | None) -> None:
    if X.dtype.kind != "f":
        return
    for first in range(0, len(X), CHUNK):
        whole = np.isfinite(X[first : first + CHUNK]).all(axis=1)
        if not whole.all():
            row = first + int(np.argmin(whole))
            column = int(np.argmin(np.isfinite(X[row])))
            raise DataError(
                f"{_row(row, ids)} of X holds {X[row, column]} in column {column}; "
                "embed that problem again, or leave it out"
            )


def _row(row: int, ids: Sequence[Hashable] | None) -> str:
    return f"row {row}" if ids is None else f"row {row} (id {ids[row]!r})"


def order_of_ids(ids: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the rows in the order of their ids, which all are texts or all are whole numbers.

    Raises:
        DataError: an id occurs twice, or ids can't be compared.
    """
    listed: list[Any] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(set(listed)) < len(listed):
        twice = next(i for i, n in Counter(listed).items() if n > 1)
        raise DataError(f"the id {twice!r} occurs twice; ids must be distinct")
    try:
        return np.array(sorted(range(len(listed)), key=listed.__getitem__), np.intp)
    except TypeError as error:
        raise DataError(
            f"the ids can't be put in order ({error}); all must be texts, or all whole numbers"
        ) from error


def _order_of_content(X: NDArray[Any], y: NDArray[np.int16]) -> NDArray[np.intp]:
    """Return the rows in the order of a digest of their numbers and label.

    Only rows that are equal in both keep the order they were given in.
    """
    high, low = _digests(X, y).view(">u8").T
    return np.lexsort((low, high))


def _digests(X: NDArray[Any], y: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return a BLAKE2b of each row's numbers and label, (N, 16), reading rows as they lie."""
    digests = np.empty((len(X), 16), np.uint8)
    for first in range(0, len(X), CHUNK):
        chunk = _plain(X[first : first + CHUNK].astype(np.float64))
        for row, (numbers, label) in enumerate(
            zip(chunk, y[first : first + CHUNK].tolist(), strict=True), start=first
        ):
            key = bytes([label])  # classes are few
            digest = hashlib.blake2b(numbers.tobytes(), digest_size=16, key=key).digest()
            digests[row] = np.frombuffer(digest, np.uint8)
    return digests


def _plain(chunk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same numbers as the same bytes: no negative zero, little-endian."""
    return np.ascontiguousarray(chunk + 0.0, "<f8")
