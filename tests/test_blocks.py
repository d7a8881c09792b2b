"""Blocks, and the shuffled order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Lineage, Problem
from winosmith.blocks import blocks, draw, shuffled_blocks
from winosmith.errors import DataError
from winosmith.testing import made_twins


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


def test_one_pair_that_looks_alike_joins_two_families():
    """Families with the same options form one block as soon as any two members look alike."""
    near = "The _ fell off the old table in the hall."
    far = "Nobody ever saw how quickly my _ broke."
    family = {"a": "One _ here.", "b": near, "c": "Two _ there.", "d": f"{near} Again.", "e": far}
    roots = {"a": "a", "b": "a", "c": "c", "d": "c", "e": "e"}
    data = Dataset(
        Problem(key, text, ("cup", "jug"), 0, lineage=Lineage(roots[key], roots[key]))
        for key, text in family.items()
    )
    assert [sorted(block) for block in blocks(data)] == [[0, 1, 2, 3], [4]]


def test_a_large_family_is_not_compared_with_itself():
    """The block of 20,000 problems of one family is found, without their 200,000,000 pairs."""
    family = Dataset(
        Problem(str(number), f"The _ fell off table {number}.", ("cup", "jug"), 0, lineage=lineage)
        for number, lineage in enumerate([None, *[Lineage("0", "0")] * 19_999])
    )
    assert [len(block) for block in blocks(family)] == [20_000]


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
