"""Build, solve and perturb a benchmark in rounds, so that it grows with the models."""

from __future__ import annotations

from winosmith.rounds._report import (
    Change,
    describe_seen_problems,
    make_changes_table,
    make_round_page,
    pair_results,
)
from winosmith.rounds._round import (
    Round,
    RoundRecipe,
    find_differing_files,
    parse_round,
    read_round,
    run_round,
)
from winosmith.rounds._solving import NextRound

__all__ = [
    "Change",
    "NextRound",
    "Round",
    "RoundRecipe",
    "describe_seen_problems",
    "find_differing_files",
    "make_changes_table",
    "make_round_page",
    "pair_results",
    "parse_round",
    "read_round",
    "run_round",
]
