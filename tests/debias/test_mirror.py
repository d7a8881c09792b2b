"""The mirror filter: its laws, its threshold, its figures beside other code's, bad input."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tests.conftest import examples
from winosmith import Dataset, Problem, debias
from winosmith.debias import MirrorResult, mirror
from winosmith.debias._logit import Logit
from winosmith.debias._mirror import _draw_key_shifts, _draw_uniform_numbers, _find_threshold
from winosmith.errors import DataError, InputError


def planted(
    seed: int, units: int = 400, share: float = 0.4, columns: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return vectors and keys, the first of which are given away by the first column."""
    rng = np.random.default_rng(seed)
    V, key = rng.normal(size=(units, columns)), rng.random(units) < 0.5
    V[: int(share * units), 0] += np.where(key[: int(share * units)], 3, -3)
    return V, key


def choices(
    seed: int, units: int = 300, share: float = 0.4
) -> tuple[NDArray[np.float64], list[int], NDArray[np.intp]]:
    """Return options' vectors, the unit of each, and the keys, with 2 to 5 options a unit."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, units)
    V = rng.normal(size=(sizes.sum(), 8))
    key = rng.integers(0, sizes)
    right = (np.cumsum(sizes) - sizes + key)[: int(share * units)]
    V[right, 0] += 3
    return V, np.repeat(np.arange(units), sizes).tolist(), key


def same(one: MirrorResult, other: MirrorResult) -> bool:
    """Return whether two results are alike to the last bit."""
    arrays = ("kept", "removed", "margins", "removal_probability", "options")
    return one.record() == other.record() and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays
    )


AIMS: tuple[dict[str, Any], ...] = ({"error": 0.2}, {"aim": "chance"})


@pytest.mark.parametrize("how", AIMS)
@given(seed=st.integers(0, 10_000))
@examples(8)
def test_swapping_options_and_permuting_units_changes_nothing(
    how: dict[str, Any], seed: int
) -> None:
    """Turned units with turned keys, in any order, leave the same units with the same margins."""
    V, key = planted(seed % 7, 300)
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
def test_the_order_of_many_options_and_units_means_nothing(how: dict[str, Any], seed: int) -> None:
    """Options in any order within units in any order leave the same units, the same margins."""
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
def test_kept_and_removed_are_the_input(how: dict[str, Any]) -> None:
    """Each unit is either kept or removed, in ascending order, and only agreeing ones go."""
    V, items, key = choices(1)
    found = mirror(V, items=items, key=key, **how)
    assert sorted([*found.kept, *found.removed]) == list(range(len(key)))
    assert found.removed.size
    assert (found.margins[found.removed] > 0).all()
    assert (np.diff(found.kept) > 0).all()
    assert (np.diff(found.removed) > 0).all()


@pytest.mark.parametrize("workers", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_change_no_bit(workers: Any) -> None:
    """The same bytes with one thread, three, or two processes."""
    V, key = planted(3)
    alone = mirror(V, key=key)
    with workers(3 if workers is ThreadPoolExecutor else 2) as executor:
        assert same(mirror(V, key=key, executor=executor), alone)


@pytest.mark.parametrize("ids", [True, False])
def test_turning_a_unit_turns_its_own_margin(ids: bool) -> None:
    """Another key of one unit turns its margin to the last bit: no model that scores it saw it."""
    V, key = planted(4, 120)
    named = [f"u{number}" for number in range(len(V))] if ids else None
    before = mirror(V, key=key, ids=named).margins
    for unit in (0, 50, 119):
        other = key.copy()
        other[unit] = ~other[unit]
        assert mirror(V, key=other, ids=named).margins[unit] == -before[unit]


def test_turning_a_block_turns_the_margins_of_its_units() -> None:
    """Units of one block are scored by models that saw none of them."""
    V, key = planted(5, 200)
    blocks = [number // 4 for number in range(200)]
    before = mirror(V, key=key, blocks=blocks).margins
    other = key.copy()
    other[40:44] = ~other[40:44]
    assert (mirror(V, key=other, blocks=blocks).margins[40:44] == -before[40:44]).all()


def test_a_unit_without_a_block_is_one_of_its_own() -> None:
    """None among blocks says as much of a unit as no blocks at all say of every one."""
    V, key = planted(5, 60)
    assert same(mirror(V, key=key, blocks=[None] * 60), mirror(V, key=key))


def test_margins_are_those_of_a_logistic_regression_without_intercept() -> None:
    """Each fold's margins are scikit-learn's decision values, trained on the other folds."""
    V, key = planted(6, 300)
    named = [f"{number:03}" for number in range(len(V))]
    found = mirror(V, key=key, ids=named, folds=5, C=0.5, seed=2)
    fold = np.random.default_rng([2, 1, 0]).permutation(300) % 5
    for number in range(5):
        held = fold == number
        model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
        values = model.fit(V[~held], key[~held]).decision_function(V[held])
        assert np.allclose(found.margins[held], np.where(key[held], values, -values), atol=2e-3)


def test_margins_of_many_options_are_those_of_models_fitted_to_the_other_folds() -> None:
    """Each fold's leads are those of a conditional logit trained on the units of other folds."""
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


