"""Splits are filled with whole blocks, and exceed their sizes only within limits."""

from dataclasses import replace

import pytest

from winosmith import Dataset, Origin
from winosmith.splits import SplitName, assign_splits
from winosmith.testing import make_twins


def test_large_families_are_for_training():
    """If there are no others, a split takes the smallest."""
    sizes = (60, 50, *[1] * 90)
    rows = iter(range(sum(sizes)))
    order = [[next(rows) for _ in range(size)] for size in sizes]
    data = make_twins(0, singles=sum(sizes))
    wanted: dict[SplitName, int] = {"dev": 20, "test": 20}
    found = assign_splits(data, order, wanted)
    assert [of.split for of in found[:2]] == ["train", "train"]
    assert [sum(len(of.rows) for of in found if of.split == side) for side in wanted] == [20, 20]
    alone = assign_splits(data, order[:2], {"dev": 20})
    assert [of.split for of in alone] == ["train", "dev"]


@pytest.mark.parametrize(
    ("sizes", "wanted", "keys", "sides"),
    [
        ((8, 7, 4), {"dev": 10}, (), "dev dev train"),  # 50 % too large
        ((8, 8, 1), {"dev": 10}, (), "dev train dev"),
        ((2, 7), {"dev": 1}, (), "dev train"),  # two always fit
        ((3, 1, 2), {"dev": 1}, (), "train dev train"),  # three do not
        ((1, 5, 6), {"dev": 1, "test": 1}, (), "dev test train"),  # taken from training alone
        ((9, 3, 2), {"dev": 10}, ("author",), "dev train dev"),  # a tenth too large
    ],
)
def test_split_exceeds_its_size_only_within_limits(sizes, wanted, keys, sides):
    """The limit is a half for blocks, and a tenth with `keys`. The rest is for training."""
    rows = iter(range(sum(sizes)))
    order = [[next(rows) for _ in range(size)] for size in sizes]
    data = list(make_twins(0, singles=sum(sizes)))
    for group in order:
        for row in group:
            data[row] = replace(data[row], origin=Origin(author=f"a{group[0]}", domain=f"d{row}"))
    found = assign_splits(Dataset(data), order, wanted, keys=keys)
    assert [part.split for part in found] == sides.split()


def test_problems_of_one_author_are_in_one_split():
    """With `keys`, only blocks without an author are placed separately."""
    data = list(make_twins(0, singles=4))
    names = {0: "Zo\u00eb", 2: "Zoe\u0308"}  # the names look the same
    data[0], data[2] = (replace(data[row], origin=Origin(author=names[row])) for row in names)
    order = [[row] for row in range(4)]
    found = assign_splits(Dataset(data), order, {"dev": 2}, keys=("author",))
    assert [(of.rows, of.split) for of in found] == [
        ((0, 2), "dev"), ((1,), "train"), ((3,), "train"),
    ]  # fmt: skip


def test_block_without_counted_rows_is_for_training():
    """The size of a split is its number of counted rows."""
    data = make_twins(0, singles=5)
    found = assign_splits(data, [[0], [1, 2], [3], [4]], {"dev": 2}, counted={2, 3, 4})
    assert [part.split for part in found] == ["train", "dev", "dev", "train"]
