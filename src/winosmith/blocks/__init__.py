"""Which problems belong together, and a shuffled order that tells nothing of their answers.

Twins, families and copies of one sentence form *blocks*. A split, and a draw of problems to be set
aside, takes or leaves whole blocks, so that nothing on one side tells what is on the other. A later
split leaves each block on the side that it was on. *Copies* are the problems of a block that are
identical: one observation, written down more than once.
"""

from __future__ import annotations

from winosmith.blocks._blocks import blocks, draw, joined, shuffled, shuffled_blocks
from winosmith.blocks._copies import contradictions, copies, plain
from winosmith.blocks._former import SIDES, Former, Side, former_sides, side_kept

__all__ = [
    "SIDES",
    "Former",
    "Side",
    "blocks",
    "contradictions",
    "copies",
    "draw",
    "former_sides",
    "joined",
    "plain",
    "shuffled",
    "shuffled_blocks",
    "side_kept",
]
