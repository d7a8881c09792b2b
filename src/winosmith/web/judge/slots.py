"""Judging, for the rest of the site: open a problem to judges, take one, answer it.

>>> # slot = claim(person); answer_local(person, slot.ref, 1)
>>> # answer(person, slot.ref, 1, associative=True)
"""

from __future__ import annotations

from winosmith.web.judge.answering import Gone, answer, answer_local, skip, undo
from winosmith.web.judge.rows import close_slots, open_slots
from winosmith.web.judge.taking import claim, current, needs_local

__all__ = [
    "Gone",
    "answer",
    "answer_local",
    "claim",
    "close_slots",
    "current",
    "needs_local",
    "open_slots",
    "skip",
    "undo",
]
