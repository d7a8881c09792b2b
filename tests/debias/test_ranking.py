"""The order of models on kept sets, and what chance does to it."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from tests.conftest import examples
from winosmith import debias
from winosmith.debias._ranking import reversed_pairs, spearman, tau_b
from winosmith.errors import DataError, InputError

N = 600


def _models(seed=0):
    """Return five models that are ever better, and one that knows the first half by heart."""
    rng = np.random.default_rng(seed)
    right = {f"m{n}": rng.random(N) < 0.5 + 0.09 * n for n in range(5)}
    half = np.arange(N) < N // 2
    right["half"] = np.where(half, True, rng.random(N) < 0.5)
    return right, half


def _ranked(kept, right, draws=60, **more):
    clusters = np.arange(N) // 2
    groups = tuple((2 * n, 2 * n + 1) for n in range(N // 2))
    subsets = {name: list(debias.alike(groups, mask, draws, 0)) for name, mask in kept.items()}
    return debias.ranking(right, kept, clusters, subsets, draws=200, **more)


@examples(40)
@given(
    rows=st.integers(2, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
    )
)
def test_the_correlations_are_those_of_scipy(rows):
    """Tau-b and rho of any two rows, with ties, are scipy's; NaN where all are equal."""
    a, b = (np.array([row], float) for row in rows)
    if len(set(rows[0])) == 1 or len(set(rows[1])) == 1:
        assert np.isnan(tau_b(a, b)).all()
        return
    assert tau_b(a, b)[0] == pytest.approx(kendalltau(*rows).statistic)
    assert spearman(a, b)[0] == pytest.approx(spearmanr(*rows).statistic)


def test_pairs_in_opposite_orders_are_counted():
    """A tie in either order is no reversal."""
    assert reversed_pairs(np.array([1.0, 2, 3]), np.array([3.0, 2, 2])) == 2


def test_a_set_that_favours_a_model_reverses_pairs():
    """The half that one model knows by heart puts it first; tau is below what chance does."""
    right, half = _models()
    found = _ranked({"half": half, "rest": ~half}, right)
    by = {(c.first, c.second): c for c in found.correlations}
    assert list(by) == [("all", "half"), ("all", "rest"), ("half", "rest")]
    assert by["half", "rest"].reversed >= 4
    assert {c.pairs for c in found.correlations} == {comb(len(right), 2)}
    assert by["all", "rest"].p < 0.05
    assert by["half", "rest"].tau < by["all", "rest"].tau
    assert by["half", "rest"].null is None
    for c in found.correlations:
        low, high = c.interval
        assert -1 <= low <= high <= 1
    assert found.accuracies["half"]["half"].value == 1
    tied = _ranked({"half": half}, {**right, "tied": np.where(half, 0.5, 1.0)}).accuracies
    assert [tied[name]["tied"].ties for name in ("all", "half")] == [N // 2, N // 2]
    assert tied["half"]["m0"].ties == 0


def test_blind_choice_is_within_chance():
    """A random subset shuffles the models as much as other random subsets do."""
    right, _ = _models()
    kept = np.zeros(N, bool)
    kept[np.random.default_rng(7).permutation(N // 2)[:100][:, None] * 2 + [0, 1]] = True
    [c] = _ranked({"blind": kept}, right).correlations
    assert c.null[1] <= c.tau <= c.null[2]
    assert c.p > 0.05
    for found, (low, high) in ((c.tau, c.interval), (c.rho, c.rho_interval)):
        assert 0 < low <= found <= high


def test_equal_models_have_no_order():
    """Where all models are equally good nothing correlates, and nothing is made up."""
    right = dict.fromkeys("ab", np.arange(N) % 2 == 0)
    [c] = _ranked({"k": np.arange(N) < 60}, right).correlations
    assert (c.tau, c.interval, c.rho, c.null, c.p) == (None, None, None, None, None)


def test_one_model_and_an_empty_set_are_refused():
    """An order takes two models, and problems to have it on."""
    right, half = _models()
    with pytest.raises(InputError, match="two models or more"):
        _ranked({"half": half}, {"m0": right["m0"]})
    with pytest.raises(DataError, match="none holds no problem"):
        _ranked({"none": np.zeros(N, bool)}, right)
