"""Studies: transfer to the data sets of the field, training in sequence, learning curves.

>>> from winosmith import study
>>> [(row.name, row.printed) for row in study.published(6, "wsc") if row.own][:2]
[('RoBERTa-DPR *', '83.1'), ('RoBERTa-WinoGrande *', '90.1')]
"""

from __future__ import annotations

from winosmith.solver_rule import KINDS, LEARNERS, SolverRule
from winosmith.study._published import (
    MARKS,
    PUBLISHED,
    PUBLISHED_GENDER,
    PUBLISHED_STABILITY,
    Published,
    accuracy_lines,
    gender_lines,
    published,
    transfer_sections,
)
from winosmith.study._solvers import (
    MadeSolver,
    Trainable,
    TrainedOn,
    curve_runs,
    hold_out,
    joined,
    make_solver,
    nested_parts,
    overlap,
    paper_split,
    train_on_all,
    trained_on,
    write_curve,
)
from winosmith.study._transfer import (
    TARGETS,
    Solved,
    Target,
    judge,
    lone_claims,
    read_target,
    solve_target,
    test_files,
)

__all__ = [
    "KINDS",
    "LEARNERS",
    "MARKS",
    "PUBLISHED",
    "PUBLISHED_GENDER",
    "PUBLISHED_STABILITY",
    "TARGETS",
    "MadeSolver",
    "Published",
    "Solved",
    "SolverRule",
    "Target",
    "Trainable",
    "TrainedOn",
    "accuracy_lines",
    "curve_runs",
    "gender_lines",
    "hold_out",
    "joined",
    "judge",
    "lone_claims",
    "make_solver",
    "nested_parts",
    "overlap",
    "paper_split",
    "published",
    "read_target",
    "solve_target",
    "test_files",
    "train_on_all",
    "trained_on",
    "transfer_sections",
    "write_curve",
]
