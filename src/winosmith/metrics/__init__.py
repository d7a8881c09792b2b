"""Figures about data sets and about people's answers.

>>> from winosmith import Dataset, Problem, metrics
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> metrics.statistics(data).singles
1
"""

from __future__ import annotations

from winosmith.metrics._leaks import Leak, leaks
from winosmith.metrics._people import HumanAccuracy, human_accuracy
from winosmith.metrics._pmi_counts import (
    PMI_SMOOTHING,
    pair_counts,
    pmi_with_answers,
    word_counts,
)
from winosmith.metrics._statistics import Statistics, statistics

__all__ = [
    "PMI_SMOOTHING",
    "HumanAccuracy",
    "Leak",
    "Statistics",
    "human_accuracy",
    "leaks",
    "pair_counts",
    "pmi_with_answers",
    "statistics",
    "word_counts",
]
