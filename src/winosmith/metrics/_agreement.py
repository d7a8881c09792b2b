"""How often two solvers, or two variants of one, choose the same option."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winosmith.answers import Prediction
from winosmith.errors import DataError
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import cluster_totals, counted, percentiles, resampled

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How much two sets of predictions agree.

    Attributes:
        equal: on how many problems they choose the same option; whole but for ties, which count as
            if a fair draw of its own settled each.
        n: of how many.
        kappa: Brennan and Prediger's (1981) of the choices: 1 for the same everywhere, 0 for what
            two have that choose at random. It takes each of a problem's options for as probable by
            chance; Cohen's (1960) takes how often each place is chosen, which means nothing where
            the order of the options does not.
        kappa_interval: its 95 % interval, by the cluster bootstrap.
        same_wrong: of the problems that both got wrong, how many with the same wrong option.
    """

    equal: float
    n: int
    kappa: float
    kappa_interval: tuple[float, float]
    same_wrong: float

    @property
    def share(self) -> float:
        """The share of problems with the same choice, 0–1."""
        return self.equal / self.n


def agreement(first: Graded, second: Graded, seed: int = 0) -> Agreement:
    """Return how much two solvers agree on the same problems.

    Kappa near 0 says that they share nothing; that both are often right makes them agree, too.
    `seed` is of the bootstrap.

    Raises:
        DataError: they answered different problems.
    """
    if first.dataset.ids != second.dataset.ids:
        raise DataError("agreement needs predictions for the same problems")
    pairs = zip(first.predictions, second.predictions, strict=True)
    same = np.array([probability_same(a, b) for a, b in pairs])
    chance = np.array([1 / len(problem.options) for problem in first.dataset])
    totals = cluster_totals(np.stack([same - chance, 1 - chance], axis=1), first.clusters)
    above, most = totals.sum(axis=0)
    drawn = resampled(totals, seed)
    return Agreement(
        counted(float(same.sum())),
        len(same),
        float(above / most),
        percentiles(drawn[:, 0] / drawn[:, 1]),
        counted(float((same - first.credit * second.credit).sum())),
    )


def probability_same(first: Prediction, second: Prediction) -> float:
    """Return the probability that fair draws of what two chose are the same option, 0–1."""
    one, other = set(first.chosen), set(second.chosen)
    return len(one & other) / (len(one) * len(other))
