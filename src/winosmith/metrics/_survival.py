"""How far families get before a solver's first error, with those that never had one censored."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from winosmith.extras import require
from winosmith.metrics._depth_families import Family
from winosmith.metrics._intervals import counted

__all__ = ["Survival", "survival_of"]

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Survival:
    """The share of families without an error down to each depth (Kaplan & Meier 1958).

    A family's event is its first error (depth 0 when the root itself is wrong). A family without
    any error is censored at its deepest problem: that is as far as it could tell.

    Attributes:
        depths: at which a family ended or was censored, from 0, ascending; (m,).
        share: of the families expected to be without an error beyond each depth, 0–1; (m,).
        intervals: 95 % of each share, Greenwood's on the log-log scale (Kalbfleisch & Prentice
            1980), as lifelines has it; (m,). Families are taken for independent.
        at_risk: families without an error before each depth, and with problems as deep; (m,).
        errors: families whose first error is at each depth; (m,). Whole but for ties: each counts
            as if a fair draw settled it, so a family may end at several depths, each with how
            probable that is.
        censored: families that end at each depth without an error; (m,).
        median: the depth by which half of the families have had an error; None when fewer have.
    """

    depths: tuple[int, ...]
    share: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    at_risk: tuple[float, ...]
    errors: tuple[float, ...]
    censored: tuple[float, ...]
    median: int | None

    def record(self) -> dict[str, Any]:
        """Return the curve as JSON can hold it."""
        return {
            "depths": list(self.depths),
            "share": list(self.share),
            "intervals": [list(interval) for interval in self.intervals],
            "at_risk": list(self.at_risk),
            "errors": list(self.errors),
            "censored": list(self.censored),
            "median": self.median,
        }


def survival_of(families: Sequence[Family]) -> Survival:
    """Return the survival curve of the families' first errors.

    Raises:
        MissingExtraError: lifelines is not installed (the extra `stability`).
    """
    lifelines = require("lifelines", "stability")
    ends = [ending for family in families for ending in family.lasted]
    weights = [end.weight for end in ends] if len(ends) > len(families) else None
    fitter = lifelines.KaplanMeierFitter(alpha=1 - LEVEL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "It looks like your weights are not integers")
        fitter.fit([end.depth for end in ends], [end.failed for end in ends], weights=weights)
    table = fitter.event_table
    bounds = fitter.confidence_interval_.to_numpy()
    share = fitter.survival_function_.to_numpy()[:, 0]
    kept = [at for at, left in enumerate(table["removed"]) if left]  # lifelines adds depth 0
    median = float(fitter.median_survival_time_)
    return Survival(
        tuple(int(table.index[at]) for at in kept),
        tuple(float(share[at]) for at in kept),
        tuple((float(bounds[at, 0]), float(bounds[at, 1])) for at in kept),
        _counts(table["at_risk"].iloc[kept]),
        _counts(table["observed"].iloc[kept]),
        _counts((table["removed"] - table["observed"]).iloc[kept]),  # its own are cut to integers
        int(median) if math.isfinite(median) else None,
    )


def _counts(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(counted(float(number)) for number in column)
