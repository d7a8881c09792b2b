"""Smith Winograd schemas: write, validate, filter, measure, release.

The vocabulary is here; everything else is in the folders named after what they do
(`winosmith.formats`, `winosmith.debias`, …), which are loaded when they are first used.
"""

from __future__ import annotations

from winosmith._version import __version__
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.prediction import Prediction
from winosmith.problem import Claim, Edit, Extra, Lineage, Origin, Problem
from winosmith.response import Response

__all__ = [
    "Claim",
    "Dataset",
    "Dropped",
    "Edit",
    "Extra",
    "Filtered",
    "Lineage",
    "Origin",
    "Prediction",
    "Problem",
    "Response",
    "__version__",
]
