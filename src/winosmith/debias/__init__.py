"""Filters that remove predictable problems: AFLite, the mirror filter, PMI and random reduction.

The filters return the rows kept and removed; `Dataset.select` and `Dataset.drop` turn rows into
data sets.
"""

from __future__ import annotations

from winosmith.debias._aflite import AfliteResult, Phase, StopReason, aflite, suggest_sizes
from winosmith.debias._assess import Assessment, AssessmentSettings, Subset, assess
from winosmith.debias._chance import (
    NOISE,
    NullTest,
    RunOverlap,
    compare_runs,
    compute_threshold_null,
    flip_twins,
    perturb_vectors,
)
from winosmith.debias._clues import (
    Associations,
    Clue,
    ClueDirections,
    Mark,
    MarkedProblem,
    find_associations,
    make_assessment_blocks,
    make_clue_table,
    make_passages,
)
from winosmith.debias._guess import (
    CONCURRENT_HALVES,
    LEVEL,
    LINEAR,
    TWO_PIECE,
    GuesserAccuracy,
    Probe,
    Verification,
    probe,
    verify,
)
from winosmith.debias._logit import CrossLogit, Logit
from winosmith.debias._mirror import MirrorResult, mirror
from winosmith.debias._pmi import PmiResult, pmi
from winosmith.debias._rows import draw_training_rows, get_choice_keys, get_problem_labels
from winosmith.debias._selection import HISTOGRAM_EDGES, subsample
from winosmith.debias._units import (
    Separability,
    TwinUnits,
    make_option_units,
    make_twin_units,
    measure_separability,
)
from winosmith.options import Aim, PmiLabel, PmiVariant

__all__ = [
    "CONCURRENT_HALVES",
    "HISTOGRAM_EDGES",
    "LEVEL",
    "LINEAR",
    "NOISE",
    "TWO_PIECE",
    "AfliteResult",
    "Aim",
    "Assessment",
    "AssessmentSettings",
    "Associations",
    "Clue",
    "ClueDirections",
    "CrossLogit",
    "GuesserAccuracy",
    "Logit",
    "Mark",
    "MarkedProblem",
    "MirrorResult",
    "NullTest",
    "Phase",
    "PmiLabel",
    "PmiResult",
    "PmiVariant",
    "Probe",
    "RunOverlap",
    "Separability",
    "StopReason",
    "Subset",
    "TwinUnits",
    "Verification",
    "aflite",
    "assess",
    "compare_runs",
    "compute_threshold_null",
    "draw_training_rows",
    "find_associations",
    "flip_twins",
    "get_choice_keys",
    "get_problem_labels",
    "make_assessment_blocks",
    "make_clue_table",
    "make_option_units",
    "make_passages",
    "make_twin_units",
    "measure_separability",
    "mirror",
    "perturb_vectors",
    "pmi",
    "probe",
    "subsample",
    "suggest_sizes",
    "verify",
]