def test_what_other_folds_models_do_changes_no_bit_of_a_margin() -> None:
    """Of many units, some far from zero, a turned key turns its own margin to the last bit."""
    V, key = planted(13, 3000, 0.6, columns=70)
    V[:40] *= 30  # the models that see these take more steps than others
    before = mirror(V, key=key, ids=range(3000), aim="chance").margins
    for unit in (3, 21, 2999):
        other = key.copy()
        other[unit] = ~other[unit]
        after = mirror(V, key=other, ids=range(3000), aim="chance").margins
        assert after[unit] == -before[unit]
        assert (after != before).sum() > 2000


def test_weights_of_many_options_are_those_of_a_general_minimiser() -> None:
    """The conditional logit is at the optimum that scipy's BFGS finds for the printed loss."""
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


def test_two_options_as_items_are_their_difference() -> None:
    """Units of two options give the same whether their options or the difference is handed in."""
    V, key = planted(7, 200)
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
def test_the_threshold_by_hand(
    margins: list[float], options: int, error: float, threshold: float | None, found: int
) -> None:
    """The least margin with one decoy more than there are, over those that agree, at the error."""
    sizes = np.full(len(margins), options)
    assert _find_threshold(np.array(margins, float), sizes, error) == (threshold, found)


def test_with_mixed_numbers_of_options_the_least_stands_for_the_added_decoy() -> None:
    """The decoy that is added weighs 1/(K_min - 1), each disagreeing unit 1/(K - 1)."""
    margins, options = np.array([9.0, 8, 7, 6, -5, 5, 5]), np.array([5, 5, 5, 3, 5, 5, 5])
    assert _find_threshold(margins, options, 0.125) == (5.0, 6)  # (1/2 + 1/4) over 6
    options[4] = 3
    assert _find_threshold(margins, options, 0.125) == (6.0, 4)  # 1/2 over 4; (1/2 + 1/2) over 6


def test_what_gives_itself_away_is_found_at_the_stated_error() -> None:
    """Of twenty data sets the mean false share is near the error, and most planted ones go."""
    shares, found = [], []
    for seed in range(20):
        V, key = planted(seed, 600, 0.5)
        removed = mirror(V, key=key, error=0.1, seed=seed).removed
        shares.append((removed >= 300).mean())
        found.append((removed < 300).sum() / 300)
    assert np.mean(shares) < 0.12
    assert np.mean(found) > 0.9


def test_where_nothing_gives_itself_away_nothing_is_removed() -> None:
    """Of thirty data sets without an artifact at most three lose anything at an error of 0.1."""
    lost = 0
    for seed in range(30):
        V, key = planted(100 + seed, 300, 0.0)
        lost += mirror(V, key=key, error=0.1, seed=seed).removed.size > 0
    assert lost <= 3


def test_an_error_below_a_twentieth_takes_more_runs() -> None:
    """At an error of 0.04 one of 25 runs is the real one, so that its find can be told."""
    V, key = planted(2, 600, 0.5)
    found = mirror(V, key=key, error=0.04)
    assert len(found.permuted_counts) == 24
    assert found.p == 0.04
    assert (found.removed < 300).sum() > 100
    assert found.threshold is not None
    beyond = (found.margins <= -found.threshold).sum()
    assert found.false_share == (1 + beyond) / found.found
    told = found.record()
    assert told["agreeing"] == (found.margins > 0).sum() == 600 - told["disagreeing"]


