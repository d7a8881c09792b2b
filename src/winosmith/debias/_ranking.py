"""What models tell of a filter: whether they keep their order on what it kept, and their data maps.

Phang et al. (2021) filter the same data with many adversaries and find that the order of models
hangs on which it was. A set that is smaller, and on which models are close to chance, shuffles them
by luck alone; so beside each correlation stands that of random subsets made up like the kept set.
A data map is how a model took to each label while it was trained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.debias._rows import BOOTSTRAP, generator
from winosmith.errors import DataError, FormatError, InputError
from winosmith.metrics import Proportion, proportion
from winosmith.records import Recorded, json_lines, read_text


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Kendall's tau-b (1945) of each row with the same row of the other array.

    (concordant − discordant) / √(pairs untied in the first · pairs untied in the second); NaN where
    all values of a row are equal.

    >>> tau_b(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 2, 4, 3]])).round(3).tolist()
    [0.667]
    """
    a, b = _signs(first), _signs(second)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: NDArray[np.float64] = (a * b).sum(axis=1) / np.sqrt(
            (a**2).sum(axis=1) * (b**2).sum(axis=1)
        )
    return tau


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's rho (1904) of each row with the same row of the other array.

    The correlation of the ranks, ties in the middle; NaN where all values of a row are equal.
    """
    from scipy.stats import rankdata

    a, b = (rankdata(rows, axis=1) for rows in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: NDArray[np.float64] = (a * b).sum(axis=1) / np.sqrt(
            (a**2).sum(axis=1) * (b**2).sum(axis=1)
        )
    return rho


def reversed_pairs(first: NDArray[np.float64], second: NDArray[np.float64]) -> int:
    """Return how many pairs stand in one order in one vector and in the other in the other."""
    return int((_signs(first[None]) * _signs(second[None]) < 0).sum())


def _signs(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the sign of the difference of each two of its values."""
    i, j = np.triu_indices(rows.shape[1], k=1)
    signs: NDArray[np.float64] = np.sign(rows[:, i] - rows[:, j])
    return signs


Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Correlation:
    """How alike the orders of models are on two sets.

    Attributes:
        first, second: the sets; "all" is the pool.
        tau: Kendall's tau-b of the accuracies, −1 to 1; None where one set has all models equal.
        interval: its central 95 % when twins and families are drawn again, in both sets the same.
            Drawing again shuffles models that are close, so it lies lower than tau as a rule.
        rho: Spearman's rho.
        rho_interval: the same of rho.
        reversed: pairs of models in opposite orders.
        pairs: of how many.
        null: for a kept set beside all: mean and central 95 % of tau of random subsets made up like
            it beside all; None between kept sets.
        p: the share of random subsets whose tau is as low as the kept set's: (1 + so many) over
            (1 + draws); None between kept sets.
    """

    first: str
    second: str
    tau: float | None
    interval: tuple[float, float] | None
    rho: float | None
    rho_interval: tuple[float, float] | None
    reversed: int
    pairs: int
    null: tuple[float, float, float] | None = None
    p: float | None = None


@dataclass(frozen=True)
class Ranking(Recorded):
    """The order of models on all problems, and on each kept set.

    Attributes:
        accuracies: by set ("all" first) and model, the accuracy with its interval.
        correlations: of each kept set with all, then of each two kept sets.
        draws: of the bootstrap.
    """

    accuracies: Mapping[str, Mapping[str, Proportion]]
    correlations: tuple[Correlation, ...]
    draws: int


