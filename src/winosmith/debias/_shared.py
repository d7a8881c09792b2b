"""Arrays that workers need in every phase, handed over once.

Threads find them in this process. For any other executor they are written to a scratch folder,
which the workers map into their memory: all processes of a machine share one copy. Workers that
can't see the folder (on another machine, without a shared disk) are refused.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import DataError, OutputError

__all__ = ["Held", "fetch", "shared"]

Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]

_held: dict[str, Arrays] = {}


@dataclass(frozen=True, slots=True)
class Held:
    """Where arrays are: a key in this process, and a folder for other processes."""

    key: str
    folder: str | None


@contextlib.contextmanager
def shared(
    matrix: NDArray[np.float32], y: NDArray[np.float32], executor: Executor
) -> Iterator[Held]:
    """Hold the basis and the labels for the executor's workers while the block runs.

    Raises:
        OutputError: there is no room for the scratch folder.
    """
    held = Held(secrets.token_hex(8), None)
    with contextlib.ExitStack() as stack:
        if not isinstance(executor, ThreadPoolExecutor):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="winosmith-"))
            held = Held(held.key, folder)
            _write(Path(folder), matrix, y)
        stack.callback(_held.pop, held.key)
        _held[held.key] = (matrix, y)
        yield held


def _write(folder: Path, matrix: NDArray[np.float32], y: NDArray[np.float32]) -> None:
    try:
        np.save(folder / "matrix.npy", matrix)
        np.save(folder / "y.npy", y)
    except OSError as error:
        need = (matrix.nbytes + y.nbytes) / 2**20
        raise OutputError(
            f"{folder}: {error.strerror or error}; set TMPDIR to a folder with {need:,.0f} MiB free"
        ) from error


def fetch(held: Held) -> Arrays:
    """Return the arrays, mapped from the folder when this is another process.

    Raises:
        DataError: this worker can't see the folder.
    """
    if held.key in _held:
        return _held[held.key]
    folder = Path(str(held.folder))
    try:
        # copy-on-write, so that compiled code sees the same type of array as in a thread
        matrix = np.load(folder / "matrix.npy", mmap_mode="c", allow_pickle=False)
        y = np.load(folder / "y.npy", allow_pickle=False)
    except OSError as error:
        raise DataError(
            f"a worker can't read {folder}; the executor's workers must run on this machine, "
            "or set TMPDIR to a folder that all of them can see"
        ) from error
    _held.clear()  # a worker needs the arrays of one run at a time
    _held[held.key] = arrays = (np.asarray(matrix), y)
    return arrays
