"""What several embedders agree to drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._result import AfliteResult
from winosmith.errors import InputError

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusResult:
    """What a consensus of embedders kept and removed.

    Attributes:
        kept: ascending rows of the input that were kept.
        removed: ascending rows that were not; with `kept` they are all rows.
        found: (N,) how many embedders' runs removed the row.
        least: how many embedders had to find a row.
        runs: each embedder's own run of AFLite.
        parameters: everything that the result depends on beside the arrays.
    """

    kept: Rows
    removed: Rows
    found: NDArray[np.int32]
    least: int
    runs: Mapping[str, AfliteResult]
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        for array in (self.kept, self.removed, self.found):
            array.flags.writeable = False

    def decided_by(self, least: int) -> ConsensusResult:
        """Return what another vote makes of the same runs.

        Raises:
            InputError: `least` is out of its range.
        """
        if not 1 <= least <= len(self.runs):
            raise InputError(f"least is 1 to {len(self.runs)}, not {least}")
        return decided(self.runs, self.found, least)

    def record(self) -> dict[str, Any]:
        """Return everything but the rows as JSON can hold it; the same for the same run."""
        return {
            "parameters": dict(self.parameters),
            "rows": len(self.found),
            "kept": len(self.kept),
            "removed": len(self.removed),
            "found_by": np.bincount(self.found, minlength=len(self.runs) + 1).tolist(),
            "kept_at": [len(self.decided_by(least).kept) for least in range(1, len(self.runs) + 1)],
            "runs": {name: run.record() for name, run in self.runs.items()},
        }


def decided(
    runs: Mapping[str, AfliteResult], found: NDArray[np.int32], least: int
) -> ConsensusResult:
    """Return what goes when at least so many runs must have removed a row.

    Args:
        runs: by embedder.
        found: (N,) how many of them removed the row.
        least: how many must have.
    """
    aflite = dict(next(iter(runs.values())).parameters)
    del aflite["columns"]  # each embedder has its own
    return ConsensusResult(
        kept=np.flatnonzero(found < least),
        removed=np.flatnonzero(found >= least),
        found=found,
        least=least,
        runs=runs,
        parameters={"embedders": list(runs), "least": least, "aflite": aflite},
    )
