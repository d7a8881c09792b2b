"""The colours of the drawings by their role; no two roles are told apart by colour alone.

The two options' colours are the blue and the vermilion of Okabe & Ito (2008), which people with
any of the common colour deficiencies tell apart.
"""

from __future__ import annotations

__all__ = ["COLOURS", "GONE", "INK", "KEPT", "MUTED", "NULL", "ONE", "PAGE", "RULE", "TWO"]

PAGE = "#ffffff"
INK = "#1b2733"
MUTED = "#55626f"
RULE = "#d5dce3"
ONE = "#0072b2"
TWO = "#d05a00"
KEPT = "#007a5e"
GONE = "#a04b86"
NULL = "#8592a0"

COLOURS = {
    "page": PAGE,
    "ink": INK,
    "muted": MUTED,
    "rule": RULE,
    "one": ONE,
    "two": TWO,
    "kept": KEPT,
    "gone": GONE,
    "null": NULL,
}
"""Role → colour on a light page; the page's style sheet has a variable of each name."""
