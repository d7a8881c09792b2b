"""Arrays that workers need in every phase, handed over once.

Threads find them in this process. An executor that holds values for its workers, wherever they are
(`winosmith.parallel.Holder`), is given them to hold. For any other they lie in files, which the
workers map into their memory: all processes of a machine share one copy. Workers that can't see
the files (on another machine, without a shared disk) are refused.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._basis import Basis
from winosmith.errors import DataError, OutputError
from winosmith.parallel import Holder

Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]

_held: dict[str, Arrays] = {}


@dataclass(frozen=True, slots=True)
class Held:
    """Where the basis and the labels are.

    Attributes:
        key: of this process.
        file: the basis as a .npy file, with the labels beside it; None when there is none.
        arrays: themselves, at a worker that was handed them with its work; before that, what
            stands for them.
    """

    key: str
    file: str | None = None
    arrays: Any = None


def needs_file(executor: Executor) -> bool:
    """Return whether the workers of an executor are to find the arrays in files."""
    return not isinstance(executor, ThreadPoolExecutor | Holder)


@contextlib.contextmanager
def shared(basis: Basis, y: NDArray[np.float32], executor: Executor) -> Iterator[Held]:
    """Hold the basis and the labels for the executor's workers while the block runs.

    Raises:
        OutputError: there is no room for the labels.
    """
    held = Held(secrets.token_hex(8), None if basis.file is None else str(basis.file))
    _held[held.key] = arrays = (basis.matrix, y)
    try:
        if isinstance(executor, Holder):
            with executor.hold(arrays) as token:
                yield Held(held.key, arrays=token)
            return
        if basis.file is not None and needs_file(executor):
            _write_labels(basis.file, y)
        yield held
    finally:
        del _held[held.key]


def _write_labels(file: Path, y: NDArray[np.float32]) -> None:
    try:
        np.save(_labels(file), y)
    except OSError as error:
        raise OutputError(
            f"{file.parent}: {error.strerror or error}; name another folder as scratch"
        ) from error


def _labels(file: Path) -> Path:
    return file.with_name("labels.npy")


def fetch(held: Held) -> Arrays:
    """Return the arrays, mapped from their file when this is another process.

    Raises:
        DataError: this worker can't see the file.
    """
    if held.arrays is not None:
        matrix, y = held.arrays
        return matrix, y
    if held.key in _held:
        return _held[held.key]
    file = Path(str(held.file))
    try:
        # copy-on-write, so that compiled code sees the same type of array as in a thread
        matrix = np.load(file, mmap_mode="c", allow_pickle=False)
        y = np.load(_labels(file), allow_pickle=False)
    except OSError as error:
        raise DataError(
            f"a worker can't read {file}; the executor's workers must run on this machine, or "
            "scratch be a folder that all of them can see (winosmith.cluster needs neither)"
        ) from error
    _held.clear()  # a worker needs the arrays of one run at a time
    _held[held.key] = arrays = (np.asarray(matrix), y)
    return arrays