def test_keys_of_a_block_are_turned_by_one_step_of_a_cycle() -> None:
    """Items of as many options turn alike; of two and three, each pair of turns is as likely."""
    blocks = np.repeat(np.arange(6_000), 3)
    steps = _draw_key_shifts(np.tile([2, 3, 3], 6_000), blocks, np.random.default_rng(0)).reshape(
        -1, 3
    )
    assert (steps[:, 1] == steps[:, 2]).all()
    pairs = np.bincount(3 * steps[:, 0] + steps[:, 1])
    assert pairs.shape == (6,)
    assert abs(pairs - 1_000).max() < 5 * np.sqrt(1_000)


def test_copies_that_are_one_block_count_once() -> None:
    """Fifty copies look like a find; each block of them is one, and eight are too few."""
    rng = np.random.default_rng(1)
    V = np.repeat(rng.normal(size=(8, 30)), 50, axis=0)
    key = np.repeat(rng.random(8) < 0.5, 50)
    blocks = np.repeat(np.arange(8), 50).tolist()
    assert mirror(V, key=key).removed.size > 100
    assert mirror(V, key=key, blocks=blocks, folds=8).removed.size == 0
    V, key = planted(2, 300, 0.5)
    pairs = np.repeat(np.arange(300), 2)
    twice = mirror(V[pairs], key=key[pairs], blocks=pairs.tolist())
    assert twice.found == len({*pairs[twice.removed]}) > 50


@pytest.mark.parametrize("seed", [12, 76])
def test_a_find_that_turned_keys_match_is_not_removed(seed: int) -> None:
    """Of five equal units of one answer p is the share of runs that find as much: it decides."""
    found = mirror(np.ones((5, 1)), key=np.ones(5), error=0.2, folds=5, seed=seed)
    assert found.found == 5
    assert found.p == (1 + sum(count >= 5 for count in found.permuted_counts)) / 20 > 0.05
    assert found.removed.size == (5 if found.p <= 0.2 else 0) == {12: 5, 76: 0}[seed]


