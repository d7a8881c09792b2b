"""What several embedders agree to drop: AFLite, once for each, and a vote.

A problem that one embedder finds predictable may be so to that embedder alone. Phang et al. (2021)
show how far the order of models on a filtered set hangs on the adversary that filtered it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._aflite import AfliteResult, Phase, aflite
from winosmith.errors import DataError, InputError, gone

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


FLOOR = "debias.mirror takes less of what is sound, and so does a target_size"
"""What to write in place of a floor under what people agree on."""


@gone(floor=FLOOR, agreement=FLOOR, agreed=FLOOR)
def consensus(
    Xs: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    least: int | None = None,
    on_phase: Callable[[str, Phase], object] | None = None,
    on_draw: Callable[[str, int, int], object] | None = None,
    checkpoint: str | Path | None = None,
    **settings: Any,
) -> ConsensusResult:
    """Remove the rows that several embedders find predictable.

    AFLite runs to its own end for each embedder, all with the same parameters and seed. A row (with
    `remove="groups"`, a group) goes when at least `least` of these runs removed it. With one
    embedder that is AFLite. The more must agree, the more is kept: what `least` + 1 keeps holds
    what `least` keeps.

    The runs are apart, instead of one loop over what all leave, so that each can be resumed and
    compared, and so that these laws hold; a run's later phases do not see what others removed.

    Args:
        Xs: by name of the embedder, (N, d) numbers; see `aflite`. Their d may differ.
        y: (N,) labels; see `aflite`.
        least: how many embedders must find a row predictable, 1 to all; more than half when None.
        on_phase: called with the embedder's name and the record of each phase.
        on_draw: called with the embedder's name, the phase and the number of its draws done.
        checkpoint: a .npz file for the first embedder; those of the others lie beside it, as
            `name.2.npz` for the second. What they hold is taken up; see `aflite`.
        settings: everything else of `aflite`, for each run.

    Raises:
        InputError: no embedder, `least` out of its range, or a parameter that `aflite` refuses.
        DataError: what `aflite` refuses, with the embedder's name.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.permutation(600) % 2
    >>> one, two = rng.normal(size=(2, 600, 5))
    >>> one[:60, 0] += np.where(y[:60], 6, -6)  # these give themselves away to one embedder,
    >>> two[30:90, 0] += np.where(y[30:90], 6, -6)  # these to the other, so that 30 do to both
    >>> how = {"train_size": 150, "cutoff": 10, "ensemble_size": 32, "threshold": 0.9}
    >>> found = consensus({"one": one, "two": two}, y, **how)
    >>> found.least, len(found.removed), int(np.isin(range(30, 60), found.removed).sum())
    (2, 21, 20)
    >>> len(found.decided_by(1).removed)  # what either finds
    90
    """
    if not Xs:
        raise InputError("a consensus needs the numbers of one embedder or more")
    least = len(Xs) // 2 + 1 if least is None else least
    if not 1 <= least <= len(Xs):
        raise InputError(f"least is 1 to {len(Xs)}, the number of embedders; not {least}")
    runs: dict[str, AfliteResult] = {}
    for place, (name, X) in enumerate(Xs.items()):
        try:
            runs[name] = aflite(
                X,
                y,
                on_phase=None if on_phase is None else partial(on_phase, name),
                on_draw=None if on_draw is None else partial(on_draw, name),
                checkpoint=None if checkpoint is None else checkpoint_of(checkpoint, place),
                **settings,
            )
        except DataError as error:
            raise DataError(f"{name}: {error}") from error
    found = np.sum([run.removed_in >= 0 for run in runs.values()], axis=0).astype(np.int32)
    return decided(runs, found, least)


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


def checkpoint_of(path: str | Path, place: int) -> Path:
    """Return where the run of one embedder is kept.

    >>> [checkpoint_of("phases.npz", place).name for place in range(3)]
    ['phases.npz', 'phases.2.npz', 'phases.3.npz']
    """
    path = Path(path)
    return path if not place else path.with_name(f"{path.stem}.{place + 1}{path.suffix}")
