"""The mirror filter's stated error, in a short version of the trial, which detects faults."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the trials importable."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "trials"))


def false_shares(case, strength, draws):
    """Return the false share of each draw, at the errors 0.1 and 0.2."""
    import mirror_guarantee

    drawn = [mirror_guarantee.measure_outcome(seed, case, strength) for seed in range(draws)]
    return np.array(drawn)[:, :, 0].T


@pytest.mark.long
def test_false_share_is_within_the_stated_error():
    from mirror_guarantee import CASES, ERRORS, is_within_error

    by_name = {case.units: case for case in CASES if not case.fault}
    for units in ("simulated", "five copies", "2 or 5 options"):
        for error, shares in zip(ERRORS, false_shares(by_name[units], 0.25, 12), strict=True):
            assert is_within_error(shares, error), (units, error)


@pytest.mark.long
def test_deliberate_faults_exceed_the_stated_error():
    """Missing blocks, copies counted as rows, and wrong divisors, at an error of 0.2."""
    from mirror_guarantee import CASES, ERRORS, is_within_error

    for case in CASES:
        if case.fault:
            shares = false_shares(case, case.strengths[0], 8)[1]
            assert not is_within_error(shares, ERRORS[1]), (case.units, case.fault)


def test_most_removed_symmetric_twins_are_planted():
    import mirror_guarantee

    drawn = mirror_guarantee.make_symmetric(3, 0.5)
    removed = mirror_guarantee.filter_with_blocks(drawn, 0.2, 3)
    assert drawn.planted[removed].mean() > 0.75
    assert len(removed) > 0.25 * len(drawn.planted)


def test_corpus_draws_flip_only_sound_twins():
    import mirror_guarantee

    one, other = (mirror_guarantee.make_symmetric(seed, 0.5) for seed in (0, 1))
    turned = (one.V != other.V).any(axis=1)
    assert (one.planted == other.planted).all()
    assert (np.abs(one.V) == np.abs(other.V)).all()
    assert not turned[one.planted].any()
    assert 0.3 < turned[~one.planted].mean() < 0.7


def test_draws_of_one_corpus_count_once_in_the_interval():
    from mirror_guarantee import compute_interval

    shares = np.array([0.1, 0.2, 0.6])
    assert compute_interval(np.repeat(shares, 10), 10) == pytest.approx(compute_interval(shares))


def test_interval_is_wide_for_zeros_and_for_few_values():
    """None of 100 allows a rate of 3.7 %; for five means, Student's t replaces the normal."""
    from mirror_guarantee import compute_interval

    assert compute_interval(np.zeros(100)) == pytest.approx((0.0, 0.037), abs=5e-4)
    low, high = compute_interval(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert (low, high) == pytest.approx((0.1037, 0.4963), abs=1e-3)  # 0.3 ± 2.776 · 0.1581 / √5