def test_what_thinning_finds_is_beyond_what_wrong_guesses_say() -> None:
    """Of three options each wrong guess stands for half a right one; the rest is found."""
    rng = np.random.default_rng(4)
    V, key = rng.normal(size=(900, 4)), rng.integers(0, 3, 300)
    V[3 * np.arange(300) + key, 0] += 2
    found = mirror(V, items=np.arange(900) // 3, key=key, aim="chance")
    right, wrong = ((sign * found.margins > 0).sum() for sign in (1, -1))
    assert found.found == round(right - wrong / 2) > 50


def test_thinning_leaves_as_many_for_as_against_at_every_margin() -> None:
    """Of what the aim "chance" keeps, agreeing and disagreeing units are equally many."""
    V, key = planted(8, 6000, 0.4)
    found = mirror(V, key=key, aim="chance")
    kept = found.margins[found.kept]
    for low, high in ((0, 0.5), (0.5, 2), (2, 20)):
        some = kept[(np.abs(kept) > low) & (np.abs(kept) <= high)]
        assert abs((some > 0).mean() - 0.5) < 3 * 0.5 / np.sqrt(len(some))
    assert found.false_share is not None
    assert abs((found.removed >= 2400).mean() - found.false_share) < 0.05


def test_a_lot_is_told_by_the_id_alone() -> None:
    """By another seed, among fewer units, what went goes wherever it is as likely to; no id, no."""
    V, key = planted(8, 2000, 0.4)
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


def test_thinning_treats_kinds_apart() -> None:
    """Where one kind gives itself away and another does not, the other loses next to nothing.

    It is told as one run.
    """
    V, key = planted(9, 4000, 0.5)
    kinds, runs = ["a" if number < 2000 else "b" for number in range(4000)], list[object]()
    apart = mirror(
        V, key=key, aim="chance", kinds=kinds, on_run=lambda *at: runs.append(at)
    ).removed
    assert runs == [(1, 1)]
    together = mirror(V, key=key, aim="chance").removed
    assert (apart >= 2000).sum() < 0.5 * (together >= 2000).sum()


def test_vectors_without_anything_in_them_leave_every_unit() -> None:
    """Zeros, or options with equal vectors, are ties: nobody leads, nobody goes."""
    for how in AIMS:
        found = mirror(np.zeros((50, 3)), key=np.ones(50), **how)
        assert (found.ties, found.removed.size, found.p) == (50, 0, 1.0)
        told = found.record()
        assert (told["agreeing"], told["disagreeing"], told["ties"]) == (0, 0, 50)
        equal = mirror(np.ones((90, 4)), items=[row // 3 for row in range(90)], key=[0] * 30, **how)
        assert (equal.ties, equal.removed.size) == (30, 0)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_the_unit_of_measurement_means_nothing(scale: float) -> None:
    """Vectors times a power of two, with C divided by its square, give the same margins."""
    V, key = planted(11, 100)
    found = mirror(V * scale, key=key, C=1 / scale**2, ids=range(100))
    assert np.allclose(found.margins, mirror(V, key=key, ids=range(100)).margins, atol=1e-5)


def test_constant_columns_and_one_class_are_no_trouble() -> None:
    """A column that is the same everywhere, and keys that are all alike, give finite margins."""
    V, _ = planted(10, 100, 0.0)
    V[:, 3] = 0
    found = mirror(V, key=np.zeros(100))
    assert np.isfinite(found.margins).all()
    always = mirror(np.ones((100, 2)), key=np.ones(100))
    assert always.removed.size == 100


V_OK = np.random.default_rng(0).normal(size=(30, 2))
LONG = planted(0)[0] * np.where(np.arange(400) == 9, 1e9, 1)[:, None]
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
def test_bad_data_is_refused(V: Any, how: dict[str, Any], told: str) -> None:
    """Data that can't be filtered is refused with what is wrong, and where."""
    with pytest.raises(DataError, match=told.replace("+", r"\+")):
        mirror(V, **how)


@pytest.mark.parametrize(
    "how",
    [
        {"aim": "both"}, {"error": 0.0}, {"error": 0.3}, {"folds": 1}, {"repeats": 0}, {"C": 0.0},
        {"seed": -1},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(how: dict[str, Any]) -> None:
    """A parameter out of its range is refused by its name."""
    with pytest.raises(InputError, match=next(iter(how))):
        mirror(V_OK, **how)


def _twin(name: str, first: int) -> list[Problem]:
    options = ("box", "bin")
    return [
        Problem(f"{name}-a", f"The {name} is in the _ as it is old.", options, first, name),
        Problem(f"{name}-b", f"The {name} is in the _ as it is new.", options, 1 - first, name),
    ]


def test_a_twin_is_one_unit_with_all_copies_of_its_halves() -> None:
    """Copies of a half change neither the vector of its twin nor how many units there are."""
    pool = Dataset([*_twin("cup", 0), *_twin("jug", 1)])
    X = np.array([[3.0, 1], [2, 0], [1, 0], [1, 5]])
    units = debias.make_twin_units(pool, X)
    assert units.V.tolist() == [[1, 1], [0, 5]]
    copied = Dataset([*pool, Problem("x", pool[0].sentence, pool[0].options, 0)])
    more = debias.make_twin_units(copied, np.append(X, X[:1], axis=0))
    assert more.V.tolist() == units.V.tolist()
    assert more.rows == ((0, 1, 4), (2, 3))
    assert more.kinds == ("twin", "twin")


def test_the_order_of_the_rows_changes_no_bit_of_a_unit() -> None:
    """Twins with two copies of a half have the same vectors, ids and kinds in any order of rows."""
    twins = [problem for number in range(30) for problem in _twin(f"cup {number}", number % 2)]
    copied = [Problem(f"{one.id} {n}", one.sentence, one.options, one.answer)
              for one in twins[::2] for n in range(2)]  # fmt: skip
    pool = Dataset([*twins, *copied])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(pool), 6)).astype(np.float32)
    order = rng.permutation(len(pool))
    one, other = (
        debias.make_twin_units(pool, X),
        debias.make_twin_units(pool.select(order.tolist()), X[order]),
    )
    at = [other.ids.index(name) for name in one.ids]
    assert other.V[at].tobytes() == one.V.tobytes()
    assert [other.kinds[unit] for unit in at] == list(one.kinds)


def test_a_family_is_one_block_and_lookalikes_are_not() -> None:
    """Units of one family share a block; twins that merely look alike have blocks of their own."""
    pool = Dataset([*_twin("cup", 0), *_twin("mug", 0)])
    X = np.ones((4, 2))
    assert len(set(debias.make_twin_units(pool, X).blocks)) == 2
    from winosmith.lineage import make_child

    child = make_child(
        pool[0], "The old cup is in the _ as it is old.", pool[0].options, 0, source="person"
    )
    family = debias.make_twin_units(Dataset([*pool, child]), np.ones((5, 2)))
    assert len(set(family.blocks)) == 2
    assert sorted(family.kinds) == ["single", "twin", "twin"]
