"""An error depth with its interval, beside what it would be if depth did not matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.metrics._depth import without_errors
from winosmith.metrics._depth_families import Family
from winosmith.metrics._intervals import cluster_totals, counted, percentiles, resampled

__all__ = ["DepthNull", "ErrorDepth", "error_depths"]

LEAST_CLUSTERS = 5
"""With fewer, a bootstrap has so few different draws that its ends mean nothing."""

NULL_DRAWS = 2_000
"""Draws of each null; more than 30 families, or problems, make them smooth enough."""

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Sums = npt.NDArray[np.float64]
"""What families add up to, (…, 5): depths of errors, errors, mean depths of the families' errors,
depths of their first errors, families with an error. With ties, what is expected of each when a
fair draw settles them."""

Errors = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Errors at each depth, and how probably there is none, both (draws, levels)."""

_FIGURES = ((0, 1), (2, 4), (3, 4))
"""Which sums are divided for the pooled mean, the mean over families, and the first error."""


@dataclass(frozen=True, slots=True)
class DepthNull:
    """What the error depth would be if depth did not matter.

    Attributes:
        coin: that of a coin flipper, expected; for the pooled mean, the mean depth of the set.
        coin_interval: 95 % of coin flippers lie in it.
        shuffled: that of the solver's own errors when those of each family fall on random
            problems of that family, expected; None without errors.
        shuffled_interval: 95 % of such shuffles lie in it; None without errors.
        p_value: how probable a shuffle at least as far from `shuffled`, on either side, is: small
            when errors come early or late, not just often; None without errors.
    """

    coin: float
    coin_interval: tuple[float, float]
    shuffled: float | None
    shuffled_interval: tuple[float, float] | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class ErrorDepth:
    """One error depth.

    Attributes:
        value: 0 or more; None when no error was made.
        interval: 95 %, by the bootstrap over families; None without errors, and with fewer than
            5 clusters of families, from which it would be far too narrow.
        errors: of how many it is the mean: problems answered wrongly, or families with one; whole
            but for ties.
        null: what it would be if depth did not matter.
    """

    value: float | None
    interval: tuple[float, float] | None
    errors: float
    null: DepthNull

    def record(self) -> dict[str, Any]:
        """Return the figure as JSON can hold it."""
        return {
            "value": self.value,
            "interval": _listed(self.interval),
            "errors": self.errors,
            "null": {
                **asdict(self.null),
                "coin_interval": _listed(self.null.coin_interval),
                "shuffled_interval": _listed(self.null.shuffled_interval),
            },
        }


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def error_depths(
    families: Sequence[Family], seed: int, draws: int
) -> tuple[ErrorDepth, ErrorDepth, ErrorDepth]:
    """Return the pooled mean, the mean over families, and that of the families' first errors.

    Args:
        families: from `families_of`.
        seed: of the draws.
        draws: of the bootstrap.
    """
    totals = np.array([_observed(family) for family in families])
    observed = totals.sum(axis=0)
    drawn = _bootstrap(totals, np.array([family.cluster for family in families]), seed, draws)
    coins = _simulated(families, _coin, np.random.default_rng([seed, 1]))
    shuffles = _simulated(families, _shuffle, np.random.default_rng([seed, 2]))
    depths = np.concatenate([family.depths for family in families])
    risk = 1 - np.concatenate([family.chance for family in families])
    exact = float(np.average(depths, weights=risk)), None, None
    pooled, mean, first = (
        _figure(observed, drawn, coins, shuffles, place, expected)
        for place, expected in zip(_FIGURES, exact, strict=True)
    )
    return pooled, mean, first


def _observed(family: Family) -> Floats:
    levels, of = np.unique(family.depths, return_inverse=True)
    wrong = np.bincount(of, family.wrong)
    _, fine = without_errors(family.depths, family.wrong)
    found: Floats = _totals(levels, wrong[None], fine[None])[0]
    return found


def _bootstrap(totals: Floats, clusters: Counts, seed: int, draws: int) -> Sums | None:
    if len(np.unique(clusters)) < LEAST_CLUSTERS:
        return None
    return resampled(cluster_totals(totals, clusters), seed, draws=draws)


