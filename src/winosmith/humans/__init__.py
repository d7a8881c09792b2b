"""Human tests of Winograd materials: the reliable subset, and what is published after a round.

>>> from winosmith import formats, humans
>>> humans.Rules(size=60).per_text
3
"""

from __future__ import annotations

from winosmith.humans._crossfit import CrossFit, cross_fit
from winosmith.humans._publish import CANARY, Published, canary, publish
from winosmith.humans._rules import BALANCED, Rules
from winosmith.humans._select import Selection, select
from winosmith.humans._tally import Tally, tally, tally_of_counts
from winosmith.humans._text import text_of

__all__ = [
    "BALANCED",
    "CANARY",
    "CrossFit",
    "Published",
    "Rules",
    "Selection",
    "Tally",
    "canary",
    "cross_fit",
    "publish",
    "select",
    "tally",
    "tally_of_counts",
    "text_of",
]
