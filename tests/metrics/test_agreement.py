"""Agreement of choices is Cohen's kappa, with an interval that knows of twins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from winosmith import Dataset, Prediction
from winosmith.errors import DataError
from winosmith.metrics import Graded, agreement, grade
from winosmith.testing import made_twins

DATA = made_twins(50)


def chosen(choices: np.ndarray, data: Dataset = DATA) -> Graded:
    """Return the data graded with these choices."""
    return grade(data, [Prediction(p.id, int(c)) for p, c in zip(data, choices, strict=True)])


@pytest.mark.parametrize("noise", [0.1, 0.5, 0.9])
def test_kappa_is_scikit_learns(noise: float) -> None:
    """Kappa is what scikit-learn says, and lies in its interval."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 100)
    b = np.where(rng.random(100) < noise, rng.integers(0, 2, 100), a)
    found = agreement(chosen(a), chosen(b))
    assert found.kappa == pytest.approx(cohen_kappa_score(a, b))
    assert found.kappa_interval is not None
    assert found.kappa_interval[0] <= found.kappa <= found.kappa_interval[1]
    assert found.share == (a == b).mean()


def test_the_same_wrong_options_are_counted() -> None:
    """With two options, all problems that both got wrong have the same wrong option."""
    a, b = np.arange(100) % 2, np.zeros(100, int)
    found = agreement(chosen(a), chosen(b))
    wrong = ~chosen(a).correct & ~chosen(b).correct
    assert found.same_wrong == wrong.sum()


def test_always_the_same_option_has_no_kappa() -> None:
    """When both always choose the first option, kappa is not defined."""
    found = agreement(chosen(np.zeros(100, int)), chosen(np.zeros(100, int)))
    assert (found.kappa, found.kappa_interval, found.equal) == (None, None, 100)


def test_agreement_needs_the_same_problems() -> None:
    """Predictions for other problems are refused."""
    other = made_twins(20, seed=3)
    with pytest.raises(DataError, match="same problems"):
        agreement(chosen(np.zeros(100, int)), chosen(np.zeros(40, int), other))
