"""Rounds: a benchmark that goes on with the models, one turn of the loop after another.

>>> from winosmith import rounds
>>> first, *_ = rounds.simulate(seed=1, rounds=1, twins=60, arms=["none"])
>>> first.arm, first.number, first.recall.value
('none', 1, 0.0)
"""

from __future__ import annotations

from winosmith.rounds._report import (
    Change,
    changes,
    read_record,
    round_page,
    told_of_halves,
    told_of_training,
)
from winosmith.rounds._round import Round, RoundRecipe, differing, read_round, round_of, run_round
from winosmith.rounds._simulated import ARMS, SOLVERS, Arm, SimulatedRound, simulate
from winosmith.rounds._solving import NextRound

__all__ = [
    "ARMS",
    "SOLVERS",
    "Arm",
    "Change",
    "NextRound",
    "Round",
    "RoundRecipe",
    "SimulatedRound",
    "changes",
    "differing",
    "read_record",
    "read_round",
    "round_of",
    "round_page",
    "run_round",
    "simulate",
    "told_of_halves",
    "told_of_training",
]
