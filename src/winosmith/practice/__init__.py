"""Practice data: generated twins with planted artifacts, simulated votes and handwritten twins.

>>> from winosmith import practice
>>> made = practice.generate_corpus(10, seed=1)
>>> len(made.dataset), len(made.planted), len(made.votes)
(20, 10, 120)
"""

from __future__ import annotations

from winosmith.practice._artifacts import ARTIFACTS, Artifact, FilterRecall, Ratio, measure_recall
from winosmith.practice._corpus import (
    PracticeCorpus,
    generate_corpus,
    make_pseudonyms,
    read_handwritten,
    simulate_votes,
)

__all__ = [
    "ARTIFACTS",
    "Artifact",
    "FilterRecall",
    "PracticeCorpus",
    "Ratio",
    "generate_corpus",
    "make_pseudonyms",
    "measure_recall",
    "read_handwritten",
    "simulate_votes",
]