def ranking(
    right: Mapping[str, Floats],
    kept: Mapping[str, Mask],
    clusters: NDArray[np.int64],
    subsets: Mapping[str, Sequence[Mask]],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> Ranking:
    """Compare the order of models on kept sets with that on all problems, and with each other.

    Args:
        right: by model, (n,) what its answers are worth, 0–1; two models or more.
        kept: by name, (n,) which problems a filter kept.
        clusters: (n,) the cluster of each problem, drawn again as a whole; see `metrics.clusters`.
        subsets: by name of a kept set, random subsets made up like it; see `alike`.
        draws: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: fewer than two models.
        DataError: a kept set without a problem.
    """
    if len(right) < 2:
        raise InputError("an order takes two models or more")
    if empty := [name for name, mask in kept.items() if not mask.any()]:
        raise DataError(f"{empty[0]} holds no problem; no model has an accuracy on it")
    names, R = list(right), np.array(list(right.values()), np.float64)
    masks = {"all": np.ones(R.shape[1], np.bool_), **kept}
    values = {name: R[:, mask].mean(axis=1) for name, mask in masks.items()}
    drawn = _bootstrap(R, masks, clusters, draws, seed)
    found = []
    for name in kept:
        nulls = np.array([R[:, subset].mean(axis=1) for subset in subsets[name]])
        found.append(_correlation("all", name, values, drawn, nulls))
    found += [_correlation(a, b, values, drawn) for a, b in combinations(kept, 2)]
    accuracies = {
        name: {model: _share(R[row, mask], clusters[mask]) for row, model in enumerate(names)}
        for name, mask in masks.items()
    }
    return Ranking(accuracies, tuple(found), draws)


def _share(worth: Floats, clusters: NDArray[np.int64]) -> Proportion:
    return proportion(worth, clusters, ties=int(((worth > 0) & (worth < 1)).sum()))


def _bootstrap(
    R: Floats, masks: Mapping[str, Mask], clusters: NDArray[np.int64], draws: int, seed: int
) -> dict[str, Floats]:
    """Return by set the accuracies when clusters are drawn again, (draws, models)."""
    count = int(clusters.max()) + 1
    totals = {
        name: np.stack(
            [np.bincount(clusters, weights, minlength=count) for weights in (mask, *(R * mask))]
        )
        for name, mask in masks.items()
    }
    drawn = {name: np.empty((draws, len(R))) for name in masks}
    for draw, weights in enumerate(_weights(count, draws, seed)):
        for name, of in totals.items():
            n, *sums = of @ weights
            drawn[name][draw] = np.array(sums) / n if n else np.nan
    return drawn


def _weights(count: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each cluster is drawn."""
    for draw in range(draws):
        rng = generator(seed, draw, BOOTSTRAP)
        yield np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)


def _correlation(
    first: str,
    second: str,
    values: Mapping[str, Floats],
    drawn: Mapping[str, Floats],
    nulls: Floats | None = None,
) -> Correlation:
    a, b = values[first], values[second]
    tau, rho = (float(of(a[None], b[None])[0]) for of in (tau_b, spearman))
    null, p = None, None
    if nulls is not None and len(nulls) and not np.isnan(tau):
        by_luck = tau_b(np.broadcast_to(a, nulls.shape), nulls)
        by_luck = by_luck[~np.isnan(by_luck)]
        if by_luck.size:
            null = (float(by_luck.mean()), *_ends(by_luck))
            p = float((1 + (by_luck <= tau + 1e-9).sum()) / (1 + len(by_luck)))
    return Correlation(
        first,
        second,
        None if np.isnan(tau) else tau,
        None if np.isnan(tau) else _ends(tau_b(drawn[first], drawn[second])),
        None if np.isnan(rho) else rho,
        None if np.isnan(rho) else _ends(spearman(drawn[first], drawn[second])),
        reversed_pairs(a, b),
        len(a) * (len(a) - 1) // 2,
        null,
        p,
    )


def _ends(values: Floats) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not known.size:
        return float("-1"), 1.0
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The coordinates of each problem on a data map (Swayamdipta et al. 2020, section 2).

    Attributes:
        confidence: (n,) the mean probability of the label over the epochs, 0–1; NaN where unknown.
        variability: (n,) its standard deviation over them.
        correctness: (n,) in how many epochs (or what share of them) the label was predicted; None
            where the file does not say.
    """

    confidence: Floats
    variability: Floats
    correctness: Floats | None = None

    def regions(self) -> dict[str, Floats]:
        """Return which problems are in the three regions: 1, 0, NaN where nothing is known."""
        return {
            "easy to learn": _third(-self.confidence),
            "ambiguous": _third(-self.variability),
            "hard to learn": _third(self.confidence),
        }

    def doubted(self) -> Floats:
        """Return 1 where the label has less than one half of the probability on average."""
        return np.where(np.isnan(self.confidence), np.nan, self.confidence < 0.5)


def _third(values: Floats) -> Floats:
    """Return 1 for the third with the lowest values, 0 for the others; of equals the first."""
    known = np.flatnonzero(~np.isnan(values))
    chosen = np.full(len(values), np.nan)
    chosen[known] = 0
    chosen[known[np.argsort(values[known], kind="stable")[: len(known) // 3]]] = 1
    return chosen


def read_dynamics(path: str | Path, pool: Dataset, *, first: int = 0) -> Dynamics:
    """Read the coordinates of a data map, as the authors' code writes them.

    Each line of the file is an object with `guid`, `confidence`, `variability` and, as a rule,
    `correctness`. A `guid` that is text is a problem's id; a number is that of a row of the pool,
    counted from `first`.

    Args:
        path: a .jsonl file.
        pool: the problems, in the order in which the model was given them.
        first: the number of the first row (10000 in the published map of WinoGrande).

    Raises:
        FormatError: a line can't be read, or is about no problem or about one a second time; with
            the line.
        DataError: no line is about a problem of the pool.

    Lines about ids that the pool does not have are passed over, numbers beyond its rows are not.
    """
    rows = {name: row for row, name in enumerate(pool.ids)}
    columns: dict[str, Floats] = {
        name: np.full(len(pool), np.nan) for name in ("confidence", "variability", "correctness")
    }
    seen: set[int] = set()
    for line, record in json_lines(read_text(path), path):
        row = _row(record.get("guid"), rows, len(pool), first, path, line)
        if row is None:
            continue
        if row in seen:
            raise FormatError(f"the guid {record['guid']!r} was there before", path, line)
        seen.add(row)
        for name, column in columns.items():
            if name in record or name != "correctness":
                column[row] = _number(record, name, path, line)
    if not seen:
        of = pool.name or "the pool"
        raise DataError(f"{path}: none of its lines is about a problem of {of}")
    correctness = columns["correctness"]
    return Dynamics(
        columns["confidence"],
        columns["variability"],
        None if np.isnan(correctness).all() else correctness,
    )


def _row(
    guid: Any, rows: Mapping[str, int], count: int, first: int, path: str | Path, line: int
) -> int | None:
    if isinstance(guid, str):
        return rows.get(guid)
    if not isinstance(guid, int) or isinstance(guid, bool):
        raise FormatError(f"guid must be an id or the number of a row, not {guid!r}", path, line)
    if not first <= guid < first + count:
        raise FormatError(
            f"guid is {guid}, but the rows of the pool are {first} to {first + count - 1}; say "
            "which number the first row has",
            path,
            line,
        )
    return guid - first


def _number(record: Mapping[str, Any], name: str, path: str | Path, line: int) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FormatError(f"{name} must be a number, not {value!r}", path, line)
    if name == "confidence" and not 0 <= value <= 1:
        raise FormatError(f"confidence is a probability from 0 to 1, not {value}", path, line)
    return float(value)
