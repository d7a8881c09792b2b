"""How likely does guessing do as well, when twins are right or wrong together?"""

from __future__ import annotations

import numpy as np

from winosmith.metrics._graded import Graded

__all__ = ["guessing_level", "guessing_p_value"]


def guessing_level(graded: Graded) -> float:
    """Return the accuracy that guessing gives on average, 0–1: the mean of 1/k for k options."""
    return float(np.mean([1 / len(problem.options) for problem in graded.dataset]))


def guessing_p_value(graded: Graded) -> float:
    """Return the probability that guessing has as many right, or more.

    The null turns the labels of a cluster's problems by a random number of places, all together
    and each way alike: with two options it keeps them or flips them, so a twin keeps its opposite
    answers. The distribution of the sum is exact (by convolution). Without clusters this is the
    one-sided binomial test (Poisson-binomial for mixed numbers of options); with them it takes
    what halves must share for no evidence. A solver that ignores the trigger has one half of
    every twin right, and p = 1.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import made_twins
    >>> data = made_twins(0, singles=5)
    >>> guessing_p_value(grade(data, [Prediction(p.id, p.answer) for p in data]))  # 1/2 to the 5th
    0.03125
    """
    turns: dict[tuple[int, int], list[int]] = {}
    for row, cluster in enumerate(graded.clusters):
        options = len(graded.dataset[row].options)
        turned = turns.setdefault((int(cluster), options), [0] * options)
        answer = graded.dataset[row].answer or 0
        turned[(graded.predictions[row].choice - answer) % options] += 1
    distribution = np.ones(1)
    for turned in turns.values():
        step = np.bincount(turned) / len(turned)
        distribution = np.convolve(distribution, step)
    return float(min(1.0, distribution[int(graded.correct.sum()) :].sum()))
