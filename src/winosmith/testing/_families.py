"""Families of perturbed problems with the depths that a test wants."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem

__all__ = ["made_families"]


def made_families(*depths: Sequence[int], roots: bool = True) -> Dataset:
    """Return a family for each row of depths, all of them children of its root.

    Children declare their depths, and as many words of their sentence differ from the root's.

    Args:
        depths: of the perturbed problems of each family.
        roots: False leaves the roots out.

    >>> data = made_families([1, 3], [2])
    >>> data.ids
    ('r0', 'r0-0', 'r0-1', 'r1', 'r1-0')
    >>> from winosmith.lineage import depths
    >>> depths(data)[2]
    Depths(declared=3, lineage=3, edit=3)
    """
    found = []
    for number, row in enumerate(depths):
        root, options = f"r{number}", (f"cup{number}", f"jug{number}")
        words = [f"of{number}"] * max(row, default=0)
        if roots:
            found.append(Problem(root, " ".join(["_", *words]), options, 0))
        for at, depth in enumerate(row):
            changed = [f"w{number}x{at}x{place}" for place in range(depth)]
            sentence = " ".join(["_", *changed, *words[depth:]])
            lineage = Lineage(root, root, declared=int(depth))
            found.append(Problem(f"{root}-{at}", sentence, options, at % 2, lineage=lineage))
    return Dataset(found)
