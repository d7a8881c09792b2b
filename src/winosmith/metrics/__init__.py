"""Figures about data sets, about people's answers, and about those of solvers.

>>> from winosmith import Dataset, Problem, metrics
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> metrics.statistics(data).singles
1
"""

from __future__ import annotations

from winosmith.metrics._calibration import (
    Calibration,
    Margins,
    ReliabilityBin,
    calibration,
    margins,
)
from winosmith.metrics._compare import (
    AgainstRoot,
    Agreement,
    Comparison,
    Forgetting,
    Pair,
    against_root,
    agreement,
    compare,
    compare_pair,
    forgetting,
)
from winosmith.metrics._curve import (
    FORMS,
    LEADERBOARD_SIZES,
    CurvePoint,
    Extrapolation,
    Form,
    LearningCurve,
    area_under_curve,
    learning_curve,
)
from winosmith.metrics._error_depth import DepthKind, DepthNull, ErrorDepth, Family, error_depth
from winosmith.metrics._gender import Gap, GenderGap, Reading, gender_gap
from winosmith.metrics._graded import Graded, clusters, grade
from winosmith.metrics._groups import Carried, carried, columns
from winosmith.metrics._intervals import (
    Proportion,
    bootstrap_interval,
    counted,
    crossed_proportion,
    proportion,
    wilson_interval,
)
from winosmith.metrics._kinds import EditKind, EditKinds, edit_kinds
from winosmith.metrics._leaks import Leak, leaks
from winosmith.metrics._overlap import Overlap, overlap, told_overlap
from winosmith.metrics._people import (
    Annotator,
    Annotators,
    HumanAccuracy,
    PersonAccuracy,
    annotators,
    human_accuracy,
    person_accuracy,
)
from winosmith.metrics._pmi import (
    PMI_SMOOTHING,
    first_mentioned,
    first_of_twins,
    pair_counts,
    pmi_of_counts,
    pmi_with_answers,
    word_counts,
)
from winosmith.metrics._possible import possible_counts, possible_sums
from winosmith.metrics._reliability import (
    Reliability,
    answer_table,
    fleiss_kappa,
    krippendorff_alpha,
)
from winosmith.metrics._score import (
    Score,
    comparisons_score,
    guessing_level,
    guessing_p_value,
    score,
    twin_score,
)
from winosmith.metrics._stability import (
    FEWEST,
    Stability,
    Survival,
    SurvivalComparison,
    compare_survival,
    stability,
    stability_drawings,
)
from winosmith.metrics._statistics import (
    ClaimStatistics,
    Copies,
    DepthSummary,
    LineageStatistics,
    Statistics,
    claim_statistics,
    copies,
    lineage_statistics,
    statistics,
)
from winosmith.metrics._switched import (
    Consistency,
    consistency,
    marked,
    switched,
    switched_sentences,
)
from winosmith.metrics._table5 import Table5

__all__ = [
    "FEWEST",
    "FORMS",
    "LEADERBOARD_SIZES",
    "PMI_SMOOTHING",
    "AgainstRoot",
    "Agreement",
    "Annotator",
    "Annotators",
    "Calibration",
    "Carried",
    "ClaimStatistics",
    "Comparison",
    "Consistency",
    "Copies",
    "CurvePoint",
    "DepthKind",
    "DepthNull",
    "DepthSummary",
    "EditKind",
    "EditKinds",
    "ErrorDepth",
    "Extrapolation",
    "Family",
    "Forgetting",
    "Form",
    "Gap",
    "GenderGap",
    "Graded",
    "HumanAccuracy",
    "Leak",
    "LearningCurve",
    "LineageStatistics",
    "Margins",
    "Overlap",
    "Pair",
    "PersonAccuracy",
    "Proportion",
    "Reading",
    "Reliability",
    "ReliabilityBin",
    "Score",
    "Stability",
    "Statistics",
    "Survival",
    "SurvivalComparison",
    "Table5",
    "against_root",
    "agreement",
    "annotators",
    "answer_table",
    "area_under_curve",
    "bootstrap_interval",
    "calibration",
    "carried",
    "claim_statistics",
    "clusters",
    "columns",
    "compare",
    "compare_pair",
    "compare_survival",
    "comparisons_score",
    "consistency",
    "copies",
    "counted",
    "crossed_proportion",
    "edit_kinds",
    "error_depth",
    "first_mentioned",
    "first_of_twins",
    "fleiss_kappa",
    "forgetting",
    "gender_gap",
    "grade",
    "guessing_level",
    "guessing_p_value",
    "human_accuracy",
    "krippendorff_alpha",
    "leaks",
    "learning_curve",
    "lineage_statistics",
    "margins",
    "marked",
    "overlap",
    "pair_counts",
    "person_accuracy",
    "pmi_of_counts",
    "pmi_with_answers",
    "possible_counts",
    "possible_sums",
    "proportion",
    "score",
    "stability",
    "stability_drawings",
    "statistics",
    "switched",
    "switched_sentences",
    "told_overlap",
    "twin_score",
    "wilson_interval",
    "word_counts",
]
