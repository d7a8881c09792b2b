"""Rounds: a benchmark that continues with the models, one turn of the loop after another."""

from __future__ import annotations

from winosmith.rounds._report import Change, changes, changes_table, round_page, training_sentences
from winosmith.rounds._round import (
    Round,
    RoundRecipe,
    differing_files,
    read_round,
    round_of,
    run_round,
)
from winosmith.rounds._solving import NextRound

__all__ = [
    "Change",
    "NextRound",
    "Round",
    "RoundRecipe",
    "changes",
    "changes_table",
    "differing_files",
    "read_round",
    "round_of",
    "round_page",
    "run_round",
    "training_sentences",
]
