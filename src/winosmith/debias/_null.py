"""What a filter or a measure finds where there is nothing to find.

The halves of a twin have nearly the same embedding and opposite answers. Permuting all answers
freely would break that, and change how much there is to guess by chance; so a null flips the
answers of both halves together, and permutes freely only among problems that have no other half.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._ensemble import Ensemble, assembled
from winosmith.debias._groups import group_numbers, numbered
from winosmith.debias._partition import FLIPS, generator
from winosmith.debias._rows import checked_rows
from winosmith.debias._selection import at_threshold
from winosmith.debias._settings import Settings
from winosmith.errors import InputError

__all__ = ["Null", "null_of", "threshold_null", "twin_flipped"]

DRAWS = 20
"""The fewest draws: below that, the central 95 % of them says nothing."""

Labels = TypeVar("Labels", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Null:
    """A figure, and the same figure where there is nothing to find.

    Attributes:
        value: the figure, of the real answers.
        mean: its mean over the draws.
        low: the lower end of the central 95 % of the draws, between draws by interpolation.
        high: the upper end.
        p: how likely so high a figure is by chance: (1 + draws at or above the value) over
            (1 + draws), the Monte Carlo p-value (Davison & Hinkley 1997, section 4.2.3).
        draws: the figure of each draw.
    """

    value: float
    mean: float
    low: float
    high: float
    p: float
    draws: tuple[float, ...]


def twin_flipped(
    y: NDArray[Labels], groups: Sequence[Sequence[int]], rng: np.random.Generator
) -> NDArray[Labels]:
    """Return labels that mean nothing, with the structure of the real ones.

    The labels of a group of two rows or more (a twin) are all flipped or all kept, with equal
    chance; those of the groups of one are permuted among these.

    Args:
        y: (n,) labels, 0 or 1.
        groups: the rows that belong together, such as `Dataset.groups`; every row in one.
        rng: draws the flips, then the permutation.

    Raises:
        DataError: the groups do not name each row once.

    >>> y = np.array([0, 1, 1, 0, 1, 1])
    >>> twin_flipped(y, [(0, 1), (2, 3), (4,), (5,)], np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 1, 1]
    """
    return _flipped(np.asarray(y), numbered(groups, len(y)), rng)


def _flipped(
    y: NDArray[Labels], numbers: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[Labels]:
    """Flip as `twin_flipped` does, by the number of each row's group."""
    sizes = np.bincount(numbers)
    flips = rng.random(len(sizes)) < 0.5
    single = sizes[numbers] == 1
    flipped = np.where(flips[numbers] & ~single, 1 - y, y).astype(y.dtype)
    flipped[single] = rng.permutation(y[single])
    return flipped


def null_of(
    statistic: Callable[[NDArray[Any]], float],
    y: NDArray[Any],
    groups: Sequence[Sequence[int]],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Null:
    """Return a figure of the labels beside what it is for twin-flipped labels.

    Args:
        statistic: labels → figure; the higher, the more was found.
        y: (n,) the real labels, 0 or 1.
        groups: see `twin_flipped`.
        draws: 20 or more.
        seed: 0 or more; draw i has a generator of its own.

    Raises:
        InputError: fewer than 20 draws.
        DataError: the groups do not name each row once.
    """
    _check_draws(draws)
    numbers = numbered(groups, len(y))
    drawn = [
        float(statistic(_flipped(y, numbers, generator(seed, draw, FLIPS))))
        for draw in range(draws)
    ]
    return _null(float(statistic(y)), drawn)


def threshold_null(
    X: ArrayLike,
    y: ArrayLike,
    groups: Sequence[Sequence[int]],
    *,
    ensemble_size: int = 64,
    train_size: int = 10_000,
    threshold: float = 0.75,
    C: float = 1.0,
    seed: int = 0,
    ids: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    on_draw: Callable[[int], object] | None = None,
) -> Null:
    """Return how many rows are at AFLite's threshold in its first phase, beside the null.

    The number that AFLite removes says little alone: noise gets past the threshold too. A null of
    the whole run would cost a run for each draw; the first phase, in which all rows take part, is
    asked instead, with the same partitions for the real labels and every draw. Where the real
    number is not above the null's, AFLite removes rows for nothing.

    Args:
        X: (N, d) as for `aflite`.
        y: (N,) labels, 0 or 1.
        groups: the twins, such as `Dataset.groups`; see `twin_flipped`.
        ensemble_size: see `aflite`, as of `train_size`, `threshold`, `C`, `seed` and `ids`.
        train_size: less than N.
        threshold: see `aflite`.
        C: see `aflite`.
        seed: of the partitions and of the draws.
        ids: see `aflite`.
        draws: 20 or more; each takes as long as a phase.
        on_draw: called with the number of draws done, after each.

    Raises:
        DataError: as for `aflite`, or the groups do not name each row once.
        InputError: a parameter is out of its range.
    """
    _check_draws(draws)
    settings = Settings(ensemble_size, train_size, 1, threshold, C, seed, "numba")
    rows = checked_rows(X, y, ids, None)
    if settings.train_size >= len(rows.y):
        raise InputError(
            f"train_size is {settings.train_size}; with {len(rows.y)} rows it must be smaller"
        )
    twins = group_numbers(numbered(groups, len(rows.y)).tolist(), rows.order)
    drawn = []
    with assembled(rows, settings) as ensemble:
        value = _at_threshold(ensemble)
        for draw in range(draws):
            flipped = _flipped(rows.y, twins, generator(settings.seed, draw, FLIPS))
            drawn.append(_at_threshold(ensemble.with_labels(flipped)))
            if on_draw is not None:
                on_draw(draw + 1)
    return _null(value, drawn)


def _at_threshold(ensemble: Ensemble) -> float:
    """Return how many rows are at the threshold or above in the first phase."""
    everything = np.arange(len(ensemble.y), dtype=np.int32)
    votes = ensemble.vote(everything, 0, ensemble.first_start(everything))
    return float(at_threshold(votes.correct, votes.total, ensemble.settings.threshold).sum())


def _check_draws(draws: int) -> None:
    if draws < DRAWS:
        raise InputError(f"a null needs {DRAWS} draws or more, not {draws}")


def _null(value: float, drawn: list[float]) -> Null:
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = sum(figure >= value for figure in drawn)
    return Null(
        value=value,
        mean=float(np.mean(drawn)),
        low=float(low),
        high=float(high),
        p=(1 + reached) / (1 + len(drawn)),
        draws=tuple(drawn),
    )
