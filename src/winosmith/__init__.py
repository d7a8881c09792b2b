"""Build Winograd schemas: write, validate, filter, measure and release them.

This package exports the data types. The functions are in subpackages (`winosmith.formats`,
`winosmith.debias`, …), which must be imported by name.
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
