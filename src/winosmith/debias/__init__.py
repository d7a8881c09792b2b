"""What to drop: AFLite, PMI filtering and random reduction, with a null beside them.

The filters return rows, kept and removed; `Dataset.select` and `Dataset.drop` turn them into data.
"""

from __future__ import annotations

from winosmith.debias._aflite import aflite
from winosmith.debias._again import NOISE, Again, again, shaken
from winosmith.debias._alike import alike
from winosmith.debias._assess import Assessment, Subset, assess
from winosmith.debias._assess_clues import Clue
from winosmith.debias._assess_kl import Along
from winosmith.debias._assess_report import assessment_blocks, leads_table, passages
from winosmith.debias._assess_settings import AssessmentSettings
from winosmith.debias._assess_words import Associations, Leads, Mark, MarkedProblem, associations
from winosmith.debias._chance import threshold_null
from winosmith.debias._consensus import checkpoint_of, consensus
from winosmith.debias._consensus_result import ConsensusResult
from winosmith.debias._dynamics import Dynamics, read_dynamics
from winosmith.debias._fair_words import rarefied
from winosmith.debias._fairness import Fairness, KeptSet, fairness
from winosmith.debias._figure import Figure
from winosmith.debias._labels import problem_labels
from winosmith.debias._mirror import Aim, MirrorResult, mirror
from winosmith.debias._null import Null, null_of, twin_flipped
from winosmith.debias._partition import training_rows
from winosmith.debias._people import human_agreement
from winosmith.debias._pmi import PmiResult, PmiVariant, pmi, word_pmi
from winosmith.debias._probe import Probe, probe
from winosmith.debias._ranking import Correlation, Ranking, ranking
from winosmith.debias._result import AfliteResult, Phase, Stopped
from winosmith.debias._selection import HISTOGRAM_EDGES
from winosmith.debias._sizes import suggested_sizes
from winosmith.debias._subsample import subsample
from winosmith.debias._units import TwinUnits, twin_units
from winosmith.debias._verify import LINEAR, TWO_PIECE, Guess, Verification, verify

__all__ = [
    "HISTOGRAM_EDGES",
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
    "ConsensusResult",
    "Correlation",
    "Dynamics",
    "Fairness",
    "Figure",
    "Guess",
    "KeptSet",
    "Leads",
    "Mark",
    "MarkedProblem",
    "MirrorResult",
    "Null",
    "Phase",
    "PmiResult",
    "PmiVariant",
    "Probe",
    "Ranking",
    "Stopped",
    "Subset",
    "TwinUnits",
    "Verification",
    "aflite",
    "again",
    "alike",
    "assess",
    "assessment_blocks",
    "associations",
    "checkpoint_of",
    "consensus",
    "fairness",
    "human_agreement",
    "leads_table",
    "mirror",
    "null_of",
    "passages",
    "pmi",
    "probe",
    "problem_labels",
    "ranking",
    "rarefied",
    "read_dynamics",
    "shaken",
    "subsample",
    "suggested_sizes",
    "threshold_null",
    "training_rows",
    "twin_flipped",
    "twin_units",
    "verify",
    "word_pmi",
]
