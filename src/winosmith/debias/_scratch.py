"""The rotated copy of rows that don't fit into memory: a file that goes with the run.

Rows of a file lie in any order, and are worked on in the canonical one. Reading them in that order
takes a seek a row (twelve times as long as reading along, for 4 GB on a disk of the network), and
it would be done three times. So they are read along once and written to regions of the scratch
file, each of which is then put in order in memory: the file is its own sorting space.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import OutputError

REGION = 1 << 26
"""Bytes of a region, which is put in order in memory."""

READ = 2048
"""Rows that are read at a time."""

Matrix = NDArray[np.float32]


def is_mapped(X: NDArray[Any]) -> bool:
    """Return whether rows are mapped from a file, at first hand or as a view."""
    held: Any = X
    while held is not None:
        if isinstance(held, np.memmap):
            return True
        held = getattr(held, "base", None)
    return False


def scratch_folder(X: NDArray[Any], scratch: str | Path | None) -> Path | None:
    """Return the folder for the rotated copy of rows; None for memory."""
    if scratch is None and not is_mapped(X):
        return None
    return Path(tempfile.gettempdir() if scratch is None else scratch)


def refuse_without_room(folder: Path, need: int) -> None:
    """Refuse a folder that is not there, or has less than so many bytes free.

    Raises:
        OutputError: it is so.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _unfit(error, folder, need) from error
    if need > free:
        raise OutputError(
            f"{folder}: the rotated copy of the rows takes {need / 2**20:,.0f} MiB, and "
            f"{free / 2**20:,.0f} are free; name another folder as scratch"
        )


@contextlib.contextmanager
def scratch_matrix(shape: tuple[int, int], folder: Path) -> Iterator[tuple[Matrix, Path]]:
    """Map float32 zeros of that shape from a new .npy file, which goes when the block ends.

    All its room is taken at once: a disk that fills up under a mapped file ends the process.

    Raises:
        OutputError: the folder can't be written, or has no room.
    """
    need = 4 * shape[0] * shape[1]
    refuse_without_room(folder, need)
    with contextlib.ExitStack() as stack:
        try:
            inside = tempfile.TemporaryDirectory(
                prefix="winosmith-", dir=folder, ignore_cleanup_errors=True
            )
            path = Path(stack.enter_context(inside)) / "basis.npy"
            logging.getLogger(__name__).info(
                "the rotated copy of the rows takes %s MiB in %s, until the end of the run",
                f"{need / 2**20:,.0f}",
                folder,
            )
            mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
            _take_room(path)
        except OSError as error:
            raise _unfit(error, folder, need) from error
        yield np.asarray(mapped), path


def _take_room(path: Path) -> None:
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _unfit(error: OSError, folder: Path, need: int) -> OutputError:
    return OutputError(
        f"{error.filename or folder}: {error.strerror or error}; name a folder with "
        f"{need / 2**20:,.0f} MiB free as scratch"
    )


def gather(X: NDArray[Any], order: NDArray[np.intp], matrix: Matrix) -> None:
    """Copy rows into the first columns of a matrix in this order, reading them as they lie.

    Args:
        X: (N, d) numbers that float32 holds exactly, as it does all of float16.
        order: (N,) the row that comes first, and so on.
        matrix: (N, D), mapped from a file, D being d or more.
    """
    count, columns = X.shape
    size = max(READ, REGION // (4 * matrix.shape[1]))
    regions = [slice(first, first + size) for first in range(0, count, size)]
    arriving = np.concatenate([np.sort(order[region]) for region in regions])
    place = np.empty_like(arriving)
    place[arriving] = np.arange(count)
    for first in range(0, count, READ):
        matrix[place[first : first + READ], :columns] = X[first : first + READ]
    for region in regions:
        wanted = np.searchsorted(arriving[region], order[region])
        matrix[region, :columns] = matrix[region, :columns][wanted]
