"""Agreement of choices is Brennan and Prediger's kappa, with an interval that knows of twins."""

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
def test_kappa_is_scikit_learns_when_places_mean_nothing(noise: float) -> None:
    """Averaged over both ways to write the options, the choices have scikit-learn's kappa."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 100)
    b = np.where(rng.random(100) < noise, rng.integers(0, 2, 100), a)
    found = measure_agreement(choosing(DATA, a), choosing(DATA, b))
    both = [np.concatenate([side, 1 - side]) for side in (a, b)]
    assert found.kappa == pytest.approx(cohen_kappa_score(*both))
    assert found.kappa_interval[0] <= found.kappa <= found.kappa_interval[1]
    assert found.share == (a == b).mean()


def test_the_same_wrong_options_are_counted() -> None:
    """With two options, all problems that both got wrong have the same wrong option."""
    a, b = np.arange(100) % 2, np.zeros(100, int)
    found = measure_agreement(choosing(DATA, a), choosing(DATA, b))
    wrong = (1 - choosing(DATA, a).credit) * (1 - choosing(DATA, b).credit)
    assert found.same_wrong == wrong.sum()


def test_always_the_same_option_is_full_agreement() -> None:
    """When both always choose the first option, they choose the same everywhere; so far as seen."""
    found = measure_agreement(
        choosing(DATA, np.zeros(100, int)), choosing(DATA, np.zeros(100, int))
    )
    assert (found.kappa, found.equal) == (1.0, 100)
    assert 0.8 < found.kappa_interval[0] < 0.95
    assert found.kappa_interval[1] == 1.0


def test_who_can_not_decide_agrees_by_chance() -> None:
    """A tie chooses each of its options half of the time: kappa 0 with anybody, itself included."""
    tied = grade(DATA, [Prediction(p.id, 0, tied=(0, 1)) for p in DATA])
    for other in (tied, choosing(DATA, np.zeros(100, int))):
        found = measure_agreement(tied, other)
        assert (found.equal, found.kappa, found.same_wrong) == (50, 0.0, 25)


def test_agreement_needs_the_same_problems() -> None:
    """Predictions for other problems are refused."""
    other = make_twins(20, seed=3)
    with pytest.raises(DataError, match="same problems"):
        measure_agreement(choosing(DATA, np.zeros(100, int)), choosing(other, np.zeros(40, int)))
