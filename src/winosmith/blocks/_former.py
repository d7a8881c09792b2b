"""The sides that blocks were on before, so that a later split leaves them there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from winosmith.blocks._blocks import ALIKE, blocks, joined
from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem
from winosmith.text import pieces

__all__ = ["SIDES", "Former", "Side", "former_sides", "side_kept"]

Side = Literal["train", "dev", "test"]

SIDES: tuple[Side, ...] = ("train", "dev", "test")
"""The first of them wins where a block was on several: what was trained on measures nothing any
more, and an answer that was published is no secret again."""

Key = Literal["author", "source"]


@dataclass(frozen=True, slots=True)
class Former:
    """A problem of an earlier split.

    Attributes:
        problem: with the id that it had in its pool; answers do not matter.
        side: where it was; None for one that was on no side, and only ties others together.
    """

    problem: Problem
    side: Side | None


def former_sides(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    former: Sequence[Former],
    keys: Iterable[Key] = (),
) -> list[frozenset[Side]]:
    """Return for each block the sides that it was on, or what belongs to it: none for a new one.

    What belongs together is what `blocks` puts together, across the times: copies, families by the
    ids of the pool, and what looks like a twin. An id counts for nothing when another problem has
    it now.

    Args:
        dataset: the problems to be split.
        order: their blocks, joined by `keys`.
        former: what was split before.
        keys: what holds blocks together beside themselves: all of one author, all of one source.

    >>> old = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> new = Problem("b", "A _ rose.", ("sun", "moon"), 1)
    >>> sides = former_sides(Dataset([old, new]), [[0], [1]], [Former(old, "dev")])
    >>> [sorted(of) for of in sides]
    [['dev'], []]
    """
    keys = tuple(keys)
    both = Dataset(
        replace(p, id=f"{at}", lineage=Lineage(root, root), twin_id=twin)
        for at, (p, root, twin) in enumerate((*_now(dataset), *_then(dataset, former)))
    )
    named = [[*_held(problem, keys)] for problem in both]
    found: list[frozenset[Side]] = [frozenset()] * len(dataset)
    for tree in joined(blocks(both), named):
        past = [former[at - len(dataset)].side for at in tree if at >= len(dataset)]
        sides = frozenset(side for side in past if side is not None)
        for row in tree:
            if row < len(dataset):
                found[row] = sides
    return [frozenset[Side]().union(*(found[row] for row in block)) for block in order]


def side_kept(sides: Iterable[Side]) -> Side | None:
    """Return the side on which a block stays; None for a new one.

    >>> side_kept(["test", "dev"]), side_kept([])
    ('dev', None)
    """
    return min(sides, key=SIDES.index, default=None)


_Named = tuple[Problem, str, str | None]
"""A problem, its root, and its twin, named so that those of one time are not those of another."""


def _now(dataset: Dataset) -> Iterable[_Named]:
    return ((p, p.root, p.twin_id and f"now {p.twin_id}") for p in dataset)


def _then(dataset: Dataset, former: Sequence[Former]) -> Iterable[_Named]:
    now = {problem.id: problem for problem in dataset}
    reused = {
        old.problem.id
        for old in former
        if old.problem.id in now and not _one_problem(old.problem, now[old.problem.id])
    }
    for old in former:
        p = old.problem
        root = f"then {p.root}" if p.root in reused else p.root
        yield p, root, p.twin_id and f"then {p.twin_id}"


def _one_problem(old: Problem, new: Problem) -> bool:
    """Tell whether a problem can have become another: it has its options, or most of its words."""
    if {option.lower() for option in old.options} == {option.lower() for option in new.options}:
        return True
    a, b = (Counter(pieces(problem.sentence.lower())) for problem in (old, new))
    return (a & b).total() >= ALIKE * max(a.total(), b.total())


def _held(problem: Problem, keys: Sequence[Key]) -> Iterable[Hashable]:
    values = ((key, problem.origin and getattr(problem.origin, key)) for key in keys)
    return ((key, value) for key, value in values if value is not None)
