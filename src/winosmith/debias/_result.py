"""What AFLite returns: `AfliteResult`, a `Phase` each time the ensemble was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._null import Null

Stopped = Literal["train size", "cutoff", "one class", "target size"]
"""Why AFLite stopped: no more rows than the training size were left (Algorithm 1, line 2), fewer
than the cutoff were at the threshold (line 14), or only one class was left; or the target size was
reached (only then)."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened in one filtering phase.

    Attributes:
        number: 0-based.
        size: rows before the phase.
        removed: rows removed in it.
        cutoff: rows that the phase could remove at most.
        candidates: rows whose score was at the threshold or above.
        accuracy: of all the ensemble's predictions on held-out rows, the share that was right;
            None when there was none.
        histogram: rows by score, in 20 bins from 0 to 1 (see `debias.HISTOGRAM_EDGES`).
        undefined: rows that every classifier was trained on: no score, not removed.
        tied: candidates with the score at the cutoff, when only some of them could go; else 0.
        tied_removed: how many of these went.
        close: predictions with a decision value nearer to zero than 0.0001, which another
            machine's rounding may turn; converged solvers agree on all others.
        one_class: classifiers whose training set held one class only; they predict that class.
        polished: classifiers that were finished one by one in float64.
        passes: passes over the training rows that the slowest classifier took.
        chance: the candidates beside what they are when the labels mean nothing; None without a
            null.
        by_chance: how many rows have scores such as those removed when the labels mean nothing:
            an estimate of how many of the removed went by chance, on the high side, as it counts
            with no row that can be guessed. None without a null.
        seconds: that the phase took. Not compared, and in no record that is digested.
    """

    number: int
    size: int
    removed: int
    cutoff: int
    candidates: int
    accuracy: float | None
    histogram: tuple[int, ...]
    undefined: int
    tied: int
    tied_removed: int
    close: int
    one_class: int
    polished: int
    passes: int
    chance: Null | None
    by_chance: float | None
    seconds: float = field(compare=False)

    def record(self) -> dict[str, Any]:
        """Return the phase as JSON can hold it, without the seconds."""
        record = asdict(self)
        del record["seconds"]
        if self.chance is not None:
            record["chance"]["draws"] = list(self.chance.draws)
        return {**record, "histogram": list(self.histogram)}


@dataclass(frozen=True, slots=True, eq=False)
class AfliteResult:
    """What AFLite kept and removed.

    Attributes:
        kept: ascending rows of the input that were kept.
        removed: for each phase the rows removed in it, ascending; with `kept` they are all rows.
        phases: a record of each phase.
        scores: (N,) each row's last score: at its removal, or in the last phase; NaN for a row
            that never had one. Where whole groups go, the score of its group.
        votes: (N,) the predictions that this score is the share of; 0 without one.
        removed_in: (N,) the 0-based phase that removed the row, -1 for the kept.
        stopped: why it ended; see `Stopped`.
        parameters: everything that the result depends on beside the arrays.
    """

    kept: NDArray[np.intp]
    removed: tuple[NDArray[np.intp], ...]
    phases: tuple[Phase, ...]
    scores: NDArray[np.float64]
    votes: NDArray[np.int32]
    removed_in: NDArray[np.int32]
    stopped: Stopped
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        arrays: tuple[NDArray[Any], ...] = (
            self.kept,
            self.scores,
            self.votes,
            self.removed_in,
            *self.removed,
        )
        for array in arrays:
            array.flags.writeable = False

    @property
    def seconds(self) -> float:
        """Seconds that the phases took together."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def by_chance(self) -> float | None:
        """About how many of the rows removed went by chance; None without a null.

        The sum over the phases (`Phase.by_chance`). The removed minus these are the excess.
        """
        known = [phase.by_chance for phase in self.phases if phase.by_chance is not None]
        return sum(known) if known else None

    def record(self) -> dict[str, Any]:
        """Return everything but the rows as JSON can hold it; the same for the same run."""
        return {
            "parameters": dict(self.parameters),
            "stopped": self.stopped,
            "rows": len(self.scores),
            "kept": len(self.kept),
            "removed": len(self.scores) - len(self.kept),
            "by_chance": self.by_chance,
            "phases": [phase.record() for phase in self.phases],
        }
