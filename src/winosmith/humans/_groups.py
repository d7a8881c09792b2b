"""Native speakers beside others, and all without the weakest, with the caution of small numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEW = 10
"""A group with fewer people gets a caution: Davis et al. (2016, section 4.1) had 7 and 12."""

_DRAWS = 9_999


@dataclass(frozen=True, slots=True)
class Groups:
    """Two groups of subjects on one test.

    Attributes:
        native, others: how many there are.
        means: of their scores, 0–1, natives first.
        welch: the p-value of Welch's t-test (1947), two-sided; None for fewer than two in a group
            or no spread.
        permutation: the p-value of exchanging the labels, two-sided; exact for few subjects.
        interval: of the difference, 95 %, by Welch; None as `welch`.
    """

    native: int
    others: int
    means: tuple[float, float]
    welch: float | None
    permutation: float
    interval: tuple[float, float] | None

    @property
    def difference(self) -> float:
        """By how much natives score higher."""
        return self.means[0] - self.means[1]

    @property
    def caution(self) -> str:
        """What small groups can't tell; empty for groups of 10 or more."""
        if min(self.native, self.others) >= FEW:
            return ""
        return (
            f"With {self.native} native speakers and {self.others} others only a large difference "
            "shows; the absence of a significant one says little."
        )

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "native": self.native,
            "others": self.others,
            "means": list(self.means),
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "welch_p": self.welch,
            "permutation_p": self.permutation,
            "caution": self.caution,
        }


def compare_groups(
    native: Sequence[float], others: Sequence[float], seed: int = 0
) -> Groups | None:
    """Return how native speakers score beside others; None where one group is empty.

    >>> found = compare_groups([1.0, 0.9], [0.8, 0.7])
    >>> round(found.difference, 2), round(found.permutation, 2)
    (0.2, 0.33)
    """
    if not native or not others:
        return None
    a, b = np.asarray(native), np.asarray(others)
    welch, interval = _welch(a, b)
    return Groups(
        len(a),
        len(b),
        (float(a.mean()), float(b.mean())),
        welch,
        _permutation(a, b, seed),
        interval,
    )


def _permutation(a: Floats, b: Floats, seed: int) -> float:
    """Return how often exchanged labels give a difference as large, either way.

    Over all ways to choose the natives where there are few, else over random ones and the real one
    (scipy's test takes no group of one person; WS.a of 2016 had one native speaker).
    """
    pool, total = np.concatenate([a, b]), float(a.sum() + b.sum())
    if math.comb(len(pool), len(a)) <= _DRAWS:
        chosen = np.array(list(combinations(range(len(pool)), len(a))))
    else:
        rng = np.random.default_rng([seed, len(a), len(b)])
        drawn = rng.permuted(np.tile(np.arange(len(pool)), (_DRAWS, 1)), axis=1)[:, : len(a)]
        chosen = np.vstack([np.arange(len(a)), drawn])
    sums = pool[chosen].sum(axis=1)
    differences = np.abs(sums / len(a) - (total - sums) / len(b))
    return float(np.mean(differences >= abs(a.mean() - b.mean()) - 1e-12))


def _welch(a: Floats, b: Floats) -> tuple[float | None, tuple[float, float] | None]:
    """Return p and the interval of the difference; None for fewer than two, or without spread.

    Written out because scipy's warns where one group has equal scores, which few people do have.
    """
    from scipy.stats import t

    if min(len(a), len(b)) < 2 or (np.ptp(a) == 0 and np.ptp(b) == 0):
        return None, None
    parts = [float(group.var(ddof=1)) / len(group) for group in (a, b)]
    error = float(np.sqrt(sum(parts)))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(group) - 1) for part, group in zip(parts, (a, b), strict=True)
    )
    difference = float(a.mean() - b.mean())
    half = float(t.ppf(0.975, freedom)) * error
    p = 2 * float(t.sf(abs(difference) / error, freedom))
    return p, (difference - half, difference + half)


@dataclass(frozen=True, slots=True)
class Without:
    """The same test without its weakest subjects.

    Attributes:
        left_out: their codes, the weakest first.
        mean: of the others' scores, 0–1.
        groups: native speakers and others among them; None where that is not known.
        histogram: subjects of those left who were right → items.
        subjects: how many are left.
    """

    left_out: tuple[str, ...]
    mean: float
    groups: Groups | None
    histogram: Mapping[int, int]
    subjects: int

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "left_out": list(self.left_out),
            "subjects": self.subjects,
            "mean": self.mean,
            "groups": self.groups and self.groups.record(),
            "histogram": {str(k): n for k, n in self.histogram.items()},
        }


def without_weakest(
    right: Floats,
    names: Sequence[str],
    natives: Sequence[bool | None],
    weakest: int,
    seed: int = 0,
) -> Without | None:
    """Return the figures without the `weakest` lowest scores; None where fewer than two are left.

    Scores that are equal are left out in the order of the codes.

    Args:
        right: 1 and 0, NaN for a question that was not asked, (subjects, items).
        names: of the subjects.
        natives: of the subjects; None where it is not declared.
        weakest: how many to leave out.
        seed: of the permutation test.
    """
    if not 0 < weakest <= len(names) - 2:
        return None
    scores = np.nanmean(right, axis=1)
    order = sorted(range(len(names)), key=lambda at: (scores[at], names[at]))
    out, left = order[:weakest], sorted(order[weakest:])
    kept = right[left]
    levels = Counter(int(total) for total in np.nansum(kept, axis=0))
    return Without(
        tuple(names[at] for at in out),
        float(scores[left].mean()),
        compare_groups(
            [float(scores[at]) for at in left if natives[at] is True],
            [float(scores[at]) for at in left if natives[at] is False],
            seed,
        ),
        dict(sorted(levels.items(), reverse=True)),
        len(left),
    )
