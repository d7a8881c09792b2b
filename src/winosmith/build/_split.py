"""Which problems go to train, dev and test, and the nested training sizes.

A block never straddles a split. What a filter removed follows its block: beside a dev or test
problem it may not be trained on, because the removed half of a twin tells the answer of the half
that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from winosmith.blocks import joined
from winosmith.dataset import Dataset
from winosmith.errors import DataError

__all__ = ["SIZES", "Disjoint", "Split", "nested_sizes", "split"]

Disjoint = Literal["twin", "contributor", "source"]
"""What stays on one side of a split beside twins, families and copies: all that one contributor
wrote, all of one source, or nothing more."""

SLACK = 0.1
"""The share by which dev or test may exceed what is wanted, for the sake of whole contributors."""

SIZES = (("xs", 160), ("s", 640), ("m", 2560), ("l", 10240))
"""160·4^k problems; WinoGrande's table 4 has 160, 640, 2,558 and 10,234, and then all (xl)."""


@dataclass(frozen=True)
class Split:
    """Rows of the data set, in the order in which they are published.

    Attributes:
        debiased: kept by the filter, for training.
        dev, test: kept by the filter.
        train: whole twins for training: kept or removed by the filter, neither half in dev or test.
        withheld: what shares a block with a dev or test problem but was not kept; never published.
    """

    debiased: tuple[int, ...]
    dev: tuple[int, ...]
    test: tuple[int, ...]
    train: tuple[int, ...]
    withheld: tuple[int, ...]


def split(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    *,
    pool: Iterable[int],
    kept: Iterable[int],
    dev: float,
    test: float,
    disjoint: Disjoint = "twin",
) -> Split:
    """Share the kept rows between train, dev and test, and say what may be trained on.

    Args:
        dataset: everything that was collected.
        order: its shuffled blocks.
        pool: the rows that went into the filter.
        kept: those that the filter kept.
        dev: the share of the kept rows for dev, 0–1; reached in whole blocks, so give or take one.
        test: the same for test.
        disjoint: what no two of train, dev and test share beside blocks. Whoever is too large
            for dev and test, by more than a tenth of what is wanted, goes to training.

    Raises:
        DataError: dev or test is wanted, and no contributor or source is small enough for it.
    """
    pooled, is_kept = set(pool), set(kept)
    wanted = {"dev": round(dev * len(is_kept)), "test": round(test * len(is_kept))}
    parts: dict[str, list[int]] = {"dev": [], "test": []}
    withheld: list[int] = []
    training: list[int] = []
    for block in _together(dataset, order, disjoint):
        mine = [row for row in block if row in is_kept]
        part = next(
            (p for p in wanted if mine and _fits(mine, parts[p], wanted[p], disjoint)), None
        )
        if part is None:
            training += block
        else:
            parts[part] += mine
            withheld += [row for row in block if row not in is_kept]
    if empty := [part for part in wanted if wanted[part] and not parts[part]]:
        raise DataError(
            f"every {disjoint} has more problems than the {wanted[empty[0]]:,} that {empty[0]} is "
            f"to have; collect from more of them, or leave split.disjoint at twin"
        )
    place = {row: at for at, row in enumerate(training) if row in pooled}
    twins = (
        sorted(twin, key=place.__getitem__) for twin in dataset.twins if place.keys() >= {*twin}
    )
    return Split(
        debiased=tuple(row for row in training if row in is_kept),
        dev=tuple(parts["dev"]),
        test=tuple(parts["test"]),
        train=tuple(row for twin in sorted(twins, key=lambda t: place[t[0]]) for row in twin),
        withheld=tuple(withheld),
    )


def _together(
    dataset: Dataset, order: Sequence[Sequence[int]], disjoint: Disjoint
) -> Sequence[Sequence[int]]:
    if disjoint == "twin":
        return order
    name = "author" if disjoint == "contributor" else "source"
    held = (problem.origin and getattr(problem.origin, name) for problem in dataset)
    return joined(order, [[] if key is None else [key] for key in held])


def _fits(mine: Sequence[int], held: Sequence[int], wanted: int, disjoint: Disjoint) -> bool:
    """Tell whether a part still wants a block; those of contributors are large, and may not fit."""
    if disjoint == "twin":
        return len(held) < wanted
    return len(held) < wanted and len(held) + len(mine) <= wanted * (1 + SLACK)


def nested_sizes(train: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the nested training sets, each the beginning of the next, in whole twins; xl is all.

    Sizes that the training set does not exceed are left out.

    >>> {name: len(rows) for name, rows in nested_sizes(range(1000)).items()}
    {'xs': 160, 's': 640, 'xl': 1000}
    """
    sizes = {name: tuple(train[:size]) for name, size in SIZES if size < len(train)}
    return {**sizes, "xl": tuple(train)}
