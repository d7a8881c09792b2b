"""Perturbation: from problems, families of problems that differ a little, with their lineage.

>>> from winosmith import evolve
>>> evolve.WordNetPerturber(count=3).count
3
"""

from __future__ import annotations

from winosmith.evolve._chat import REPLY_TOKENS, ChatPerturber
from winosmith.evolve._chat_dialogue import Dialogue, Ending
from winosmith.evolve._chat_round import Round
from winosmith.evolve._perturber import Perturber
from winosmith.evolve._wordnet import WordNetPerturber

__all__ = [
    "REPLY_TOKENS",
    "ChatPerturber",
    "Dialogue",
    "Ending",
    "Perturber",
    "Round",
    "WordNetPerturber",
]
