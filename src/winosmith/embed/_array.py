"""Vectors that were computed elsewhere, from a .npy or .npz file.

The rows of a large .npy file stay there and are mapped; those of a .npz file are read.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.embed._embedder import Vectors
from winosmith.errors import DataError, FormatError, OutputError
from winosmith.outputs import atomic_write
from winosmith.problem import Problem
from winosmith.text import first_three


@dataclass(frozen=True)
class ArrayEmbedder:
    """Any array, one row a problem, as an embedder.

    Attributes:
        X: (n, d), finite numbers; taken as float32. If it is a `numpy.memmap` of more
            than 64 MiB, it and the vectors stay in their file.
        ids: the id of each row. Problems are then found by their ids, in any order and number.
            By default rows are matched by their order, and there must be as many as problems.
        name: its name in messages.

    Raises:
        DataError: not two dimensions, not real numbers, NaN or infinity (the row is named), or
            ids that are not one a row and distinct.

    >>> known = ArrayEmbedder(np.eye(2), ids=("a", "b"))
    >>> known.embed([Problem("b", "A _ b.", ("x", "y"))]).tolist()
    [[0.0, 1.0]]
    """

    X: npt.NDArray[Any]
    ids: Sequence[str] | None = None
    name: str = "the array"

    def __post_init__(self) -> None:
        rows = np.asanyarray(self.X)
        if rows.ndim != 2 or 0 in rows.shape:
            raise DataError(f"{self.name} has the shape {rows.shape}; (problems, width) is needed")
        if rows.dtype.kind not in "iuf":
            raise DataError(f"{self.name} holds {rows.dtype}; real numbers are needed")
        if self.ids is not None and len(self.ids) != len(rows):
            raise DataError(f"{self.name} has {len(rows):,} rows and {len(self.ids):,} ids")
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise DataError(f"{self.name} has an id twice; ids must be distinct")
        with np.errstate(over="ignore"):
            if not is_large(rows):
                rows = np.asarray(rows).astype(np.float32)
            finite = np.ones(len(rows), bool)
            for part in iterate_parts(len(rows)):
                finite[part] = np.isfinite(rows[part].astype(np.float32)).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            label = f" ({self.ids[row]!r})" if self.ids is not None else ""
            raise DataError(
                f"{self.name} holds NaN or infinity in {int((~finite).sum()):,} rows, first in "
                f"row {row}{label}; leave those problems out or embed them again"
            )
        object.__setattr__(self, "X", rows)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.ids or ())}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return the row of each problem, (n, d) float32.

        Raises:
            DataError: problems without a row, the first three named; or another number of them.
        """
        if self.ids is None:
            if len(problems) != len(self.X):
                raise DataError(
                    f"{self.name} has {len(self.X):,} rows for {len(problems):,} problems; without "
                    "ids there must be one for each, in their order"
                )
            return self._taken(np.arange(len(self.X)))
        absent = [problem.id for problem in problems if problem.id not in self._rows]
        if absent:
            raise DataError(
                f"{self.name} has no row for {len(absent):,} of {len(problems):,} problems: "
                f"{first_three(absent)}"
            )
        return self._taken(np.array([self._rows[problem.id] for problem in problems], np.intp))

    def _taken(self, rows: npt.NDArray[np.intp]) -> Vectors:
        if not is_large(self.X):
            taken: Vectors = self.X[rows]
            return taken
        if self.X.dtype == np.float32 and np.array_equal(rows, np.arange(len(self.X))):
            return self.X  # as they lie
        return copy_rows(self.X, rows)


def save_array(
    path: str | Path, X: Vectors, ids: Sequence[str], **notes: Sequence[str] | str
) -> None:
    """Write vectors with their ids as a .npz file that `load_array` reads, whole or not at all.

    Args:
        path: the file.
        X: (n, d).
        ids: the id of each row.
        notes: further texts or lists of texts, each an array of its own.

    Raises:
        OutputError: it can't be written.
    """
    arrays = {"X": X, "ids": np.array(ids, str)}
    arrays |= {name: np.array(note, str) for name, note in notes.items()}
    with atomic_write(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_array(path: str | Path, ids: Sequence[str] | None = None) -> ArrayEmbedder:
    """Read vectors from a .npy file, or from a .npz file that holds `X` and, if need be, `ids`.

    Nothing in the file is ever run: pickled objects are refused. A .npy file above 64 MiB is
    mapped, not read.

    Args:
        path: the file; `winosmith embed` writes such .npz files.
        ids: the id of each row, for a file without ids.

    Raises:
        FormatError: the file can't be read, is pickled, or holds no `X`.
        DataError: see `ArrayEmbedder`.
    """
    path = Path(path)
    try:
        rows, own = _read_file(path)
    except FormatError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        what = getattr(error, "strerror", None) or "it is not a whole, unpickled .npy or .npz file"
        raise FormatError(what, path) from error
    return ArrayEmbedder(rows, ids if own is None else own, path.name)


def _read_file(path: Path) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Return the rows of a file, mapped if it is .npy, and its ids."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            np.lib.format.read_magic(file)  # else numpy would look for a pickle
        return np.load(path, mmap_mode="r", allow_pickle=False), None
    with np.load(path, allow_pickle=False) as held:
        if "X" not in held:
            names = ", ".join(held.files) or "nothing"
            raise FormatError(f"a .npz file needs an array X; this holds {names}", path)
        ids = [str(name) for name in held["ids"].tolist()] if "ids" in held else None
        return held["X"], ids


LARGE = 1 << 26
"""Bytes from which on mapped rows stay in their file."""

PART = 2048
"""Rows that are read at a time."""


def is_large(X: npt.NDArray[Any]) -> bool:
    """Return whether rows are in a file that is too large to be read into memory."""
    return isinstance(X, np.memmap) and X.nbytes > LARGE


def iterate_parts(count: int) -> Iterator[slice]:
    """Yield the slices of a number of rows, some thousands at a time."""
    for first in range(0, count, PART):
        yield slice(first, min(first + PART, count))


def copy_rows(X: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
    """Return rows of a large array as float32, mapped from a temporary file.

    The file is removed after its last use.

    Raises:
        OutputError: the disk is full.
    """
    shape = len(rows), X.shape[1]
    need, folder = 4 * shape[0] * shape[1], tempfile.gettempdir()
    logging.getLogger(__name__).info(
        "the vectors take %s MiB in %s, in the order of the problems", need >> 20, folder
    )
    try:
        if need > shutil.disk_usage(folder).free:
            raise OutputError(f"{folder}: the vectors need {need >> 20:,} MiB; set TMPDIR")
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(need)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, need)
            taken = np.memmap(file, np.float32, "r+", shape=shape)
    except OSError as error:
        raise OutputError(
            f"{folder}: {error.strerror or error}; set TMPDIR to a folder with {need >> 20:,} MiB "
            "free"
        ) from error
    for part in iterate_parts(len(rows)):
        taken[part] = X[rows[part]]
    return taken
