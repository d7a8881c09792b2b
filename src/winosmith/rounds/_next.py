"""What the next round begins with: roots to perturb, and what fooled models already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.evolve import draw_roots, not_solved
from winosmith.problem import Problem

__all__ = ["NextRound", "next_round"]


@dataclass(frozen=True)
class NextRound:
    """Problems of this round's dev that people should go on with, as they stand in the pool.

    What is made of them names them as root and parent, so it can be put beside them there.

    Attributes:
        roots: what every solver gets right that can decide; drawn at random, one of a block
            at most, as EvoGrad draws its roots (section 3.1).
        asked: how many roots were asked for.
        fooling: what was perturbed, found valid, and a solver gets wrong; what fools the most
            solvers first. A tie is not fooled, whichever options it is between.
        fooled: by id of those, the names of the solvers.
    """

    roots: Dataset
    asked: int
    fooling: Dataset
    fooled: Mapping[str, tuple[str, ...]]


def next_round(
    dev: Dataset,
    predictions: Mapping[str, Sequence[Prediction]],
    wanted: int,
    seed: int,
    pool: Mapping[str, Problem],
) -> NextRound:
    """Draw what the next round begins with.

    Args:
        dev: this round's; test stays out, since what is perturbed becomes known.
        predictions: of each solver, in the order of dev.
        wanted: how many roots, at most: where fewer are fit, those.
        seed: of the draw.
        pool: each problem of dev as it stands in the pool, by its id in dev.
    """
    unsolved = not_solved(dev, list(predictions.values()))
    drawn = draw_roots([dev], [wanted], [unsolved], seed, fewer=True)
    wrong = {name: _wrong(dev, own) for name, own in predictions.items()}
    fooled = {
        problem.id: tuple(name for name, ids in wrong.items() if problem.id in ids)
        for problem in dev
        if problem.lineage is not None and not problem.embargo
    }
    fooled = {id_: names for id_, names in fooled.items() if names}
    order = sorted(fooled, key=lambda id_: (-len(fooled[id_]), dev.row(id_)))
    return NextRound(
        Dataset((pool[id_] for id_ in drawn.sources[dev.name]), "roots"),
        wanted,
        Dataset((pool[id_] for id_ in order), "fooling"),
        {pool[id_].id: fooled[id_] for id_ in order},
    )


def _wrong(dev: Dataset, predictions: Sequence[Prediction]) -> set[str]:
    pairs = zip(dev, predictions, strict=True)
    return {
        problem.id
        for problem, prediction in pairs
        if len(prediction.chosen) == 1 and not prediction.credit(problem.answer)
    }
