"""Rows for tests of AFLite, and a comparison of two results."""

from typing import Any

import numpy as np

from winosmith import debias

SMALL: dict[str, Any] = {"ensemble_size": 8, "train_size": 60, "cutoff": 12, "seed": 5}


def made(rows: int = 240, columns: int = 6, *, seed: int = 0) -> tuple[Any, Any, list[str]]:
    """Return rows, a third of which reveal their label, with the labels and ids in mixed order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    y = rng.permutation(rows) % 2
    X[: rows // 3, 0] += np.where(y[: rows // 3], 3, -3)
    return X, y, [f"p{number}" for number in rng.permutation(rows)]


def same(one: debias.AfliteResult, other: debias.AfliteResult) -> bool:
    """Return whether two results agree in every byte except the seconds."""
    return (
        one.record() == other.record()
        and one.kept.tobytes() == other.kept.tobytes()
        and one.scores.tobytes() == other.scores.tobytes()
        and one.votes.tobytes() == other.votes.tobytes()
        and one.removal_phase.tobytes() == other.removal_phase.tobytes()
        and [r.tobytes() for r in one.removed] == [r.tobytes() for r in other.removed]
        and one.phases == other.phases
    )
