"""The loop that can be watched: what each way of filtering releases, where everything is known."""

from __future__ import annotations

from functools import cache

import pytest

from winosmith.errors import DataError, InputError
from winosmith.rounds import ARMS, SOLVERS, SimulatedRound, simulate

TWINS = 120


@cache
def _simulated(seed: int, strength: float) -> tuple[SimulatedRound, ...]:
    return simulate(seed, rounds=3, twins=TWINS, strength=strength)


def _of(arm: str, *, strength: float = 0.5) -> list[SimulatedRound]:
    return [found for found in _simulated(1, strength) if found.arm == arm]


def test_every_round_has_one_release_for_each_way_of_filtering():
    """Rounds come in order, and the ways of one stand beside each other."""
    assert [(f.number, f.arm) for f in _simulated(1, 0.5)] == [
        (number, arm) for number in (1, 2, 3) for arm in ARMS
    ]


def test_the_same_seed_gives_the_same_rounds_and_another_one_others():
    """A simulation can be run again."""
    again = simulate(1, rounds=3, twins=TWINS, strength=0.5)
    assert again == _simulated(1, 0.5)
    assert simulate(2, rounds=3, twins=TWINS, strength=0.5) != again


def test_no_filter_releases_everything_and_random_as_much_as_aflite():
    """The ways are compared at equal sizes, and the first problems stay in the pool."""
    for aflite, drawn, none in zip(*(_of(arm) for arm in ARMS), strict=True):
        assert none.released == none.pool == aflite.pool == drawn.pool
        assert aflite.released == drawn.released < none.released
        assert none.recall.count == none.false_removals.count == 0
    pools = [found.pool for found in _of("none")]
    assert pools == sorted(pools)
    assert pools[0] < pools[-1] <= 3 * 2 * TWINS


def test_fresh_problems_are_those_of_the_newest_round():
    """Without a filter the fresh problems of all rounds are the pool of the last."""
    rounds = _of("none")
    assert sum(found.fresh for found in rounds) == rounds[-1].pool


def test_solvers_have_learnt_from_the_second_round_on():
    """In the first round nobody has seen anything; then every solver has an accuracy."""
    for found in _simulated(1, 0.5):
        assert set(found.accuracy) == (set(SOLVERS) if found.number > 1 else set())
        assert all(0 <= share <= 1 for share in found.accuracy.values())


def test_a_crowd_without_artifacts_has_nothing_to_recall():
    """The share of planted problems that were found is of none then."""
    found = _of("aflite", strength=0.0)
    assert all(f.recall.value is None and f.false_removals.total for f in found)


def test_what_is_planted_inflates_the_unfiltered_release():
    """With a habit in every twin, a linear model does far better than chance unless they go."""
    rounds = simulate(3, rounds=2, twins=400, strength=1.0)
    of = {found.arm: found.accuracy for found in rounds if found.number == 2}
    assert of["none"]["linear"] > 0.7
    assert of["aflite"]["linear"] < of["none"]["linear"] - 0.1


def test_wrong_answers_mostly_fall_to_the_judges():
    """Of twins that are sent in the wrong way round, few are released, and people disagree."""
    clean, noisy = (
        simulate(4, rounds=1, twins=300, strength=0.0, mislabelled=share, arms=["none"])[0]
        for share in (0.0, 0.5)
    )
    assert clean.mislabelled == 0
    assert 0 < noisy.mislabelled < 0.1
    assert noisy.pool < 0.7 * clean.pool
    assert clean.human is not None
    assert noisy.human is not None
    assert clean.human > noisy.human > 0.85


def test_one_way_alone_gives_what_it_gives_beside_the_others():
    """Leaving ways out changes nothing of the rest."""
    alone = simulate(1, rounds=3, twins=TWINS, strength=0.5, arms=["none"])
    assert list(alone) == _of("none")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"rounds": 0}, "rounds and twins are 1 or more"),
        ({"twins": 0}, "rounds and twins are 1 or more"),
        ({"mislabelled": 1.5}, "share from 0 to 1"),
        ({"arms": ["adflite"]}, "there is no way 'adflite'"),
    ],
)
def test_numbers_out_of_range_are_told(wrong, told):
    """Each names what it must be."""
    with pytest.raises(InputError, match=told):
        simulate(**{"twins": 10, **wrong})


def test_a_strength_out_of_range_is_told():
    """The practice corpus says so."""
    with pytest.raises(DataError, match="strength"):
        simulate(twins=10, strength=2.0)
