"""Splits and sizes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from winosmith.blocks import shuffled_blocks
from winosmith.build._split import nested_sizes, split
from winosmith.testing import made_twins


@st.composite
def filtered(draw_from):
    """Draw a data set with what a check and a filter left of it."""
    data = made_twins(
        draw_from(st.integers(1, 40)),
        singles=draw_from(st.integers(0, 10)),
        seed=draw_from(st.integers(0, 99)),
    )
    rows = range(len(data))
    pool = [row for row in rows if draw_from(st.integers(0, 9))]
    kept = [row for row in pool if draw_from(st.booleans())]
    return data, pool, kept


@given(filtered(), st.integers(0, 5))
def test_no_twin_straddles_a_split(drawn, seed):
    """What is published for training shares no twin with dev or test, whatever was filtered."""
    data, pool, kept = drawn
    result = split(data, shuffled_blocks(data, seed), pool=pool, kept=kept, dev=0.2, test=0.2)
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
    """Debiased train, dev and test together are the kept problems."""
    data, pool, kept = drawn
    result = split(data, shuffled_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.3)
    assert sorted((*result.debiased, *result.dev, *result.test)) == sorted(kept)
    assert {*result.train} <= {*pool}


@given(filtered())
def test_training_sets_are_whole_twins(drawn):
    """Training rows come in pairs that are twins, side by side."""
    data, pool, kept = drawn
    train = split(data, shuffled_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.1).train
    assert all(
        data[one].twin_id == data[other].twin_id
        for one, other in zip(train[::2], train[1::2], strict=True)
    )


def test_sizes_are_nested_and_grow_fourfold():
    """Each size is the beginning of the next, 160·4^k problems, and xl is everything."""
    train = list(reversed(range(40_398)))
    sizes = nested_sizes(train)
    assert {name: len(rows) for name, rows in sizes.items()} == {
        "xs": 160,
        "s": 640,
        "m": 2560,
        "l": 10240,
        "xl": 40398,
    }
    assert all(sizes["xl"][: len(rows)] == rows for rows in sizes.values())