def _figure(
    observed: Floats,
    drawn: Sums | None,
    coins: Sums,
    shuffles: Sums,
    place: tuple[int, int],
    expected: float | None,
) -> ErrorDepth:
    above, below = place
    of_coins = _ratios(coins, place)
    coin = float(of_coins.mean()) if expected is None else expected
    if not observed[below]:
        return ErrorDepth(None, None, 0, DepthNull(coin, percentiles(of_coins), None, None, None))
    value = float(observed[above] / observed[below])
    errors = counted(float(observed[below]))
    of_shuffles = _ratios(shuffles, place)
    centre = float(of_shuffles.mean())
    as_far = np.abs(of_shuffles - centre) >= abs(value - centre) - 1e-9
    null = DepthNull(
        coin,
        percentiles(of_coins),
        centre,
        percentiles(of_shuffles),
        float((1 + as_far.sum()) / (1 + len(as_far))),
    )
    interval = None if drawn is None else percentiles(_ratios(drawn, place))
    return ErrorDepth(value, interval, errors, null)


def _ratios(sums: Sums, place: tuple[int, int]) -> Floats:
    """Return the figure of each draw; draws without an error have none, and are left out."""
    kept = sums[sums[:, place[1]] > 0]
    ratios: Floats = kept[:, place[0]] / kept[:, place[1]]
    return ratios


def _simulated(
    families: Sequence[Family],
    draw: Callable[[Family, Counts, Counts, np.random.Generator], Errors],
    rng: np.random.Generator,
) -> Sums:
    """Return the sums of `NULL_DRAWS` solvers whose errors fall as `draw` says, (draws, 5)."""
    sums = np.zeros((NULL_DRAWS, 5))
    for family in families:
        levels, of, counts = np.unique(family.depths, return_inverse=True, return_counts=True)
        sums += _totals(levels, *draw(family, counts, of, rng))
    return sums


def _totals(levels: Counts, wrong: npt.NDArray[Any], fine: npt.NDArray[Any]) -> Sums:
    """Return what a family adds to the sums in each draw, (draws, 5).

    Args:
        levels: the depths that its problems have, ascending, (m,).
        wrong: how many errors it has at each, (draws, m).
        fine: how probably it has none there, (draws, m).
    """
    number = wrong.sum(axis=1)
    depth = wrong @ levels
    lasting = np.cumprod(fine, axis=1)
    first = np.concatenate([np.ones((len(fine), 1)), lasting[:, :-1]], axis=1) * (1 - fine)
    some = 1.0 - lasting[:, -1]
    mean = np.divide(depth, number, out=np.zeros(len(number)), where=number > 0)
    return np.stack([depth, number, mean * some, first @ levels, some], axis=1)


def _coin(family: Family, counts: Counts, of: Counts, rng: np.random.Generator) -> Errors:
    """Return errors at each depth when each problem is guessed."""
    wrong = np.zeros((NULL_DRAWS, len(counts)), dtype=np.int64)
    for chance in np.unique(family.chance):
        there = np.bincount(of[family.chance == chance], minlength=len(counts))
        wrong += rng.binomial(there, 1 - chance, size=wrong.shape)
    return wrong, wrong == 0


def _shuffle(family: Family, counts: Counts, of: Counts, rng: np.random.Generator) -> Errors:
    """Return errors at each depth when as many as there are, and the ties, fall anywhere."""
    sure = int((family.wrong == 1).sum())
    wrong = rng.multivariate_hypergeometric(counts, sure, size=NULL_DRAWS)
    ties = family.wrong[(family.wrong > 0) & (family.wrong < 1)]
    if not len(ties):
        return wrong, wrong == 0
    left, fine, mass = counts - wrong, (wrong == 0).astype(float), wrong.astype(float)
    for share in ties:  # each in turn falls on one of the problems that are left
        ends = np.cumsum(left, axis=1)
        drawn = rng.integers(ends[:, -1])
        at = np.arange(len(ends)), (ends > drawn[:, None]).argmax(axis=1)
        left[at] -= 1
        mass[at] += share
        fine[at] *= 1 - share
    return mass, fine
