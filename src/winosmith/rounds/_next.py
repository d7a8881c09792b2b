"""What the next round begins with: roots to perturb, and what fooled models already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from winosmith.dataset import Dataset
from winosmith.evolve import draw_roots
from winosmith.problem import Problem

__all__ = ["NextRound", "next_round"]


@dataclass(frozen=True)
class NextRound:
    """Problems of this round's dev that people should go on with, as they stand in the pool.

    What is made of them names them as root and parent, so it can be put beside them there.

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
    dev: Dataset,
    wrong: Mapping[str, frozenset[str]],
    wanted: int,
    seed: int,
    pool: Mapping[str, Problem],
) -> NextRound:
    """Draw what the next round begins with.

    Args:
        dev: this round's; test stays out, since what is perturbed becomes known.
        wrong: by solver, the ids of the problems that it gets wrong.
        wanted: how many roots, at most: where fewer are fit, those.
        seed: of the draw.
        pool: each problem of dev as it stands in the pool, by its id in dev.
    """
    missed = frozenset().union(*wrong.values())
    drawn = draw_roots([dev], [wanted], [missed], seed, fewer=True)
    fooled = {
        problem.id: tuple(name for name, ids in wrong.items() if problem.id in ids)
        for problem in dev
        if problem.lineage is not None and problem.id in missed and not problem.embargo
    }
    order = sorted(fooled, key=lambda id_: (-len(fooled[id_]), dev.row(id_)))
    return NextRound(
        Dataset((pool[id_] for id_ in drawn.sources[dev.name]), "roots"),
        wanted,
        Dataset((pool[id_] for id_ in order), "fooling"),
        {pool[id_].id: fooled[id_] for id_ in order},
    )
