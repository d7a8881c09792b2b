"""Roots are drawn at random among what every solver gets right, one of each block."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Lineage, Problem, practice
from winosmith.errors import DataError, InputError
from winosmith.evolve import draw_roots
from winosmith.testing import made_twins

ONE = Dataset(practice.handwritten().problems[:60], "one")
TWO = Dataset(made_twins(20).problems, "two")


def _source(problem: Problem) -> str | None:
    return problem.origin and problem.origin.source


@given(
    st.tuples(st.integers(0, 7), st.integers(0, 7)),
    st.sets(st.sampled_from(ONE.ids), max_size=30),
    st.integers(0, 99),
)
def test_roots_are_right_one_of_a_twin_and_everything_is_accounted_for(
    wanted: tuple[int, int], wrong: set[str], seed: int
) -> None:
    """As many as wanted from each; none that a solver gets wrong; the others have a reason."""
    roots = draw_roots([ONE, TWO], wanted, [frozenset(wrong), frozenset()], seed)
    assert [len(ids) for ids in roots.sources.values()] == list(wanted)
    assert not wrong & set(roots.dataset.ids)
    assert all(problem.twin_id is None for problem in roots.dataset)
    for dataset, left in zip((ONE, TWO), roots.left_out, strict=True):
        assert left.input() == dataset
        drawn = roots.sources[dataset.name]
        assert left.kept.ids == drawn
        halves = Counter(dataset[dataset.row(problem_id)].twin_id for problem_id in drawn)
        assert max(halves.values(), default=1) == 1
    reasons = {left.problem.id: left.reason for left in roots.left_out[0].dropped}
    assert all(reasons[problem_id] == "not every solver gets it right" for problem_id in wrong)


def test_each_root_says_where_it_comes_from() -> None:
    """The name of its data set stays with it, so that nobody measures there unwarned."""
    roots = draw_roots([ONE, TWO], [2, 3])
    assert [_source(p) for p in roots.dataset] == ["one"] * 2 + ["two"] * 3


def test_the_seed_decides_and_the_order_does_not() -> None:
    """The same seed draws the same roots, however the file is ordered; another draws others."""
    turned = Dataset(ONE.problems[::-1], "one")
    first = draw_roots([ONE], [5], seed=4)
    assert set(first.dataset.ids) == set(draw_roots([turned], [5], seed=4).dataset.ids)
    assert set(first.dataset.ids) != set(draw_roots([ONE], [5], seed=5).dataset.ids)


def test_ids_that_clash_are_told_apart() -> None:
    """An id that two data sets hold gets the name of its own in front."""
    again = Dataset((replace(p, sentence=f"Then {p.sentence}") for p in ONE), "again")
    roots = draw_roots([ONE, again], [3, 3])
    assert len(set(roots.dataset.ids)) == 6
    for name, ids in roots.sources.items():
        own = [p.id for p in roots.dataset if _source(p) == name]
        assert own == [f"{name}:{problem_id}" for problem_id in ids]


def test_what_can_be_no_root_is_not_drawn() -> None:
    """Neither under embargo, nor without an answer, with options too many, or itself perturbed."""
    first, second, third, fourth, *_ = (p for p in TWO if p.id.endswith(TWO.ids[0][-1]))
    unfit = {
        first.id: replace(first, embargo=True),
        second.id: replace(second, answer=None),
        third.id: replace(third, options=(*third.options, "the third thing")),
        fourth.id: replace(fourth, lineage=Lineage("r", "r")),
    }
    mixed = Dataset((unfit.get(p.id, p) for p in TWO), "mixed")
    for seed in range(5):
        roots = draw_roots([mixed], [12], seed=seed, options=2)
        assert not set(unfit) & set(roots.dataset.ids)
    reasons = {d.problem.id: d.reason for d in roots.left_out[0].dropped}
    assert [reasons[problem_id] for problem_id in unfit] == [
        "it is under embargo",
        "its answer is withheld",
        "it has 3 options",
        "it is perturbed itself",
    ]


def test_a_root_may_have_more_options() -> None:
    """With no number of options told, problems with three are drawn like others."""
    three = Dataset((replace(p, options=(*p.options, "the third thing")) for p in TWO), "three")
    assert len(draw_roots([three], [12]).dataset) == 12
    with pytest.raises(DataError, match="with an answer, 2 options, no embargo"):
        draw_roots([three], [12], options=2)


def test_too_many_roots_and_equal_names_are_refused() -> None:
    """How many are fit is told, and which data set lacks them."""
    with pytest.raises(DataError, match=r"30 roots are to be drawn from 'two'; 20 of its 40"):
        draw_roots([TWO], [30])
    with pytest.raises(DataError, match="the same name"):
        draw_roots([TWO, TWO], [1, 1])
    with pytest.raises(InputError, match="2 data sets and 1 numbers"):
        draw_roots([ONE, TWO], [1])
    with pytest.raises(InputError, match="0 or more"):
        draw_roots([ONE], [-1])
