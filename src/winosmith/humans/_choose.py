"""The exact choice: most problems, then the highest agreement, then by lot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.humans._limits import Limit

__all__ = ["choose"]

Floats = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]

_ROUNDING = 1e-7
"""What the sum of agreement may be off when ties are settled; HiGHS keeps within 1e-6 a row."""


def choose(
    agreement: Floats, limits: Sequence[Limit], size: int | None, lot: Floats, seconds: float = 60.0
) -> Chosen:
    """Return which problems to take, (n,) of bool.

    Three integer programmes, each solved to the end (scipy's `milp`, HiGHS; Huangfu & Hall 2018):
    the most problems; of these choices the one with the largest sum of agreement; of equal ones
    the one with the largest sum of lots.

    Args:
        agreement: of each problem, (n,), 0–1; that of a schema, for both of its halves alike.
        limits: what any choice must keep within.
        size: how many to choose; None for as many as possible.
        lot: what each problem drew, (n,), 0–1: it settles which half of a schema is taken, and
            other ties.
        seconds: the longest that one programme may take.

    Raises:
        InputError: there are not so many within the limits, or the time is up.
    """
    if not len(agreement):
        if size:
            raise InputError(f"{size} problems are asked for, and none is sound")
        return np.zeros(0, bool)
    most = int(_best(np.ones(len(agreement)), limits, seconds).sum())
    if size is not None and size > most:
        advice = f"ask for {most}, or loosen one" if most else "loosen one"
        raise InputError(
            f"{size} problems are asked for; the constraints let through {most} of "
            f"{len(agreement)} sound ones: {advice}"
        )
    every = np.ones(len(agreement))
    wanted = float(size or most)
    exactly = [Limit(every, wanted, ""), Limit(-every, -wanted, "")]
    best = _best(agreement, [*limits, *exactly], seconds)
    reached = Limit(-agreement, _ROUNDING - float(agreement @ best), "")
    return _best(lot, [*limits, *exactly, reached], seconds)


def _best(worth: Floats, limits: Sequence[Limit], seconds: float) -> Chosen:
    """Return the choice within the limits that is worth most, by an integer programme."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = csr_array(np.array([limit.weights for limit in limits]).reshape(-1, len(worth)))
    constraints = [LinearConstraint(rows, ub=[limit.most for limit in limits])] if limits else []
    found = milp(
        -worth,
        integrality=np.ones(len(worth)),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "time_limit": seconds},
    )
    if found.status == 2:
        raise InputError(
            "no choice of that size keeps within the constraints; loosen a balance or the size"
        )
    if found.status != 0:
        raise InputError(f"the choice was not found in {seconds:g} s; loosen a balance")
    return np.asarray(found.x) > 0.5
