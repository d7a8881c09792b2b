"""Human tests of Winograd materials: the reliable subset, and what is published after a round.

>>> from winosmith import formats, humans
>>> humans.Rules(size=60).per_text
3
"""

from __future__ import annotations

from winosmith.humans._crossfit import CrossFit, cross_fit
from winosmith.humans._item import AMBIGUOUS, LETTERS, Item
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
    "CrossFit",
    "Item",
    "Published",
    "Rules",
    "Selection",
    "Sheet",
    "Tally",
    "canary",
    "cross_fit",
    "publish",
    "read_sheet",
    "select",
    "sheet_of",
    "sheet_record",
    "tally",
    "tally_of_counts",
    "text_of",
]
