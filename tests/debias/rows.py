"""Rows for tests of AFLite, and a comparison of two results."""

from typing import Any

import numpy as np

from winosmith import debias

SMALL: dict[str, Any] = {"ensemble_size": 8, "train_size": 60, "cutoff": 12, "seed": 5}


def made(
    rows: int = 240, columns: int = 6, *, seed: int = 0, telling: float = 1 / 3
) -> tuple[Any, Any, list[str]]:
    """Return rows, a fraction of which reveal their label, with labels and ids in mixed order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    y, count = rng.permutation(rows) % 2, int(telling * rows)
    X[:count, 0] += np.where(y[:count], 3, -3)
    return X, y, [f"p{number}" for number in rng.permutation(rows)]


def as_bytes(result: debias.AfliteResult) -> bytes:
    """Return the record (with the phases), scores and votes of a result, without the seconds."""
    arrays = (result.kept, result.scores, result.votes, result.removal_phase, *result.removed)
    return repr(result.record()).encode() + b"".join(array.tobytes() for array in arrays)
