"""How often two solvers, or two variants of one, choose the same option."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError
from winosmith.metrics._graded import Graded
from winosmith.metrics._resample import cluster_totals, percentiles, resampled
from winosmith.problem import MAX_OPTIONS

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How much two sets of predictions agree.

    Attributes:
        equal: on how many problems they choose the same option.
        n: of how many.
        kappa: Cohen's kappa (1960) of the choices: 1 for the same everywhere, 0 for what two that
            choose each option as often, but at random, would have; None when both always choose
            the same one option, and it is not defined.
        kappa_interval: its 95 % interval, by the cluster bootstrap; None with `kappa`.
        same_wrong: of the problems that both got wrong, how many with the same wrong option.
    """

    equal: int
    n: int
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    same_wrong: int

    @property
    def share(self) -> float:
        """The share of problems with the same choice, 0–1."""
        return self.equal / self.n


def agreement(first: Graded, second: Graded, seed: int = 0) -> Agreement:
    """Return how much two solvers agree on the same problems.

    For options in random order, kappa near 0 says that they share nothing; that both are often
    right makes them agree, too. `seed` is of the bootstrap.

    Raises:
        DataError: they answered different problems.
    """
    if first.dataset.ids != second.dataset.ids:
        raise DataError("agreement needs predictions for the same problems")
    a, b = (np.array([p.choice for p in graded.predictions]) for graded in (first, second))
    same = a == b
    wrong = same & ~first.correct
    cells = np.eye(MAX_OPTIONS**2)[a * MAX_OPTIONS + b]
    totals = cluster_totals(cells, first.clusters)
    kappa = float(_kappa(totals.sum(axis=0)[None])[0])
    drawn = _kappa(resampled(totals, seed))
    known = drawn[~np.isnan(drawn)]
    defined = not np.isnan(kappa)
    return Agreement(
        int(same.sum()),
        len(a),
        kappa if defined else None,
        percentiles(known) if defined else None,
        int(wrong.sum()),
    )


def _kappa(cells: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the kappa of each table, (draws, options²); NaN where it is not defined."""
    tables = cells.reshape(-1, MAX_OPTIONS, MAX_OPTIONS)
    total = tables.sum(axis=(1, 2))
    equal = np.trace(tables, axis1=1, axis2=2) / total
    expected = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / total**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: npt.NDArray[np.float64] = np.where(
            expected < 1, (equal - expected) / (1 - expected), np.nan
        )
    return kappa
