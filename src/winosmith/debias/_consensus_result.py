"""What several embedders agree to drop, and what the floor gives back of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._floor import given_back
from winosmith.debias._result import AfliteResult
from winosmith.errors import InputError

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusResult:
    """What a consensus of embedders kept and removed.

    Attributes:
        kept: ascending rows of the input that were kept.
        removed: ascending rows that were not; with `kept` they are all rows.
        spared: ascending rows that enough embedders found, and the floor gave back.
        found: (N,) how many embedders' runs removed the row.
        agreed: (N,) whether people agree on the row (with whole groups: on all of its group).
        least: how many embedders had to find a row.
        floor: the share of the agreed that is kept at the least.
        runs: each embedder's own run of AFLite.
        parameters: everything that the result depends on beside the arrays.
        units, case: what goes as one, and the order of the case against it; see `decided_by`.
    """

    kept: Rows
    removed: Rows
    spared: Rows
    found: NDArray[np.int32]
    agreed: NDArray[np.bool_]
    least: int
    floor: float
    runs: Mapping[str, AfliteResult]
    parameters: Mapping[str, Any]
    units: Rows
    case: Rows

    def __post_init__(self) -> None:
        for array in (self.kept, self.removed, self.spared, self.found, self.agreed):
            array.flags.writeable = False

    def decided_by(self, least: int, floor: float | None = None) -> ConsensusResult:
        """Return what another vote, or another floor, makes of the same runs.

        Raises:
            InputError: `least` or the floor is out of its range.
        """
        floor = self.floor if floor is None else floor
        if not 1 <= least <= len(self.runs) or not 0 <= floor <= 1:
            raise InputError(
                f"least is 1 to {len(self.runs)} and floor a share from 0 to 1; not {least} and "
                f"{floor}"
            )
        agreed = np.zeros(len(self.case), np.bool_)
        agreed[self.units] = self.agreed
        share = self.parameters["agreed"]
        return decided(self.runs, self.found, self.units, agreed, self.case, least, floor, share)

    def record(self) -> dict[str, Any]:
        """Return everything but the rows as JSON can hold it; the same for the same run."""
        return {
            "parameters": dict(self.parameters),
            "rows": len(self.found),
            "kept": len(self.kept),
            "removed": len(self.removed),
            "agreed": int(self.agreed.sum()),
            "agreed_removed": int(self.agreed[self.removed].sum()),
            "spared": len(self.spared),
            "found_by": np.bincount(self.found, minlength=len(self.runs) + 1).tolist(),
            "kept_at": [len(self.decided_by(least).kept) for least in range(1, len(self.runs) + 1)],
            "runs": {name: run.record() for name, run in self.runs.items()},
        }


def decided(
    runs: Mapping[str, AfliteResult],
    found: NDArray[np.int32],
    units: Rows,
    agreed: NDArray[np.bool_],
    case: Rows,
    least: int,
    floor: float,
    share: float,
) -> ConsensusResult:
    """Take the vote of the runs, then apply the floor.

    Args:
        runs: by embedder.
        found: (N,) how many of them removed the row.
        units: (N,) what goes as one: the number of each row's unit.
        agreed: (U,) which units people agree on.
        case: (U,) the place of each unit in the order of the case against it.
        least: how many must have removed a row.
        floor: the share of the agreed units that is kept at the least.
        share: of people, from which on they agree.
    """
    gone = np.zeros(len(agreed), np.bool_)
    gone[units[found >= least]] = True
    back = given_back(gone, agreed, case, floor)
    removed, spared = (gone & ~back)[units], back[units]
    return ConsensusResult(
        kept=np.flatnonzero(~removed),
        removed=np.flatnonzero(removed),
        spared=np.flatnonzero(spared),
        found=found,
        agreed=agreed[units],
        least=least,
        floor=floor,
        runs=runs,
        parameters={
            "embedders": list(runs),
            "least": least,
            "floor": floor,
            "agreed": share,
            "aflite": {
                name: value
                for name, value in next(iter(runs.values())).parameters.items()
                if name != "columns"  # each embedder has its own
            },
        },
        units=units,
        case=case,
    )
