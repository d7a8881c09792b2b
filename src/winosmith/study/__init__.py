"""Studies of transfer to other data sets, sequential fine-tuning and learning curves.

>>> from winosmith import study
>>> [(row.name, row.printed) for row in study.get_published(6, "wsc") if row.own][:2]
[('RoBERTa-DPR *', '83.1'), ('RoBERTa-WinoGrande *', '90.1')]
"""

from __future__ import annotations

from winosmith.study._published import (
    MARKS,
    PUBLISHED,
    PUBLISHED_GENDER,
    PUBLISHED_STABILITY,
    PublishedAccuracy,
    get_published,
    make_accuracy_lines,
    make_gender_lines,
    make_transfer_sections,
)
from winosmith.study._solvers import (
    MadeSolver,
    Trainable,
    TrainingData,
    draw_nested_parts,
    find_shared_sentences,
    find_training_data,
    hold_out,
    join_data,
    make_curve_runs,
    make_solver,
    split_as_in_paper,
    train_on_all,
    write_curve,
)
from winosmith.study._transfer import (
    TARGETS,
    Target,
    TransferResult,
    count_lone_claims,
    judge,
    list_test_files,
    read_target,
    solve_target,
)

__all__ = [
    "MARKS",
    "PUBLISHED",
    "PUBLISHED_GENDER",
    "PUBLISHED_STABILITY",
    "TARGETS",
    "MadeSolver",
    "PublishedAccuracy",
    "Target",
    "Trainable",
    "TrainingData",
    "TransferResult",
    "count_lone_claims",
    "draw_nested_parts",
    "find_shared_sentences",
    "find_training_data",
    "get_published",
    "hold_out",
    "join_data",
    "judge",
    "list_test_files",
    "make_accuracy_lines",
    "make_curve_runs",
    "make_gender_lines",
    "make_solver",
    "make_transfer_sections",
    "read_target",
    "solve_target",
    "split_as_in_paper",
    "train_on_all",
    "write_curve",
]
