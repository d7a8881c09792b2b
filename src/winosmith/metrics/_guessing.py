"""How likely does guessing do as well, when twins are right or wrong together?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winosmith.blocks import plain
from winosmith.metrics._graded import Graded

__all__ = ["guessing_level", "guessing_p_value"]

Floats = npt.NDArray[np.float64]


def guessing_level(graded: Graded) -> float:
    """Return the accuracy that guessing gives on average, 0–1: the mean of 1/k for k options."""
    return float(np.mean([1 / len(problem.options) for problem in graded.dataset]))


def guessing_p_value(graded: Graded) -> float:
    """Return the probability that guessing has as many right, or more.

    The null turns the labels of a cluster's problems all together: the options of each stand in a
    circle, sorted by their text, and every answer of the cluster moves on by the same number of
    places, each number of the k as probable. With two options that keeps the answers or flips them,
    so a twin keeps its opposite answers; with more, copies move as one and count as one piece of
    evidence. It does not depend on the order in which options are written. What is tied is worth
    1 / (options tied) in each turn that puts the answer among them. The distribution of the sum is
    exact (by convolution). Without clusters this is the one-sided binomial test (Poisson-binomial
    for mixed numbers of options); with them it takes what problems must share for no evidence. A
    solver that ignores the trigger has one half of every twin right, and p = 1; so has one that
    can't decide anything.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(0, singles=5)
    >>> guessing_p_value(grade(data, [Prediction(p.id, p.answer) for p in data]))  # 1/2 to the 5th
    0.03125
    """
    together: dict[tuple[int, int], list[int]] = {}
    for row, cluster in enumerate(graded.clusters):
        together.setdefault((int(cluster), len(graded.dataset[row].options)), []).append(row)
    chosen = [_chosen_from_answer(graded, row) for row in range(len(graded.dataset))]
    unit = math.lcm(*map(len, chosen))  # credits are whole numbers of 1/unit
    certain, distribution = 0, np.ones(1)
    for (_, options), rows in together.items():
        step = _turned([chosen[row] for row in rows], options, unit)
        first, last = np.flatnonzero(step)[[0, -1]]
        certain += int(first)
        if last > first:
            distribution = np.convolve(distribution, step[first : last + 1])
    seen = round(float(graded.credit.sum()) * unit) - certain
    return float(min(1.0, distribution[max(seen, 0) :].sum()))


def _chosen_from_answer(graded: Graded, row: int) -> list[int]:
    """Return how far on from the answer each chosen option stands, 0 to k − 1, sorted by text.

    As copies are compared (`blocks.plain`), so that their options stand in the same places.
    """
    problem = graded.dataset[row]
    options = problem.options
    order = sorted(range(len(options)), key=lambda at: (plain(options[at]), options[at]))
    place = {option: at for at, option in enumerate(order)}
    answer = place[problem.answer or 0]  # `grade` has seen that it is known
    return [(place[option] - answer) % len(options) for option in graded.predictions[row].chosen]


def _turned(chosen: Sequence[Sequence[int]], options: int, unit: int) -> Floats:
    """Return how probable each credit of a cluster is, in units, when its labels are turned.

    Args:
        chosen: how far on from its answer each chosen option of a problem stands.
        options: how many each problem has.
        unit: of credit.
    """
    credit = np.zeros(options, dtype=np.int64)  # of each turn
    for places in chosen:
        credit[list(places)] += unit // len(places)
    return np.bincount(credit) / options
