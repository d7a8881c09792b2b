"""Blocks, splits and sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Lineage, Problem
from winosmith.errors import DataError
from winosmith.release._split import blocks, draw, nested_sizes, shuffled_blocks, split
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


@given(st.integers(0, 50), st.randoms(use_true_random=False))
def test_order_depends_on_no_answer_id_or_input_order(seed, rng):
    """Shuffling the input, changing its ids and flipping its answers leaves the order as it is."""
    data = made_twins(12, singles=3)
    disguised = [
        replace(
            problem,
            id=f"{index}{rng.random()}",
            twin_id=f"x{problem.twin_id}",
            answer=1 - problem.answer,
        )
        for index, problem in enumerate(data)
    ]
    rng.shuffle(disguised)
    other = Dataset(disguised)
    published = [data[row].sentence for block in shuffled_blocks(data, seed) for row in block]
    assert published == [
        other[row].sentence for block in shuffled_blocks(other, seed) for row in block
    ]


def test_halves_come_in_an_order_that_is_no_guide_to_the_answer():
    """The first half of a twin is right at option 1 about half of the time, even if sorted so."""
    data = made_twins(400)
    answers_first = Dataset(sorted(data, key=lambda p: (p.twin_id, p.answer)))
    firsts = [answers_first[block[0]].answer for block in shuffled_blocks(answers_first, 0)]
    assert 160 < sum(firsts) < 240


def test_families_and_copies_share_a_block():
    """A perturbed problem stays with its root, and a copy with its original."""
    root = Problem("r", "The _ fell off the table.", ("cup", "jug"), 0)
    child = Problem("c", "A _ was dropped by Ann.", ("vase", "pot"), 0, lineage=Lineage("r", "r"))
    copy = Problem("k", "the _ Fell off the table.", ("pen", "ink"), 1)
    assert [sorted(b) for b in blocks(Dataset([root, child, copy]))] == [[0, 1, 2]]


def test_twins_whose_ids_got_lost_share_a_block():
    """Two problems with the same options and most words in common are taken for a twin."""
    data = Dataset(replace(problem, twin_id=None) for problem in made_twins(20))
    assert sorted(map(sorted, blocks(data))) == [[2 * i, 2 * i + 1] for i in range(20)]


def test_drawing_takes_whole_blocks_and_leaves_some():
    """Drawn sets are disjoint, large enough, and hold both halves of each twin."""
    data = made_twins(50)
    order = shuffled_blocks(data, 0)
    one, two = draw(order, range(100), [15, 10])
    assert (len(one), len(two)) == (16, 10)
    assert set(one).isdisjoint(two)
    assert all(row ^ 1 in {*one} for row in one)


def test_drawing_everything_is_refused():
    """A draw that leaves nothing to filter says so."""
    data = made_twins(5)
    with pytest.raises(DataError, match="nothing would be left"):
        draw(shuffled_blocks(data, 0), range(10), [6, 4])


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
