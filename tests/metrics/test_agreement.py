"""Agreement of choices: Brennan and Prediger's kappa, with a clustered interval."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.metrics.answering import choosing
from winosmith import Prediction
from winosmith.errors import DataError
from winosmith.metrics import grade, measure_agreement
from winosmith.testing import make_twins

DATA = make_twins(50)


@pytest.mark.parametrize("noise", [0.1, 0.5, 0.9])
def test_kappa_matches_scikit_learn_over_both_option_orders(noise: float) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 100)
    b = np.where(rng.random(100) < noise, rng.integers(0, 2, 100), a)
    found = measure_agreement(choosing(DATA, a), choosing(DATA, b))
    both = [np.concatenate([side, 1 - side]) for side in (a, b)]
    assert found.kappa == pytest.approx(cohen_kappa_score(*both))
    assert found.kappa_interval[0] <= found.kappa <= found.kappa_interval[1]
    assert found.share == (a == b).mean()


def test_equal_incorrect_choices_are_counted() -> None:
    a, b = np.arange(100) % 2, np.zeros(100, int)
    found = measure_agreement(choosing(DATA, a), choosing(DATA, b))
    wrong = (1 - choosing(DATA, a).credit) * (1 - choosing(DATA, b).credit)
    assert found.same_wrong == wrong.sum()


def test_constant_choices_agree_fully() -> None:
    """The interval still has a width: 100 problems are only a sample."""
    found = measure_agreement(
        choosing(DATA, np.zeros(100, int)), choosing(DATA, np.zeros(100, int))
    )
    assert (found.kappa, found.equal) == (1.0, 100)
    assert 0.8 < found.kappa_interval[0] < 0.95
    assert found.kappa_interval[1] == 1.0


def test_ties_agree_at_chance_level() -> None:
    """A tie chooses each option half of the time: kappa is 0, even with itself."""
    tied = grade(DATA, [Prediction(p.id, 0, tied=(0, 1)) for p in DATA])
    for other in (tied, choosing(DATA, np.zeros(100, int))):
        found = measure_agreement(tied, other)
        assert (found.equal, found.kappa, found.same_wrong) == (50, 0.0, 25)


def test_agreement_needs_the_same_problems() -> None:
    other = make_twins(20, seed=3)
    with pytest.raises(DataError, match="same problems"):
        measure_agreement(choosing(DATA, np.zeros(100, int)), choosing(other, np.zeros(40, int)))
