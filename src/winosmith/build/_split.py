"""Split a data set into train, dev and test.

All problems of a block are in one split, including problems that the filter removed. If the block
is in dev or test, the removed problems can't be used for training, because the removed half of a
twin reveals the answer of the other half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.splits import (
    KEY_FIELDS,
    AssignedBlock,
    Disjoint,
    PreviousProblem,
    SplitName,
    assign_splits,
)

SIZES = (("xs", 160), ("s", 640), ("m", 2560), ("l", 10240))
"""Sizes of 160·4^k problems, as in WinoGrande's table 4: 160, 640, 2,558, 10,234, and all (xl)."""


@dataclass(frozen=True)
class Split:
    """Rows of the data set by split, in the order of publication.

    Attributes:
        debiased: the rows for training that the filter kept.
        dev, test: the rows of dev and test, which the filter kept.
        train: the whole twins for training, kept or removed by the filter, outside the blocks of
            dev and test.
        withheld: the rows that were not kept but share a block with a dev or test problem; they are
            never published.
        sides: the split of each row's block.
        old: the rows of blocks with a previous split.
        joined_blocks: the blocks with several previous splits.
    """

    debiased: tuple[int, ...]
    dev: tuple[int, ...]
    test: tuple[int, ...]
    train: tuple[int, ...]
    withheld: tuple[int, ...]
    sides: Mapping[int, SplitName]
    old: frozenset[int] = frozenset()
    joined_blocks: tuple[AssignedBlock, ...] = ()

    @property
    def published(self) -> dict[str, tuple[int, ...]]:
        """The rows of each published split; `train_xl` contains the smaller nested sets."""
        return {
            "train_xl": self.train,
            "train_debiased": self.debiased,
            "dev": self.dev,
            "test": self.test,
        }


def split(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    *,
    pool: Iterable[int],
    kept: Iterable[int],
    dev: float,
    test: float,
    disjoint: Disjoint = "twin",
    previous: Sequence[PreviousProblem] | None = None,
) -> Split:
    """Split the kept rows into train, dev and test, and select whole twins for training.

    With `previous`, a block keeps its split, even if the filter keeps none of its problems, and
    `dataset` must have the original ids. A block with several previous splits is assigned to the
    first of train, dev and test among them. New blocks are assigned to the split that is furthest
    below its target size.

    `order` contains the shuffled blocks. `dev` and `test` are fractions of the kept rows, 0–1.
    Groups of `disjoint` are not split either. A group that would exceed the size of dev or test by
    more than a tenth is assigned to training.
    """
    pooled, is_kept = set(pool), set(kept)
    sizes: dict[SplitName, int] = {
        "dev": round(dev * len(is_kept)),
        "test": round(test * len(is_kept)),
    }
    found = assign_splits(
        dataset,
        order,
        sizes,
        keys=() if disjoint == "twin" else (KEY_FIELDS[disjoint],),
        previous=previous or (),
        counted=is_kept,
    )
    parts: dict[SplitName, list[int]] = {"train": [], "dev": [], "test": []}
    withheld: list[int] = []
    for of in found:
        if of.split == "train":
            parts["train"] += of.rows
        else:
            parts[of.split] += [row for row in of.rows if row in is_kept]
            withheld += [row for row in of.rows if row not in is_kept]
    empty = next((part for part in sizes if sizes[part] and not parts[part]), None)
    if empty is not None:
        if previous:
            raise DataError(
                f"no problems are left for {empty}: there are too few new problems, and earlier "
                "problems keep their splits; collect more, or draw all splits again (a build "
                "without `last=`, or a round with redraw = true in its recipe)"
            )
        if disjoint == "twin":
            raise DataError(
                f"no problems are left for {empty}: there are too few twins and families; collect "
                "more, or reduce split.dev or split.test"
            )
        raise DataError(
            f"every {disjoint} has more problems than the {sizes[empty]:,} for {empty}; collect "
            f"from more {disjoint}s, or set split.disjoint to twin"
        )
    place = {row: at for at, row in enumerate(parts["train"]) if row in pooled}
    twins = (
        sorted(twin, key=place.__getitem__) for twin in dataset.twins if place.keys() >= {*twin}
    )
    return Split(
        debiased=tuple(row for row in parts["train"] if row in is_kept),
        dev=tuple(parts["dev"]),
        test=tuple(parts["test"]),
        train=tuple(row for twin in sorted(twins, key=lambda t: place[t[0]]) for row in twin),
        withheld=tuple(withheld),
        sides={row: of.split for of in found for row in of.rows},
        old=frozenset(row for of in found if of.previous for row in of.rows),
        joined_blocks=tuple(of for of in found if len(of.previous) > 1),
    )


def make_nested_sets(train: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return nested training sets of whole twins, keyed by the names of their sizes.

    Each set is the beginning of the next, and xl has all rows. Sizes that are not smaller than the
    whole set are omitted.

    >>> {name: len(rows) for name, rows in make_nested_sets(range(1000)).items()}
    {'xs': 160, 's': 640, 'xl': 1000}
    """
    sizes = {name: tuple(train[:size]) for name, size in SIZES if size < len(train)}
    return {**sizes, "xl": tuple(train)}
