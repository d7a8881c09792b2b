"""Vectors from a .npy or .npz file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.embed._embedder import Vectors
from winosmith.errors import DataError, FormatError, join_ids
from winosmith.outputs import atomic_write
from winosmith.problem import Problem


@dataclass(frozen=True)
class ArrayEmbedder:
    """An embedder that returns the rows of an array.

    Attributes:
        X: finite numbers, converted to float32; shape (n, d).
        ids: the id of each row, to look up problems in any order. Without ids, there must be one
            row per problem, in the same order.
        name: name of the array, for messages.

    Raises:
        DataError: the array is not two-dimensional, not real or not finite (the message names the
            row), or there is not one distinct id per row.

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
            raise DataError(f"{self.name} has the shape {rows.shape}, not (problems, width)")
        if rows.dtype.kind not in "iuf":
            raise DataError(f"{self.name} has the type {rows.dtype}; it must contain real numbers")
        if self.ids is not None and len(self.ids) != len(rows):
            raise DataError(f"{self.name} has {len(rows):,} rows but {len(self.ids):,} ids")
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise DataError(f"{self.name} has a repeated id; ids must be distinct")
        with np.errstate(over="ignore"):
            rows = np.asarray(rows).astype(np.float32)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            label = f" ({self.ids[row]!r})" if self.ids is not None else ""
            raise DataError(
                f"{self.name} contains NaN or infinity in {int((~finite).sum()):,} rows, first in "
                f"row {row}{label}; omit these problems or embed them again"
            )
        object.__setattr__(self, "X", rows)

    @cached_property
    def _row_of_id(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.ids or ())}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return each problem's row, as (n, d) float32.

        Raises:
            DataError: some problems have no row (the message names up to three such problems), or
                the numbers of problems and rows differ.
        """
        if self.ids is None:
            if len(problems) != len(self.X):
                raise DataError(
                    f"{self.name} has {len(self.X):,} rows for {len(problems):,} problems; without "
                    "ids it must have one row per problem, in order"
                )
            return self.X.copy()
        absent = [problem.id for problem in problems if problem.id not in self._row_of_id]
        if absent:
            raise DataError(
                f"{self.name} has no row for {len(absent):,} of {len(problems):,} problems: "
                f"{join_ids(absent)}"
            )
        taken: Vectors = self.X[[self._row_of_id[problem.id] for problem in problems]]
        return taken


def save_array(
    path: str | Path, X: Vectors, ids: Sequence[str], **notes: Sequence[str] | str
) -> None:
    """Write vectors and their ids atomically to a .npz file for `load_array`.

    Args:
        path: path of the file.
        X: vectors, shape (n, d).
        ids: the id of each row.
        notes: additional strings or lists of strings; each is stored as an array.

    Raises:
        OutputError: the file can't be written.
    """
    arrays = {"X": X, "ids": np.array(ids, str)}
    arrays |= {name: np.array(note, str) for name, note in notes.items()}
    with atomic_write(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_array(path: str | Path, ids: Sequence[str] | None = None) -> ArrayEmbedder:
    """Read vectors from a .npy file, or from a .npz file with `X` and optionally `ids`.

    Pickled objects are rejected, so that no code from the file runs.

    Args:
        path: path of the file; `winosmith embed` writes such .npz files.
        ids: the id of each row, if the file has no ids.

    Raises:
        FormatError: the file can't be read, is pickled, or has no `X`.
        DataError: see `ArrayEmbedder`.
    """
    path = Path(path)
    try:
        if zipfile.is_zipfile(path):
            with np.load(path, allow_pickle=False) as arrays:
                if "X" not in arrays:
                    names = ", ".join(arrays.files) or "nothing"
                    raise FormatError(
                        f"a .npz file must contain an array X; this one has {names}", path
                    )
                rows = arrays["X"]
                ids = list(map(str, arrays["ids"].tolist())) if "ids" in arrays else ids
        else:
            with path.open("rb") as file:
                np.lib.format.read_magic(file)  # otherwise numpy would try to load a pickle
            rows = np.load(path, allow_pickle=False)
    except FormatError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or "not a complete .npy or .npz file, or pickled"
        raise FormatError(reason, path) from error
    return ArrayEmbedder(rows, ids, path.name)
