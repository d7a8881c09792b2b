"""Problems of any number of options as a conditional logit reads them, and what it gets right.

The options of a problem are put in an order of their vectors, so that nothing is left of the order
in which they were written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.dataset import Dataset
from winosmith.debias._logit import Logit
from winosmith.errors import DataError
from winosmith.threads import one_thread

TIED = 1e-9
"""Scores that are nearer to each other than this part of the largest one are ties."""

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """What models make of problems; (n, models) each.

    Attributes:
        leads: how far the highest option is above the runner-up; 0 where it ties.
        credit: what following the highest one earns: 1, 0, and 1 / (options tied) where the key is
            one of these.
        opposite: what naming any other one earns in the mean, (1 − credit) / (K − 1).
    """

    leads: Floats
    credit: Floats
    opposite: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Problems with their options and keys.

    Attributes:
        X: (n, K, d) float32, the options of each problem, zeros beyond its last one.
        key: (n,) the place of the right one.
        options: (n,) how many each has.
    """

    X: NDArray[np.float32]
    key: Rows
    options: Rows

    @classmethod
    def of(cls, X: NDArray[Any], key: ArrayLike, options: ArrayLike) -> Choices:
        """Return problems with their options in an order of their vectors.

        Raises:
            DataError: lengths that differ, vectors that are not finite, or a key that is no option.
        """
        X = np.asarray(X)
        keys, sizes = np.asarray(key), np.asarray(options, np.intp)
        if X.ndim != 3 or not X.size:
            raise DataError(f"X has the shape {X.shape}; it must be (problems, options, columns)")
        if not len(X) == len(keys) == len(sizes):
            raise DataError(
                f"there are {len(X)} problems in X, {len(keys)} keys and {len(sizes)} numbers of "
                "options"
            )
        wrong = np.flatnonzero((sizes < 2) | (sizes > X.shape[1]))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"problem {row} has {sizes[row]} options; 2 to {X.shape[1]} are in X")
        wrong = np.flatnonzero(~((keys >= 0) & (keys < sizes) & (keys == keys.astype(np.intp))))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"key[{row}] is {keys[row]}; the problem has {sizes[row]} options")
        if not np.isfinite(X).all():
            row = int(np.flatnonzero(~np.isfinite(X).all(axis=(1, 2)))[0])
            raise DataError(f"row {row} of X holds NaN or infinity; embed that problem again")
        place = np.tile(np.arange(X.shape[1]), (len(X), 1))
        for row, size in enumerate(sizes.tolist()):
            told = [_digest(X[row, option]) for option in range(size)]
            # of equal options the key goes first, or rounding would tell which it was
            place[row, :size] = sorted(range(size), key=lambda at: (told[at], at != keys[row]))
        moved = np.take_along_axis(X, place[:, :, None], axis=1).astype(np.float32)
        moved[np.arange(X.shape[1]) >= sizes[:, None]] = 0
        return cls(moved, np.argmax(place == keys[:, None], axis=1), sizes)

    def __len__(self) -> int:
        return len(self.key)

    def at(self, rows: Rows | NDArray[np.bool_]) -> Choices:
        """Return some of the problems."""
        return Choices(self.X[rows], self.key[rows], self.options[rows])

    @property
    def chance(self) -> float:
        """What knowing nothing gets right: the mean of 1 / K."""
        return float(np.mean(1 / self.options))

    @property
    def _stacked(self) -> tuple[NDArray[np.float32], Rows]:
        """Return all options one after the other, and where each problem starts."""
        there = np.arange(self.X.shape[1]) < self.options[:, None]
        return self.X[there], np.cumsum(self.options) - self.options

    def models(self, weights: NDArray[np.float32], C: float) -> Floats:
        """Return the (d, c) weights of models, each fitted to the problems with its own weights.

        Args:
            weights: (n, c) how often a model counts each problem.
            C: inverse strength of the penalty.
        """
        V, starts = self._stacked
        right = np.zeros((len(V), weights.shape[1]), np.float32)
        right[starts + self.key] = 1
        return Logit(V, C=C, starts=starts).fit(weights, right)

    def judged(self, W: Floats) -> Judged:
        """Return what models make of the problems."""
        V, starts = self._stacked
        with one_thread():
            scores = V @ W
        near = TIED * np.abs(scores).max(initial=0.0)
        top = np.maximum.reduceat(scores, starts)
        tied = scores >= np.repeat(top, self.options, axis=0) - near
        ties = np.add.reduceat(tied.astype(np.intp), starts)
        credit = tied[starts + self.key] / ties
        place = np.arange(len(V))[:, None]
        leader = np.minimum.reduceat(np.where(tied, place, len(V)), starts)
        np.put_along_axis(scores, leader, -np.inf, axis=0)
        leads = np.where(ties > 1, 0.0, top - np.maximum.reduceat(scores, starts))
        return Judged(leads, credit, (1 - credit) / (self.options[:, None] - 1))

    def canonical(self) -> NDArray[np.float32]:
        """Return a row a problem, (n, K d + 1), with the key in the last column."""
        return np.hstack([self.X.reshape(len(self), -1), self.key[:, None].astype(np.float32)])


def _digest(values: NDArray[Any]) -> bytes:
    plain = np.ascontiguousarray(values, np.float32) + np.float32(0)
    return hashlib.blake2b(plain.tobytes(), digest_size=16).digest()


def choice_keys(data: Dataset) -> Rows:
    """Return the places of the right options, from 0, whatever their number.

    Raises:
        DataError: there is no problem, or an answer is withheld.
    """
    answers: Sequence[int | None] = data.answers
    if not len(answers):
        raise DataError("there are no problems to filter")
    withheld = [problem for problem in data if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answer of the problem {withheld[0].id!r} is withheld; a filter needs answers; "
            f"leave out the {len(withheld)} without one"
        )
    return np.array(answers, np.intp)
