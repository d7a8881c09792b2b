"""What the next round begins with: roots to perturb, and what fooled models already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from winosmith.dataset import Dataset
from winosmith.evolve import draw_roots

__all__ = ["NextRound", "next_round"]


@dataclass(frozen=True)
class NextRound:
    """Problems of this round's dev that people should go on with.

    Attributes:
        roots: what every solver gets right, drawn at random, one of a block at most, as EvoGrad
            draws its roots (section 3.1).
        asked: how many roots were asked for.
        fooling: what was perturbed, found valid, and a solver gets wrong; what fools the most
            solvers first.
        fooled: by id of those, the names of the solvers.
    """

    roots: Dataset
    asked: int
    fooling: Dataset
    fooled: Mapping[str, tuple[str, ...]]


def next_round(
    dev: Dataset, wrong: Mapping[str, frozenset[str]], wanted: int, seed: int
) -> NextRound:
    """Draw what the next round begins with.

    Args:
        dev: this round's; test stays out, since what is perturbed becomes known.
        wrong: by solver, the ids of the problems that it gets wrong.
        wanted: how many roots, at most: where fewer are fit, those.
        seed: of the draw.
    """
    missed = frozenset().union(*wrong.values())
    drawn = draw_roots([dev], [wanted], [missed], seed, fewer=True)
    fooled = {
        problem.id: tuple(name for name, ids in wrong.items() if problem.id in ids)
        for problem in dev
        if problem.lineage is not None and problem.id in missed and not problem.embargo
    }
    order = sorted(fooled, key=lambda id_: (-len(fooled[id_]), dev.row(id_)))
    fooling = Dataset((dev[dev.row(id_)] for id_ in order), "fooling")
    return NextRound(drawn.dataset, wanted, fooling, {id_: fooled[id_] for id_ in order})
