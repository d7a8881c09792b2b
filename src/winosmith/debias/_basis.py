"""The rows in a basis in which logistic regression is easy: centred, rotated, scaled.

Three changes that leave every prediction as it was:

- *Centring*: the intercept carries no penalty and takes up the difference.
- *Rotating* by the eigenvectors of the centred Gram matrix: the penalty is the squared length of
  the weights, which a rotation keeps. The Hessian becomes nearly diagonal, whatever the columns'
  correlations were. (Standardising the columns would change the penalty, and is not done.)
- *Scaling* all columns by one power of two, with the penalty scaled by its square, so that any
  unit of measurement fits into float32.

The sums run over fixed chunks and are added in a fixed order: with BLAS on one thread in each, the
number of threads changes no bit.

Rows that are mapped from a file stay there, and their rotated copy goes to a file as well: what is
held in memory does not grow with their number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._rows import Rows
from winosmith.debias._scratch import gather, is_mapped, scratch_matrix
from winosmith.errors import DataError
from winosmith.parallel import ordered_map

LINE = 16
"""float32 values in a cache line of 64 bytes."""

DOUBLE_BELOW = 5e9
"""Multiplications of the rotation up to which it is done in float64; about a second's worth."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Rows in the basis.

    Attributes:
        matrix: (N, D) float32, aligned to cache lines: `columns` coordinates, then a 1 for the
            intercept, then zeros up to a multiple of 16.
        columns: how many coordinates there are.
        scale: the power of two that coordinates were multiplied by.
        file: the .npy file that the matrix is mapped from; None when it is in memory.
    """

    matrix: NDArray[np.float32]
    columns: int
    scale: float
    file: Path | None = None


def ridge(basis: Basis, C: float) -> NDArray[np.float64]:
    """Return the (D,) penalty of each weight: none for the intercept and for the padding."""
    penalty = np.zeros(basis.matrix.shape[1])
    penalty[: basis.columns] = basis.scale**2 / C
    return penalty


@contextlib.contextmanager
def basis_of(rows: Rows, threads: Executor, scratch: Path | None = None) -> Iterator[Basis]:
    """Hold the rows in canonical order, centred, rotated and scaled, while the block runs.

    Args:
        rows: what is rotated.
        threads: who does the work.
        scratch: the folder for the rotated copy; None for memory.

    Raises:
        DataError: the numbers are too large to be computed with.
        OutputError: the folder can't be written, or has no room.
    """
    shape = len(rows.order), width_of(rows.X.shape[1])
    if scratch is None:
        yield _basis(rows, threads, _aligned_zeros(*shape))
        return
    with scratch_matrix(shape, scratch) as (matrix, file):
        if is_mapped(rows.X) and np.can_cast(rows.X.dtype, np.float32):
            gather(rows.X, rows.order, matrix)
            rows = replace(rows, X=matrix[:, : rows.X.shape[1]], order=np.arange(len(matrix)))
        yield replace(_basis(rows, threads, matrix), file=file)


def _basis(rows: Rows, threads: Executor, matrix: NDArray[np.float32]) -> Basis:
    """Fill the matrix; rows that lie in it themselves give their place to what becomes of them."""
    count, columns = rows.X.shape
    parts = list(rows.parts())
    kind = np.float64 if count * columns**2 <= DOUBLE_BELOW else np.float32
    mean, largest = _centre(rows)
    scale = 2.0 ** -float(np.round(np.log2(largest))) if largest > 0 else 1.0
    gram = np.zeros((columns, columns))
    work = partial(_gram, rows, mean, scale, kind)
    for product in ordered_map(work, parts, threads, ahead=4):  # of d² numbers each
        gram += product
    rotation = np.linalg.eigh(gram)[1].astype(kind)
    turn = partial(_rotate, rows, mean, scale, rotation, matrix)
    for _ in ordered_map(turn, parts, threads):
        pass  # each part is written where it belongs
    return Basis(matrix, columns, scale)


def _centre(rows: Rows) -> tuple[NDArray[np.float64], float]:
    """Return the mean of each column, and how far from it a number is at most."""
    mean = np.zeros(rows.X.shape[1])
    low, high = np.full_like(mean, np.inf), np.full_like(mean, -np.inf)
    for part in rows.parts():
        chunk = rows.chunk(part)
        mean += chunk.sum(axis=0) / len(rows.order)
        low, high = np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
    largest = float(np.maximum(high - mean, mean - low).max())
    if not largest < 1e150:
        raise DataError(f"X holds numbers as large as {high.max():.3g}; divide it by that")
    return mean, largest


def _centred(
    rows: Rows, mean: NDArray[np.float64], scale: float, kind: type[np.floating[Any]], part: slice
) -> NDArray[Any]:
    return ((rows.chunk(part) - mean) * scale).astype(kind)


def _gram(
    rows: Rows, mean: NDArray[np.float64], scale: float, kind: type[np.floating[Any]], part: slice
) -> NDArray[Any]:
    """Return one part's share of the centred Gram matrix."""
    chunk = _centred(rows, mean, scale, kind, part)
    product: NDArray[Any] = chunk.T @ chunk
    return product


def _rotate(
    rows: Rows,
    mean: NDArray[np.float64],
    scale: float,
    rotation: NDArray[Any],
    matrix: NDArray[np.float32],
    part: slice,
) -> None:
    """Write one part of the rows to the matrix, and the 1 of the intercept."""
    matrix[part, len(mean)] = 1.0
    matrix[part, : len(mean)] = _centred(rows, mean, scale, rotation.dtype.type, part) @ rotation


def width_of(columns: int) -> int:
    """Return the length of a row: coordinates and intercept, in whole cache lines.

    Rows that are a multiple of 1 KiB apart would compete for the same places in the cache.
    """
    width = -(-(columns + 1) // LINE) * LINE
    return width + LINE if width % 256 == 0 else width


def aligned(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the values as float32 that start at a cache line."""
    copy = _aligned_zeros(*values.shape)
    copy[:] = values
    return copy


def _aligned_zeros(rows: int, width: int) -> NDArray[np.float32]:
    """Return float32 zeros that start at a cache line; unaligned vector loads cost a tenth."""
    flat = np.zeros(rows * width + LINE, np.float32)
    first = -flat.ctypes.data % (4 * LINE) // 4
    return flat[first : first + rows * width].reshape(rows, width)
