"""Token sequences that share their beginnings, laid out so that each beginning is read once.

Sorted, sequences with a common beginning stand side by side; each then adds to the tree only what
it does not share with the one before it. A tree is fed to a model as one row of tokens in which a
token attends to its ancestors alone and has its own depth as position, so that the model computes
for it exactly what it would in its sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Ids", "Tree", "common_length", "planted"]

Ids = Sequence[int]
"""The token ids of one text."""


@dataclass
class Tree:
    """Sequences as one row of tokens.

    Attributes:
        tokens: the token of each node, parents before children.
        depths: the position of each node in its sequences, 0 for the first.
        parents: the node before each node; -1 for none.
        asked: the distinct pairs (node, token that follows it), in order.
        places: for each sequence, where its pairs stand in `asked`.
    """

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    asked: dict[tuple[int, int], int] = field(default_factory=dict)
    places: list[list[int]] = field(default_factory=list)

    def grow(self, ids: Ids, start: int, path: list[int], shared: int) -> list[int]:
        """Add a sequence that shares its first tokens with a path of nodes; return its own path.

        Its tokens from `start` on are asked for; its last token is asked for but never read.
        """
        path = path[:shared]
        for depth in range(shared, len(ids) - 1):
            self.parents.append(path[-1] if path else -1)
            path.append(len(self.tokens))
            self.tokens.append(ids[depth])
            self.depths.append(depth)
        pairs = [(path[at - 1], ids[at]) for at in range(start, len(ids))]
        self.places.append([self.asked.setdefault(pair, len(self.asked)) for pair in pairs])
        return path

    def visible(self) -> npt.NDArray[np.bool_]:
        """Return which nodes each node may attend to, (nodes, nodes): itself and its ancestors."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def common_length(one: Ids, other: Ids) -> int:
    """Return how many tokens two sequences share at their start.

    >>> common_length([5, 6, 7], [5, 6, 8, 9])
    2
    """
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def planted(
    sequences: Sequence[Ids], starts: Sequence[int], first: int, budget: int
) -> tuple[Tree, int]:
    """Plant the sequences from number `first` on in one tree, as many as the budget holds.

    Args:
        sequences: sorted.
        starts: the first token of each that is asked for, 1 or more.
        first: where to begin.
        budget: the nodes that the tree may have; one sequence is always taken.

    Returns:
        The tree, and how many sequences it holds.

    >>> tree, count = planted([[1, 2, 3, 4], [1, 2, 5, 6]], [3, 3], 0, 100)
    >>> tree.tokens, tree.parents, count  # 4 and 6 are asked for, not read
    ([1, 2, 3, 5], [-1, 0, 1, 1], 2)
    """
    tree, path, before = Tree(), [], []  # type: Tree, list[int], Ids
    for at in range(first, len(sequences)):
        ids = sequences[at]
        shared = min(common_length(before, ids), len(path), max(0, len(ids) - 1))
        if at > first and len(tree.tokens) + len(ids) - 1 - shared > budget:
            return tree, at - first
        path = tree.grow(ids, starts[at], path, shared)
        before = ids
    return tree, len(sequences) - first
