"""The agreement of people who had no part in the choice is told without bias."""

from __future__ import annotations

import numpy as np
import pytest

from winosmith import Dataset, Problem, Response
from winosmith.errors import DataError, InputError
from winosmith.humans import Rules, cross_fit, select, tally


def simulated(
    seed: int, items: int = 100, people: int = 16
) -> tuple[Dataset, list[Response], np.ndarray]:
    """Return problems, answers, and how likely a new person is to give the intended one."""
    rng = np.random.default_rng(seed)
    data = Dataset(
        Problem(f"{at}", f"Cup {at} hit the jug and _ broke.", ("cup", "jug"), 0)
        for at in range(items)
    )
    likely = rng.beta(9, 1.5, items)
    right = rng.random((people, items)) < likely
    said = [
        Response(str(at), f"s{who}", "test", 0 if right[who, at] else 1)
        for who in range(people)
        for at in range(items)
    ]
    return data, said, likely


@pytest.mark.long
def test_cross_fitting_removes_the_bias() -> None:
    """Over 25 simulated tests the naive figure is 4 points too high, this one is not."""
    rules = Rules(size=35, floor=0.5)
    naive, fitted = [], []
    for seed in range(25):
        data, said, likely = simulated(seed)
        found = select(data, tally(data, said), rules)
        truth = likely[list(found.rows)].mean()
        naive.append(found.naive - truth)
        fitted.append(cross_fit(data, said, rules, folds=16).agreement.value - truth)
    assert np.mean(naive) > 0.03
    assert abs(np.mean(fitted)) < 0.01


def test_two_tests_are_spread_over_the_folds() -> None:
    """Takers of each test are in every fold, so that each problem keeps people to choose by."""
    data, said, _ = simulated(1, items=20, people=12)
    halves = [r for r in said if (int(r.participant[1:]) < 6) == (int(r.problem_id) < 10)]
    fit = cross_fit(data, halves, Rules(floor=0.5, subjects=4), folds=6)
    assert fit.folds == 6
    assert min(fit.sizes) >= 15
    assert 0 < fit.kept <= 1
    assert fit.record()["folds"] == 6


def test_the_agreement_is_the_share_of_intended_answers() -> None:
    """Where each problem is chosen whoever is held out, every answer counts once."""
    data, said, _ = simulated(5, items=20, people=12)
    fit = cross_fit(data, said, Rules(floor=0.0, subjects=1), folds=4)
    assert fit.sizes == (20, 20, 20, 20)
    assert fit.agreement.n == len(said)
    assert fit.agreement.right == sum(response.choice == 0 for response in said)


def test_the_same_seed_gives_the_same_estimate() -> None:
    """The order of the responses does not matter, and the seed decides the folds."""
    data, said, _ = simulated(2, items=30, people=8)
    rules = Rules(size=10, floor=0.5)
    once = cross_fit(data, said, rules, folds=4, seed=3)
    assert cross_fit(data, said[::-1], rules, folds=4, seed=3) == once


def test_progress_is_told() -> None:
    """Each fold is told with how many there are; there are no more folds than people."""
    data, said, _ = simulated(2, items=10, people=4)
    told: list[tuple[int, int]] = []
    cross_fit(data, said, folds=9, on_fold=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_too_few_people_and_folds_are_refused() -> None:
    """With three people nobody can be spared, and one fold leaves nobody to choose."""
    data, said, _ = simulated(2, items=5, people=3)
    with pytest.raises(DataError, match=r"3 people answered; .* takes 4 or more"):
        cross_fit(data, said)
    data, said, _ = simulated(2, items=5, people=5)
    with pytest.raises(InputError, match="2 or more are needed"):
        cross_fit(data, said, folds=1)


def test_a_set_that_a_fold_can_not_fill_takes_what_there_is() -> None:
    """When fewer people let through fewer problems than asked for, the fold's set is smaller."""
    data, said, _ = simulated(4, items=20, people=6)
    counts = tally(data, said)
    size = int((counts.shares() >= 0.83).sum())
    fit = cross_fit(data, said, Rules(size=size, floor=0.83), folds=6)
    assert max(fit.sizes) <= size
    assert fit.agreement.n > 0
