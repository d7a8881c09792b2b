"""Perturb problems into families, and record each problem's lineage.

>>> from winosmith import evolve
>>> evolve.WordNetPerturber(count=3).count
3
"""

from __future__ import annotations

from winosmith.evolve._chat import REPLY_TOKENS, ChatPerturber
from winosmith.evolve._chat_dialogue import Dialogue, DialogueRules, Ending, Turn
from winosmith.evolve._evolve import (
    PARTS,
    Evolution,
    Perturber,
    Roots,
    Sets,
    assemble,
    describe_part,
    draw_roots,
    evolve,
    find_unsolved_ids,
    merge_children,
    resume_children,
    split_roots,
)
from winosmith.evolve._wordnet import WordNetPerturber

__all__ = [
    "PARTS",
    "REPLY_TOKENS",
    "ChatPerturber",
    "Dialogue",
    "DialogueRules",
    "Ending",
    "Evolution",
    "Perturber",
    "Roots",
    "Sets",
    "Turn",
    "WordNetPerturber",
    "assemble",
    "describe_part",
    "draw_roots",
    "evolve",
    "find_unsolved_ids",
    "merge_children",
    "resume_children",
    "split_roots",
]
