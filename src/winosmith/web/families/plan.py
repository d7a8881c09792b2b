"""Which versions of a tree are on a page: some fifty, however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

from winosmith.web.families.tree import Tree

__all__ = ["MOST_ADDED", "Shown", "around", "under"]

MOST = 50
"""Versions under the one that is looked at; more make a page that nobody reads."""

MOST_ADDED = 30
"""Versions that are added to an open page at once."""

MOST_CHILDREN = 30
"""Versions under one parent that are shown at once."""

LEVELS = 5
"""Generations that are shown at once; deeper ones are opened."""

MOST_ABOVE = 4
"""Of a long way from the root, the last so many steps are shown."""


@dataclass(slots=True)
class Shown:
    """A version on a page.

    Attributes:
        number: of the version in its tree.
        children: what is shown under it.
        folded: how many versions are under it, where none of them is shown; else 0.
        after: how many children come before the first that is not shown.
        left: how many children come after the last that is shown.
        others: how many children are not shown because this is only on the way to another.
        skipped: how many versions between this one and the one shown above it are not shown.
    """

    number: int
    children: list[Shown] = field(default_factory=list)
    folded: int = 0
    after: int = 0
    left: int = 0
    others: int = 0
    skipped: int = 0


def around(tree: Tree, number: int, after: int = 0) -> Shown:
    """Return the root with the way to a version, and what is under that one.

    Args:
        tree: the family.
        number: of the version that is looked at.
        after: how many of its children were shown already.
    """
    top = under(tree, number, after)
    way = tree.above(number)
    skipped = max(0, len(way) - 1 - MOST_ABOVE)
    if skipped:
        way = [way[0], *way[1 + skipped :]]
        top_of_rest = way[1]
    for at in reversed(way):
        top = Shown(at, [top], others=len(tree.children[at]) - 1)
        if skipped and at == top_of_rest:
            top.skipped = skipped
    return top


def under(tree: Tree, number: int, after: int = 0, most: int = MOST) -> Shown:
    """Return a version with what is under it, generation by generation, until the page is full.

    Args:
        tree: the family.
        number: of the version.
        after: how many of its children were shown already.
        most: how many versions make a full page.
    """
    top = Shown(number)
    waiting = [(top, after, 0)]
    for shown, start, level in waiting:
        below = tree.children[shown.number]
        here = below[start : start + MOST_CHILDREN]
        if shown is not top and (len(here) > most or level >= LEVELS):
            shown.folded = int(tree.sizes[shown.number])
            continue
        most -= len(here)
        shown.children = [Shown(child) for child in here]
        shown.after = start + len(here)
        shown.left = max(0, len(below) - shown.after)
        waiting += [(child, 0, level + 1) for child in shown.children]
    return top
