"""Studies: transfer to the data sets of the field, training in sequence, learning curves.

>>> from winosmith import study
>>> [(row.name, row.printed) for row in study.published(6, "wsc") if row.own][:2]
[('RoBERTa-DPR *', '83.1'), ('RoBERTa-WinoGrande *', '90.1')]
"""

from __future__ import annotations

from winosmith.solver_rule import KINDS, LEARNERS, SolverRule
from winosmith.study._beside import GenderLine, Line, beside, beside_gender
from winosmith.study._claims import judge, lone_claims
from winosmith.study._made_solver import MadeSolver, made_solver
from winosmith.study._page import MARKS, transfer_page
from winosmith.study._published import (
    PUBLISHED,
    PUBLISHED_GENDER,
    PUBLISHED_STABILITY,
    Published,
    PublishedGender,
    PublishedStability,
    published,
)
from winosmith.study._sets import Trainable, apart, joined, nested
from winosmith.study._targets import TARGETS, TEST_FILES, Target, read_target, test_files
from winosmith.study._trained_on import TrainedOn, trained_on
from winosmith.study._training import CurveRun, curve_runs, train_on_all, write_curve
from winosmith.study._transfer import Solved, solve_target
from winosmith.study._tuning import overlap, paper_split

__all__ = [
    "KINDS",
    "LEARNERS",
    "MARKS",
    "PUBLISHED",
    "PUBLISHED_GENDER",
    "PUBLISHED_STABILITY",
    "TARGETS",
    "TEST_FILES",
    "CurveRun",
    "GenderLine",
    "Line",
    "MadeSolver",
    "Published",
    "PublishedGender",
    "PublishedStability",
    "Solved",
    "SolverRule",
    "Target",
    "Trainable",
    "TrainedOn",
    "apart",
    "beside",
    "beside_gender",
    "curve_runs",
    "joined",
    "judge",
    "lone_claims",
    "made_solver",
    "nested",
    "overlap",
    "paper_split",
    "published",
    "read_target",
    "solve_target",
    "test_files",
    "train_on_all",
    "trained_on",
    "transfer_page",
    "write_curve",
]
