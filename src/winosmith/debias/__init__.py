"""What to drop: AFLite, PMI filtering and random reduction, with a null next to them.

The filters return rows, kept and removed; `Dataset.select` and `Dataset.drop` turn them into data.
"""

from __future__ import annotations

from winosmith.debias._aflite import AfliteResult, Phase, Stopped, aflite, suggested_sizes
from winosmith.debias._assess import Along, Assessment, AssessmentSettings, Subset, assess
from winosmith.debias._chance import NOISE, Again, Null, again, shaken, threshold_null, twin_flipped
from winosmith.debias._clues import (
    Associations,
    Clue,
    Leads,
    Mark,
    MarkedProblem,
    assessment_blocks,
    associations,
    leads_table,
    passages,
)
from winosmith.debias._guess import (
    AT_ONCE,
    LEVEL,
    LINEAR,
    TWO_PIECE,
    Guess,
    Probe,
    Verification,
    probe,
    verify,
)
from winosmith.debias._logit import CrossLogit, Logit
from winosmith.debias._mirror import MirrorResult, mirror
from winosmith.debias._pmi import PmiResult, pmi, word_pmi
from winosmith.debias._rows import problem_labels, training_rows
from winosmith.debias._selection import HISTOGRAM_EDGES, subsample
from winosmith.debias._sight import Sight, sight
from winosmith.debias._units import TwinUnits, choice_keys, option_units, twin_units
from winosmith.options import Aim, PmiLabel, PmiVariant

__all__ = [
    "AT_ONCE",
    "HISTOGRAM_EDGES",
    "LEVEL",
    "LINEAR",
    "NOISE",
    "TWO_PIECE",
    "AfliteResult",
    "Again",
    "Aim",
    "Along",
    "Assessment",
    "AssessmentSettings",
    "Associations",
    "Clue",
    "CrossLogit",
    "Guess",
    "Leads",
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
    "Sight",
    "Stopped",
    "Subset",
    "TwinUnits",
    "Verification",
    "aflite",
    "again",
    "assess",
    "assessment_blocks",
    "associations",
    "choice_keys",
    "leads_table",
    "mirror",
    "option_units",
    "passages",
    "pmi",
    "probe",
    "problem_labels",
    "shaken",
    "sight",
    "subsample",
    "suggested_sizes",
    "threshold_null",
    "training_rows",
    "twin_flipped",
    "twin_units",
    "verify",
    "word_pmi",
]
