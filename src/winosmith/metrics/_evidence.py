"""How well a tell predicts answers, measured on problems that it was not fitted on.

A tell is fitted by putting each of its values down for the answer that goes with it most often in
some folds. The folds are of whole blocks (`winosmith.blocks`): twins, families, copies, since what
ties answers together is not independent.

- The accuracy is that of four folds, each predicted from the other three.
- Whether it may be chance is asked twice: one fold predicts the three others, and three predict
  the one. A group in which the tell is right more often than always saying the most frequent
  answer is a win, the reverse a loss, and a sign test (McNemar 1947) gives the probability of so
  many wins; twice the smaller probability is kept. Pooling all folds in one test would not do:
  they depend on each other, and of clean data sets 15 % failed such a test at 10 %.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOLDS", "Evidence", "Ints", "evidence"]

FOLDS = 4
SHOWN = 3
"""How many values of a tell are spelt out."""

Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a tell predicts; the attributes are those of `Leak`."""

    accuracy: float
    problems: int
    chance: float
    p_value: float
    says: tuple[tuple[str, int], ...]


def evidence(of: Sequence[Hashable], answers: Ints, groups: Ints, folds: Ints) -> Evidence | None:
    """Return how well a tell predicts, or None when it has fewer than two values.

    Args:
        of: the tell's value for each row; rows with None are left out.
        answers: (n,) the 0-based answer of each row.
        groups: (n,) the number of each row's group.
        folds: (n,) the fold of each row, the same for a whole group, 0 to 3.
    """
    codes = {value: code for code, value in enumerate(dict.fromkeys(of)) if value is not None}
    if len(codes) < 2:
        return None
    codes = {value: code for code, value in enumerate(codes)}
    has = np.array([value is not None for value in of])
    coded = np.array([codes[value] for value in of if value is not None])
    answers, groups, folds = answers[has], groups[has], folds[has]
    table = _table(coded, folds, answers, len(codes))
    return Evidence(
        accuracy=_accuracy(table, coded, folds, answers),
        problems=len(answers),
        chance=float(np.bincount(answers).max() / len(answers)),
        p_value=_p_value(table, coded, folds, answers, groups),
        says=_says(list(codes), table.sum(axis=1)),
    )


def _table(coded: Ints, folds: Ints, answers: Ints, values: int) -> Ints:
    """Return how often each value goes with each answer in each fold: (values, folds, answers)."""
    shape = (values, FOLDS, int(answers.max()) + 1)
    flat = np.ravel_multi_index((coded, folds, answers), shape)
    return cast(Ints, np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape))


def _fitted(table: Ints, folds: Sequence[int]) -> tuple[Ints, int]:
    """Return the answer that each value is put down for, and the most frequent answer.

    The most frequent answer is also said for a value that these folds lack, and breaks ties.
    """
    counts = 2 * table[:, list(folds)].sum(axis=1)
    most = int(counts.sum(axis=0).argmax())
    counts[:, most] += 1
    return counts.argmax(axis=1), most


def _accuracy(table: Ints, coded: Ints, folds: Ints, answers: Ints) -> float:
    right = 0
    for fold in range(FOLDS):
        said, _ = _fitted(table, [other for other in range(FOLDS) if other != fold])
        here = folds == fold
        right += int((said[coded[here]] == answers[here]).sum())
    return right / len(answers)


def _p_value(table: Ints, coded: Ints, folds: Ints, answers: Ints, groups: Ints) -> float:
    p_values = []
    for fitted_on in ([0], [1, 2, 3]):
        said, most = _fitted(table, fitted_on)
        there = ~np.isin(folds, fitted_on)
        right, usually = said[coded[there]] == answers[there], most == answers[there]
        p_values.append(_sign_test(np.bincount(groups[there], right.astype(int) - usually)))
    return min(1.0, 2 * min(p_values))


def _sign_test(gains: NDArray[Any]) -> float:
    """Return the probability of so many gains, or more, when each is a fair coin."""
    from scipy.special import bdtrc

    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    return float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


def _says(values: Sequence[Hashable], counts: Ints) -> tuple[tuple[str, int], ...]:
    frequent = np.argsort(-counts.sum(axis=1), kind="stable")[:SHOWN]
    return tuple((str(values[code]), int(counts[code].argmax()) + 1) for code in frequent)
