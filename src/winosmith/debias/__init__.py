"""Filters that remove predictable problems: AFLite, the mirror filter, PMI and random reduction.

The filters return the rows kept and removed; `Dataset.select` and `Dataset.drop` turn rows into
data sets.
"""

from __future__ import annotations

from winosmith.debias._aflite import AfliteResult, Phase, StopReason, aflite, suggest_sizes
from winosmith.debias._assess import Assessment, AssessmentSettings, Subset, assess
from winosmith.debias._chance import (
    NOISE,
    Null,
    RunOverlap,
    compare_runs,
    flip_twins,
    perturb_vectors,
    threshold_null,
)
from winosmith.debias._clues import (
    Associations,
    Clue,
    LeadCounts,
    Mark,
    MarkedProblem,
    find_associations,
    make_assessment_blocks,
    make_leads_table,
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
from winosmith.debias._pmi import PmiResult, pmi, word_pmi
from winosmith.debias._rows import choice_keys, draw_training_rows, problem_labels
from winosmith.debias._selection import HISTOGRAM_EDGES, subsample
from winosmith.debias._units import (
    Separability,
    TwinUnits,
    measure_separability,
    option_units,
    twin_units,
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
    "CrossLogit",
    "GuesserAccuracy",
    "LeadCounts",
    "Logit",
    "Mark",
    "MarkedProblem",
    "MirrorResult",
    "Null",
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
    "choice_keys",
    "compare_runs",
    "draw_training_rows",
    "find_associations",
    "flip_twins",
    "make_assessment_blocks",
    "make_leads_table",
    "make_passages",
    "measure_separability",
    "mirror",
    "option_units",
    "perturb_vectors",
    "pmi",
    "probe",
    "problem_labels",
    "subsample",
    "suggest_sizes",
    "threshold_null",
    "twin_units",
    "verify",
    "word_pmi",
]
