"""Splits and sizes of training sets."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Origin
from winosmith.blocks import shuffle_blocks
from winosmith.build._split import make_nested_sets, split
from winosmith.errors import DataError
from winosmith.testing import make_twins


@st.composite
def filtered(draw_from):
    """Draw a data set, the rows of its pool and the rows that a filter kept."""
    data = make_twins(
        draw_from(st.integers(1, 40)),
        singles=draw_from(st.integers(0, 10)),
        seed=draw_from(st.integers(0, 99)),
    )
    rows = range(len(data))
    pool = [row for row in rows if draw_from(st.integers(0, 9))]
    kept = [row for row in pool if draw_from(st.booleans())]
    return data, pool, kept


@given(filtered(), st.integers(0, 5))
def test_no_twin_is_in_two_splits(drawn, seed):
    """Also if half of it was filtered out."""
    data, pool, kept = drawn
    result = split(data, shuffle_blocks(data, seed), pool=pool, kept=kept, dev=0.2, test=0.2)
    twin = [problem.twin_id for problem in data]
    held_out = {twin[row] for row in (*result.dev, *result.test)}
    assert {twin[row] for row in result.dev}.isdisjoint(twin[row] for row in result.test)
    assert held_out.isdisjoint(twin[row] for row in (*result.debiased, *result.train))
    assert {row for row in range(len(data)) if twin[row] in held_out} == {
        *result.dev,
        *result.test,
        *result.withheld,
    }


@given(filtered())
def test_every_kept_problem_is_published_once(drawn):
    data, pool, kept = drawn
    result = split(data, shuffle_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.3)
    assert sorted((*result.debiased, *result.dev, *result.test)) == sorted(kept)
    assert {*result.train} <= {*pool}


@given(filtered())
def test_training_rows_are_adjacent_twins(drawn):
    data, pool, kept = drawn
    train = split(data, shuffle_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.1).train
    assert all(
        data[one].twin_id == data[other].twin_id
        for one, other in zip(train[::2], train[1::2], strict=True)
    )


def test_sizes_are_nested_and_grow_fourfold():
    train = list(reversed(range(40_398)))
    sizes = make_nested_sets(train)
    assert {name: len(rows) for name, rows in sizes.items()} == {
        "xs": 160,
        "s": 640,
        "m": 2560,
        "l": 10240,
        "xl": 40398,
    }
    assert all(sizes["xl"][: len(rows)] == rows for rows in sizes.values())


@st.composite
def written(draw_from):
    """Draw a data set whose twins are by few contributors, some anonymous."""
    data = make_twins(draw_from(st.integers(8, 40)), seed=draw_from(st.integers(0, 9)))
    people = draw_from(st.lists(st.sampled_from([*"abcdefgh", None]), min_size=40, max_size=40))
    number = {twin: at for at, rows in enumerate(data.twins) for twin in rows}
    return Dataset(
        replace(problem, origin=Origin("crowd", author=people[number[row]]))
        for row, problem in enumerate(data)
    )


@given(written(), st.floats(0.05, 0.3))
def test_splits_share_no_contributor_if_disjoint(data, share):
    """All problems are in a split, and dev and test exceed their size by at most 10 %."""
    rows = range(len(data))
    try:
        result = split(
            data,
            shuffle_blocks(data, 0),
            pool=rows,
            kept=rows,
            dev=share,
            test=share,
            disjoint="contributor",
        )
    except DataError as error:
        assert "every contributor has more problems" in str(error)  # noqa: PT017 - one of two ends
        return
    parts = (result.debiased, result.dev, result.test)
    who = [{data[row].origin.author for row in part} - {None} for part in parts]
    assert sum(map(len, who)) == len(set.union(*who))
    assert sorted(row for part in parts for row in part) == [*rows]
    assert max(len(result.dev), len(result.test)) <= 1.1 * round(share * len(data))


def test_disjoint_sources_are_split_and_one_source_is_refused():
    data = Dataset(
        replace(problem, origin=Origin("small" if row < 8 else "large"))
        for row, problem in enumerate(make_twins(30))
    )
    asked = {"pool": range(60), "kept": range(60), "dev": 0.15, "test": 0.0}
    found = split(data, shuffle_blocks(data, 0), **asked, disjoint="source")
    assert {data[row].origin.source for row in found.dev} == {"small"}
    assert {data[row].origin.source for row in found.debiased} == {"large"}
    one = Dataset(replace(problem, origin=Origin("large")) for problem in data)
    with pytest.raises(DataError, match="every source has more problems than the 9 for dev"):
        split(one, shuffle_blocks(one, 0), **asked, disjoint="source")
