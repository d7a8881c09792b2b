"""Arrays that were computed before, by what determines them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from winosmith.embed._embedder import Vectors
from winosmith.outputs import write_aside

__all__ = ["cache_folder", "load_cached", "store"]


def cache_folder() -> Path:
    """Return the user's cache folder: `$XDG_CACHE_HOME/winosmith`, else `~/.cache/winosmith`.

    It can be removed at any time; what is missing is computed again.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "winosmith"


def load_cached(path: Path, shape: tuple[int, ...]) -> Vectors | None:
    """Return the array of that file if it is whole, finite and of that shape; else None.

    The file is a zip with checksums, so a damaged one is noticed, and computed again. -1 in
    `shape` fits any length.
    """
    try:
        with path.open("rb") as file:
            array = np.load(file, allow_pickle=False)["vectors"]
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile):
        return None
    fits = array.ndim == len(shape) and all(
        want in (-1, is_) for want, is_ in zip(shape, array.shape, strict=True)
    )
    return array if fits and array.dtype == np.float32 and np.isfinite(array).all() else None


def store(path: Path, vectors: Vectors) -> None:
    """Write the array aside, then rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_aside(path, "wb") as file:
        np.savez(file, vectors=vectors)
