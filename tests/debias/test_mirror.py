"""The mirror filter: invariances, threshold, results against other code, and bad input."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tests.conftest import examples
from winosmith.debias import MirrorResult, mirror
from winosmith.debias._logit import Logit
from winosmith.debias._mirror import _draw_key_shifts, _draw_uniform_numbers, _find_threshold
from winosmith.errors import DataError, InputError


def make_planted_units(
    seed: int, units: int = 400, share: float = 0.4, columns: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return vectors and keys; the first column reveals the first units' keys."""
    rng = np.random.default_rng(seed)
    V, key = rng.normal(size=(units, columns)), rng.random(units) < 0.5
    V[: int(share * units), 0] += np.where(key[: int(share * units)], 3, -3)
    return V, key


def choices(
    seed: int, units: int = 300, share: float = 0.4
) -> tuple[NDArray[np.float64], list[int], NDArray[np.intp]]:
    """Return options' vectors, the unit of each, and the keys, with 2 to 5 options per unit."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, units)
    V = rng.normal(size=(sizes.sum(), 8))
    key = rng.integers(0, sizes)
    right = (np.cumsum(sizes) - sizes + key)[: int(share * units)]
    V[right, 0] += 3
    return V, np.repeat(np.arange(units), sizes).tolist(), key


def same(one: MirrorResult, other: MirrorResult) -> bool:
    """Return whether two results agree to the last bit."""
    arrays = ("kept", "removed", "margins", "removal_probability", "options")
    return one.record() == other.record() and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays
    )


AIMS: tuple[dict[str, Any], ...] = ({"error": 0.2}, {"aim": "chance"})


@pytest.mark.parametrize("how", AIMS)
@given(seed=st.integers(0, 10_000))
@examples(8)
def test_swapped_options_and_permuted_units_change_nothing(how, seed):
    V, key = make_planted_units(seed % 7, 300)
    rng = np.random.default_rng(seed)
    sign, order = np.where(rng.random(len(V)) < 0.5, -1, 1), rng.permutation(len(V))
    one = mirror(V, key=key, **how)
    turned = (sign * (2 * key - 1))[order]
    other = mirror((V * sign[:, None])[order], key=turned, **how)
    assert np.array_equal(np.sort(order[other.removed]), one.removed)
    assert other.margins.tobytes() == one.margins[order].tobytes()
    assert other.record() == one.record()


@pytest.mark.parametrize("how", AIMS)
@given(seed=st.integers(0, 10_000))
@examples(6)
def test_order_of_options_and_units_does_not_matter(how, seed):
    V, items, key = choices(seed % 5, 120)
    rng = np.random.default_rng(seed)
    sizes = np.bincount(items)
    starts = np.cumsum(sizes) - sizes
    units, rows, keys = rng.permutation(len(sizes)), [], []
    for unit in units:
        places = rng.permutation(sizes[unit])
        rows += (starts[unit] + places).tolist()
        keys.append(int(np.flatnonzero(places == key[unit])[0]))
    one = mirror(V, items=items, key=key, **how)
    other = mirror(V[rows], items=[items[row] for row in rows], key=keys, **how)
    assert np.array_equal(np.sort(units[other.removed]), one.removed)
    assert other.margins.tobytes() == one.margins[units].tobytes()
    assert other.record() == one.record()


@pytest.mark.parametrize("how", AIMS)
def test_each_unit_is_kept_or_removed(how):
    V, items, key = choices(1)
    found = mirror(V, items=items, key=key, **how)
    assert sorted([*found.kept, *found.removed]) == list(range(len(key)))
    assert found.removed.size
    assert (found.margins[found.removed] > 0).all()
    assert (np.diff(found.kept) > 0).all()
    assert (np.diff(found.removed) > 0).all()


@pytest.mark.parametrize(
    ("drawn", "units", "how"),
    [
        ((4, 120), (0, 50, 119), {}),
        ((4, 120), (0, 50, 119), {"ids": [f"u{number}" for number in range(120)]}),
        ((5, 200), (slice(40, 44),), {"blocks": [number // 4 for number in range(200)]}),
        ((13, 3000, 0.6, 70), (3, 21, 2999), {"ids": range(3000), "aim": "chance"}),
    ],
    ids=["without ids", "with ids", "whole block", "long vectors"],
)
def test_flipped_key_flips_the_units_own_margin(drawn, units, how):
    """To the last bit: no model that scores a unit was fitted on it or on its block.

    This is exact although other folds' models change. Long vectors need more steps.
    """
    V, key = make_planted_units(*drawn)
    V[:40] *= 30 if len(V) == 3000 else 1
    before = mirror(V, key=key, **how).margins
    for unit in units:
        other = key.copy()
        other[unit] = ~other[unit]
        after = mirror(V, key=other, **how).margins
        assert np.array_equal(after[unit], -before[unit])
        assert (after != before).mean() > (2 / 3 if len(V) == 3000 else 1 / 2)


@pytest.mark.parametrize(
    ("how", "workers"),
    [({"blocks": [None] * 60}, None), ({}, ThreadPoolExecutor), ({}, ProcessPoolExecutor)],
)
def test_executors_and_blocks_of_one_change_no_bit(how, workers):
    V, key = make_planted_units(5, 60)
    with workers(2) if workers else nullcontext() as executor:
        assert same(mirror(V, key=key, executor=executor, **how), mirror(V, key=key))


def test_margins_match_scikit_learns_logistic_regression():
    V, key = make_planted_units(6, 300)
    named = [f"{number:03}" for number in range(len(V))]
    found = mirror(V, key=key, ids=named, folds=5, C=0.5, seed=2)
    fold = np.random.default_rng([2, 1, 0]).permutation(300) % 5
    for number in range(5):
        held = fold == number
        model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
        values = model.fit(V[~held], key[~held]).decision_function(V[held])
        assert np.allclose(found.margins[held], np.where(key[held], values, -values), atol=2e-3)


def test_margins_of_many_options_match_a_conditional_logit():
    V, items, key = choices(3, 200)
    sizes = np.bincount(items)
    starts = np.cumsum(sizes) - sizes
    named = [f"{number:03}" for number in range(len(key))]
    found = mirror(V, items=items, key=key, ids=named, folds=4, seed=1)
    fold = np.random.default_rng([1, 1, 0]).permutation(200) % 4
    right = np.zeros((len(V), 4), np.float32)
    right[starts + key] = 1
    weights = (fold[:, None] != np.arange(4)).astype(np.float32)
    W = Logit(V.astype(np.float32), C=1.0, starts=starts).fit(weights, right)
    scores = (V @ W)[np.arange(len(V)), np.repeat(fold, sizes)]
    parts = np.split(scores, starts[1:])
    for unit, part in enumerate(parts):
        lead = np.diff(np.sort(part)[-2:])[0] * (1 if part.argmax() == key[unit] else -1)
        assert abs(found.margins[unit] - lead) < 5e-3


def test_conditional_logit_reaches_scipys_optimum():
    """Here scipy minimizes the documented loss by BFGS."""
    V, items, key = choices(2, 80)
    sizes = np.bincount(items)
    starts = np.cumsum(sizes) - sizes

    def loss(w: NDArray[np.float64]) -> float:
        z = V @ w
        return float(
            w @ w / 4
            + sum(
                np.log(np.exp(z[a : a + k]).sum()) - z[a + right]
                for a, k, right in zip(starts, sizes, key, strict=True)
            )
        )

    right = np.zeros((len(V), 1), np.float32)
    right[starts + key] = 1
    logit = Logit(V.astype(np.float32), C=2.0, starts=starts)
    weights = logit.fit(np.ones((len(key), 1), np.float32), right)[:, 0]
    assert np.allclose(weights, minimize(loss, np.zeros(8), method="BFGS").x, atol=2e-3)


def test_two_options_give_the_same_result_as_their_difference():
    V, key = make_planted_units(7, 200)
    whole = np.stack([V / 2 + 1, -V / 2 + 1], 1).reshape(-1, V.shape[1]).astype(np.float32)
    items = np.repeat(np.arange(200), 2).tolist()
    difference = whole[::2] - whole[1::2]
    assert same(mirror(whole, items=items, key=np.where(key, 0, 1)), mirror(difference, key=key))


@pytest.mark.parametrize(
    ("margins", "options", "error", "threshold", "found"),
    [
        ([5, 4, 3, -2, 1], 2, 0.2, None, 0),
        ([9, 8, 7, 6, 5], 2, 0.2, 5.0, 5),
        ([9, 8, 7, 6, 5, -4, 3], 2, 0.2, 5.0, 5),
        ([9, 8, 7, 6, 5, -4, 4, 4, 4, 4, 4], 2, 0.2, 4.0, 10),
        ([9, 8, 7, 6, 5, 0, 0], 2, 0.2, 5.0, 5),
        ([9, 8, -7, 6, 5], 4, 0.2, 5.0, 4),
        ([9, 8, 7], 3, 0.2, 7.0, 3),
    ],
)
def test_threshold_matches_hand_computed_values(margins, options, error, threshold, found):
    """The least margin at which (decoys + 1)/(K - 1), over agreeing units, is within the error."""
    sizes = np.full(len(margins), options)
    assert _find_threshold(np.array(margins, float), sizes, error) == (threshold, found)


def test_added_decoy_has_the_weight_of_the_fewest_options():
    """It weighs 1/(K_min - 1), and each disagreeing unit weighs 1/(K - 1)."""
    margins, options = np.array([9.0, 8, 7, 6, -5, 5, 5]), np.array([5, 5, 5, 3, 5, 5, 5])
    assert _find_threshold(margins, options, 0.125) == (5.0, 6)  # (1/2 + 1/4) over 6
    options[4] = 3
    assert _find_threshold(margins, options, 0.125) == (6.0, 4)  # 1/2 over 4; (1/2 + 1/2) over 6


def test_most_planted_units_are_removed_within_the_error():
    shares, found = [], []
    for seed in range(20):
        V, key = make_planted_units(seed, 600, 0.5)
        removed = mirror(V, key=key, error=0.1, seed=seed).removed
        shares.append((removed >= 300).mean())
        found.append((removed < 300).sum() / 300)
    assert np.mean(shares) < 0.12
    assert np.mean(found) > 0.9


def test_data_without_artifacts_rarely_lose_units():
    lost = 0
    for seed in range(30):
        V, key = make_planted_units(100 + seed, 300, 0.0)
        lost += mirror(V, key=key, error=0.1, seed=seed).removed.size > 0
    assert lost <= 3


def test_error_below_0_05_uses_more_permuted_runs():
    """With an error of 0.04, the real run is one of 25, so that p can be 0.04."""
    V, key = make_planted_units(2, 600, 0.5)
    found = mirror(V, key=key, error=0.04)
    assert len(found.permuted_counts) == 24
    assert found.p == 0.04
    assert (found.removed < 300).sum() > 100
    assert found.threshold is not None
    beyond = (found.margins <= -found.threshold).sum()
    assert found.false_share == (1 + beyond) / found.found
    told = found.record()
    assert told["agreeing"] == (found.margins > 0).sum() == 600 - told["disagreeing"]


def test_keys_of_a_block_shift_together():
    """Items with equal numbers of options shift equally.

    All pairs of shifts of two and of three options are equally likely.
    """
    blocks = np.repeat(np.arange(6_000), 3)
    steps = _draw_key_shifts(np.tile([2, 3, 3], 6_000), blocks, np.random.default_rng(0)).reshape(
        -1, 3
    )
    assert (steps[:, 1] == steps[:, 2]).all()
    pairs = np.bincount(3 * steps[:, 0] + steps[:, 1])
    assert pairs.shape == (6,)
    assert abs(pairs - 1_000).max() < 5 * np.sqrt(1_000)


def test_copies_in_one_block_count_once():
    rng = np.random.default_rng(1)
    V = np.repeat(rng.normal(size=(8, 30)), 50, axis=0)
    key = np.repeat(rng.random(8) < 0.5, 50)
    blocks = np.repeat(np.arange(8), 50).tolist()
    assert mirror(V, key=key).removed.size > 100
    assert mirror(V, key=key, blocks=blocks, folds=8).removed.size == 0
    V, key = make_planted_units(2, 300, 0.5)
    pairs = np.repeat(np.arange(300), 2)
    twice = mirror(V[pairs], key=key[pairs], blocks=pairs.tolist())
    assert twice.found == len({*pairs[twice.removed]}) > 50


@pytest.mark.parametrize("seed", [12, 76])
def test_p_value_decides_whether_units_are_removed(seed):
    """For five equal units with one answer, p is the fraction of runs that find as many."""
    found = mirror(np.ones((5, 1)), key=np.ones(5), error=0.2, folds=5, seed=seed)
    assert found.found == 5
    assert found.p == (1 + sum(count >= 5 for count in found.permuted_counts)) / 20 > 0.05
    assert found.removed.size == (5 if found.p <= 0.2 else 0) == {12: 5, 76: 0}[seed]


def test_thinning_count_subtracts_the_chance_agreements():
    """With three options, each wrong prediction stands for half a correct one."""
    rng = np.random.default_rng(4)
    V, key = rng.normal(size=(900, 4)), rng.integers(0, 3, 300)
    V[3 * np.arange(300) + key, 0] += 2
    found = mirror(V, items=np.arange(900) // 3, key=key, aim="chance")
    right, wrong = ((sign * found.margins > 0).sum() for sign in (1, -1))
    assert found.found == round(right - wrong / 2) > 50


def test_thinning_balances_the_signs_at_every_margin():
    V, key = make_planted_units(8, 6000, 0.4)
    found = mirror(V, key=key, aim="chance")
    kept = found.margins[found.kept]
    for low, high in ((0, 0.5), (0.5, 2), (2, 20)):
        some = kept[(np.abs(kept) > low) & (np.abs(kept) <= high)]
        assert abs((some > 0).mean() - 0.5) < 3 * 0.5 / np.sqrt(len(some))
    assert found.false_share is not None
    assert abs((found.removed >= 2400).mean() - found.false_share) < 0.05


def test_random_number_of_a_unit_depends_only_on_its_id():
    """Units without ids are drawn by the seed.

    With another seed and fewer units, a removed unit is removed again if its removal is at least as
    likely.
    """
    V, key = make_planted_units(8, 2000, 0.4)
    names = [f"twin {number}" for number in range(2000)]
    one = mirror(V, key=key, ids=names, aim="chance")
    other = mirror(V[500:], key=key[500:], ids=names[500:], aim="chance", seed=1)
    gone, again = np.zeros(2000, np.bool_), np.zeros(1500, np.bool_)
    gone[one.removed], again[other.removed] = True, True
    likelier = gone[500:] & (other.removal_probability >= one.removal_probability[500:])
    assert likelier.sum() > 50
    assert again[likelier].all()
    unnamed = [mirror(V, key=key, aim="chance", seed=seed).removed for seed in (0, 1)]
    lots = _draw_uniform_numbers(np.arange(2000), names, 0)
    assert np.histogram(lots, 4, (0, 1))[0].min() > 400
    assert len(np.setxor1d(*unnamed)) > 2 * len(
        np.setxor1d(one.removed, mirror(V, key=key, ids=names, aim="chance", seed=1).removed)
    )


def test_thinning_treats_kinds_separately():
    """A kind without artifacts loses next to nothing. Progress counts a single run."""
    V, key = make_planted_units(9, 4000, 0.5)
    kinds, runs = ["a" if number < 2000 else "b" for number in range(4000)], list[object]()
    apart = mirror(
        V, key=key, aim="chance", kinds=kinds, on_run=lambda *at: runs.append(at)
    ).removed
    assert runs == [(1, 1)]
    together = mirror(V, key=key, aim="chance").removed
    assert (apart >= 2000).sum() < 0.5 * (together >= 2000).sum()


def test_zero_or_equal_vectors_are_ties_and_kept():
    for how in AIMS:
        found = mirror(np.zeros((50, 3)), key=np.ones(50), **how)
        assert (found.ties, found.removed.size, found.p) == (50, 0, 1.0)
        told = found.record()
        assert (told["agreeing"], told["disagreeing"], told["ties"]) == (0, 0, 50)
        equal = mirror(np.ones((90, 4)), items=[row // 3 for row in range(90)], key=[0] * 30, **how)
        assert (equal.ties, equal.removed.size) == (30, 0)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_scaled_vectors_with_rescaled_c_give_equal_margins(scale):
    V, key = make_planted_units(11, 100)
    found = mirror(V * scale, key=key, C=1 / scale**2, ids=range(100))
    assert np.allclose(found.margins, mirror(V, key=key, ids=range(100)).margins, atol=1e-5)


def test_constant_columns_and_constant_keys_are_accepted():
    V, _ = make_planted_units(10, 100, 0.0)
    V[:, 3] = 0
    found = mirror(V, key=np.zeros(100))
    assert np.isfinite(found.margins).all()
    always = mirror(np.ones((100, 2)), key=np.ones(100))
    assert always.removed.size == 100


V_OK = np.random.default_rng(0).normal(size=(30, 2))
LONG = make_planted_units(0)[0] * np.where(np.arange(400) == 9, 1e9, 1)[:, None]
LENGTHS = np.linalg.norm(LONG, axis=1)
HALF = np.median(LENGTHS)


@pytest.mark.parametrize(
    ("V", "how", "told"),
    [
        (np.zeros(4), {}, "shape"),
        (np.zeros((0, 3)), {}, "non-empty"),
        (np.full((30, 2), "x"), {}, "real numbers"),
        (np.where(np.arange(60).reshape(30, 2) == 9, np.nan, V_OK), {}, "row 4 of V is not finite"),
        (V_OK * 1e300, {}, "not finite in float32"),
        (V_OK, {"key": [1] * 29}, "29 entries for 30 units"),
        (V_OK, {"key": [2] + [1] * 29}, r"key\[0\] is 2"),
        (V_OK, {"items": list(range(30)), "key": [0] * 30}, "has one option"),
        (V_OK, {"items": [0, 1] * 15, "key": [15, 0]}, r"key\[0\] is 15; the unit has 15 options"),
        (V_OK, {"items": [0, 1] * 15}, "key is required"),
        (V_OK, {"items": [0, 1]}, "items has 2 entries"),
        (V_OK, {"blocks": [0]}, "blocks has 1 entries for 30 units"),
        (V_OK, {"blocks": [0] * 30}, "1 blocks, fewer than the 10 folds"),
        (V_OK[:5], {}, "5 blocks, fewer than the 10 folds"),
        (V_OK, {"ids": ["a"] * 30}, "ids must be distinct"),
        (V_OK, {"ids": range(29)}, "ids has 29 entries for 30 units"),
        (
            LONG,
            {},
            f"largest length is {LENGTHS[9]:.3g} and median length {HALF:.3g},",
        ),
    ],
)
def test_bad_data_is_refused(V, how, told):
    with pytest.raises(DataError, match=told.replace("+", r"\+")):
        mirror(V, **how)


@pytest.mark.parametrize(
    "how",
    [
        {"aim": "both"}, {"error": 0.0}, {"error": 0.3}, {"folds": 1}, {"repeats": 0}, {"C": 0.0},
        {"seed": -1},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(how):
    with pytest.raises(InputError, match=next(iter(how))):
        mirror(V_OK, **how)
