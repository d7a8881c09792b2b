"""Human tests of Winograd materials: the reliable subset, and what is published after a round.

>>> from winosmith import formats, humans
>>> humans.Rules(size=60).per_text
3
"""

from __future__ import annotations

from winosmith.humans._counts import UNTOLD, Chance, Counts, chance, counts
from winosmith.humans._crossfit import CrossFit, cross_fit
from winosmith.humans._grim import Grim, PrintedTest, grim
from winosmith.humans._item import AMBIGUOUS, LETTERS, Item
from winosmith.humans._matrix import MatrixFit, fit_matrix, matrix_of_margins, repairs
from winosmith.humans._publish import CANARY, Published, canary, publish
from winosmith.humans._rules import BALANCED, Rules
from winosmith.humans._select import Selection, select
from winosmith.humans._sheet import COMMON, Sheet
from winosmith.humans._sheet_json import read_sheet, sheet_of, sheet_record
from winosmith.humans._tally import Tally, tally, tally_of_counts
from winosmith.humans._text import text_of

__all__ = [
    "AMBIGUOUS",
    "BALANCED",
    "CANARY",
    "COMMON",
    "LETTERS",
    "UNTOLD",
    "Chance",
    "Counts",
    "CrossFit",
    "Grim",
    "Item",
    "MatrixFit",
    "PrintedTest",
    "Published",
    "Rules",
    "Selection",
    "Sheet",
    "Tally",
    "canary",
    "chance",
    "counts",
    "cross_fit",
    "fit_matrix",
    "grim",
    "matrix_of_margins",
    "publish",
    "read_sheet",
    "repairs",
    "select",
    "sheet_of",
    "sheet_record",
    "tally",
    "tally_of_counts",
    "text_of",
]
