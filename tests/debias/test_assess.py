"""Assessments of bias: planted bias is found, noise is not, and bad input is refused."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith.debias._assess import Assessment, AssessmentSettings, assess
from winosmith.errors import DataError, RecipeError

QUICK = AssessmentSettings(draws=40, bins=30)


def make_shifted_rows(n: int = 600, *, along: int = 0, shift: float = 4.0, seed: int = 0) -> Any:
    """Return rows of twins, in 12 columns of decreasing variance, and labels.

    The answer shifts the column `along`.
    """
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, 12)) * np.linspace(6, 1, 12)
    X[:, along] += shift * (2 * y - 1)
    return X, y, [(row, row + 1) for row in range(0, n, 2)]


def one(X: Any, y: Any, groups: Any = None, settings: AssessmentSettings = QUICK) -> Any:
    """Return the assessment of all rows."""
    return assess(X, y, {"all": range(len(y))}, groups=groups, settings=settings).subsets[0]


def test_shift_along_the_first_component_is_found() -> None:
    found = one(*make_shifted_rows(shift=8))
    for along in (found.d1, found.axis):
        assert along.kl > 2 * along.null.high
        assert along.null.p == 1 / 41


def test_shift_along_a_minor_component_is_found_on_the_axis() -> None:
    found = one(*make_shifted_rows(along=6, shift=2.5))
    assert found.d1.null.p > 0.05
    assert found.axis.kl > 5 * found.axis.null.high
    first, second = np.array(found.axis.counts)
    middles = np.array(found.axis.edges[:-1])
    assert middles @ second / second.sum() > middles @ first / first.sum() + 1


@pytest.mark.parametrize("flips_sign", [True, False])
def test_sign_flipping_vectors_are_counted_in_both_orders(flips_sign: bool) -> None:
    """Their histograms mirror each other, and swapping options changes no number."""
    X, y, groups = make_shifted_rows(200, shift=3)
    swapped = np.random.default_rng(5).random(200) < 0.5
    there, turned = (
        assess(
            a, b, {"all": range(200)}, groups=groups, flips_sign=flips_sign, settings=QUICK
        ).subsets[0]
        for a, b in ((X, y), (np.where(swapped[:, None], -X, X), np.where(swapped, 1 - y, y)))
    )
    for along in (there.d1, there.axis):
        assert (along.counts[0] == along.counts[1][::-1]) == flips_sign
    assert (
        (there.d1, there.axis, there.points) == (turned.d1, turned.axis, turned.points)
    ) == flips_sign


def test_p_values_of_noise_are_rarely_small() -> None:
    settings = AssessmentSettings(draws=39, bins=30)
    runs = [
        one(*make_shifted_rows(200, shift=0, seed=seed), settings=settings) for seed in range(40)
    ]
    for which in ("d1", "axis"):
        assert sum(getattr(run, which).null.p <= 0.05 for run in runs) <= 6
        assert sum(getattr(run, which).null.p >= 0.5 for run in runs) >= 10


def test_null_covers_the_divergence_of_sparse_histograms() -> None:
    """Random labels of few rows in many bins give a KL divergence far from 0."""
    found = one(*make_shifted_rows(120, shift=0), settings=AssessmentSettings(draws=60, bins=50))
    for along in (found.d1, found.axis):
        assert along.kl > 0.1
        assert along.null.low > 0.05
        assert along.null.low < along.kl < along.null.high


def test_null_keeps_twins_together() -> None:
    """With equal halves the null is exactly 0; free permutations would find bias in noise."""
    X, y, twins = make_shifted_rows(200)
    X[1::2] = X[::2]
    found = one(X, y, twins)
    for along in (found.d1, found.axis):
        assert (along.kl, along.null.low, along.null.high, along.null.p) == (0, 0, 0, 1)
    assert one(X, y).d1.null.low > 0.02


def test_overfitted_direction_is_not_bias() -> None:
    """With more columns than rows any labels can be fitted, so positions are read held out."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 300)), np.tile([0, 1], 40)
    found = one(X, y, [(row, row + 1) for row in range(0, 80, 2)])
    assert found.axis.null.p > 0.05
    assert found.axis.kl < found.axis.null.high


def test_subset_order_does_not_change_the_assessment() -> None:
    X, y, groups = make_shifted_rows()
    subsets = {"all": range(600), "some": range(100)}
    there = assess(X, y, subsets, groups=groups, settings=QUICK)
    back = assess(X, y, dict(reversed(subsets.items())), groups=groups, settings=QUICK)
    assert there.subsets == back.subsets[::-1]
    other = assess(
        X, y, subsets, groups=groups, settings=AssessmentSettings(draws=40, bins=30, seed=1)
    )
    assert other.subsets[0].d1.kl == there.subsets[0].d1.kl
    assert other.subsets[0].d1.null != there.subsets[0].d1.null


def test_json_contains_histograms_points_and_settings() -> None:
    X, y, groups = make_shifted_rows()
    found = assess(X, y, {"all": range(600), "none": []}, groups=groups, settings=QUICK)
    held = json.loads(json.dumps(asdict(found), allow_nan=False))
    assert held["settings"]["bins"] == 30
    assert held["subsets"][0]["d1"]["kl"] == found.subsets[0].d1.kl
    for along in ("d1", "axis"):
        assert [sum(counts) for counts in held["subsets"][0][along]["counts"]] == [600, 600]
    assert len(held["subsets"][0]["points"]) == 600


def test_points_are_drawn_in_the_same_order_in_each_subset() -> None:
    """So a row shown for the whole set is shown for each subset that contains it."""
    X, y, groups = make_shifted_rows()
    subsets = {"all": range(600), "odd": range(1, 600, 2)}
    found, whole = (
        assess(X, y, subsets, groups=groups, settings=AssessmentSettings(draws=20, points=points))
        for points in (100, 600)
    )
    everywhere, odd = (set(subset.points) for subset in found.subsets)
    assert len(everywhere) == len(odd) == 100
    assert everywhere & set(whole.subsets[1].points) == everywhere & odd != set()
    assert set(found.subsets[1].point_answers) == {0, 1}  # each in an order drawn at random


def test_points_are_limited_to_the_shown_rows() -> None:
    X, y, groups = make_shifted_rows()
    subsets = {"all": range(600), "half": range(300)}
    few = assess(X, y, subsets, groups=groups, settings=QUICK, shown=[5, 400])
    every = assess(X, y, subsets, groups=groups, settings=QUICK)
    assert [len(subset.points) for subset in few.subsets] == [2, 1]
    assert few.subsets[1].points[0] in few.subsets[0].points
    assert few.subsets[0].d1 == every.subsets[0].d1
    assert assess(X, y, subsets, settings=QUICK, shown=[]).subsets[0].points == ()


@examples(30)
@given(st.sets(st.integers(0, 39), min_size=1))
def test_twins_halves_and_singles_sum_to_all_rows(rows: set[int]) -> None:
    X, y, groups = make_shifted_rows(40)
    groups = [*groups[:15], *((row,) for row in range(30, 40))]
    found = assess(
        X, y, {"some": rows}, groups=groups, settings=AssessmentSettings(draws=20)
    ).subsets[0]
    assert 2 * found.twins + found.incomplete_twins + found.singles == found.rows == len(rows)
    assert found.singles == len([row for row in rows if row >= 30])
    assert sum(found.answers) == len(rows)


def test_subset_without_both_answers_has_no_divergence() -> None:
    X, y, groups = make_shifted_rows()
    subsets = {"one": range(0, 600, 2), "none": []}
    found = assess(X, y, subsets, groups=groups, flips_sign=False, settings=QUICK)
    for subset in found.subsets:
        assert subset.d1.kl is None
        assert subset.axis.null is None
    assert found.subsets[1].rows == 0


def assess_subsets(fit: Any, **subsets: Any) -> Assessment:
    """Return an assessment with the PCA fitted on all rows or on each subset."""
    X, y, groups = make_shifted_rows()
    return assess(X, y, subsets, groups=groups, settings=AssessmentSettings(draws=20, fit=fit))


def test_one_column_has_no_second_component() -> None:
    X, y, groups = make_shifted_rows(shift=8)
    found = one(X[:, :1], y, groups)
    assert found.d1.kl > 2 * found.d1.null.high
    assert found.explained == pytest.approx((1, 0))
    assert {d2 for _, d2 in found.points} == {0}
    plain = assess(
        X[:, :1], y, {"all": range(600)}, groups=groups, flips_sign=False, settings=QUICK
    )
    centred = X[:, 0] - X[:, 0].mean()
    ends = plain.subsets[0].d1.edges[::30]
    assert ends == pytest.approx((centred.min(), centred.max()), rel=1e-4)
    assert set(one(np.zeros((len(y), 1)), y, groups).points) == {(0, 0)}


def test_pca_is_fitted_once_or_on_each_subset() -> None:
    half = range(0, 300)
    shared, own = (assess_subsets(fit, all=range(600), half=half) for fit in ("all", "each"))
    assert shared.subsets[0].d1.edges == shared.subsets[1].d1.edges
    assert own.subsets[0].d1.edges == shared.subsets[0].d1.edges
    assert own.subsets[1].d1.edges != shared.subsets[1].d1.edges
    assert own.subsets[1].explained != shared.subsets[1].explained
    assert shared.subsets[1].explained == shared.subsets[0].explained


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"X": np.ones((4, 0))}, "X must have rows and columns"),
        ({"X": np.ones((3, 2))}, "X has 3 rows, but y has 4 entries"),
        ({"X": np.array([[0, 1], [0, np.nan], [0, 1], [0, 1]])}, "row 1 of X contains NaN"),
        ({"y": [1, 1, 1, 1], "flips_sign": False}, "both 0 and 1 must occur"),
        ({"y": [0, 1, 2, 1]}, "labels are 0 or 1"),
        ({"subsets": {"a": [0, 4]}}, "the subset 'a' must list each row at most once, from 0 to 3"),
        ({"subsets": {"a": [0, 0]}}, "must list each row at most once"),
        ({"subsets": {"a": [0.5]}}, "is not a list of row numbers"),
        ({"groups": [(0, 1), (2,)]}, "the groups must list each row from 0 to 3 once"),
        ({"groups": [(0, 1), (1, 2, 3)]}, "the groups must list each row from 0 to 3 once"),
    ],
)
def test_inconsistent_arguments_are_refused(change: dict[str, Any], told: str) -> None:
    given_ = {"X": np.eye(4), "y": [0, 1, 0, 1], "subsets": {"all": range(4)}, **change}
    with pytest.raises(DataError, match=told):
        assess(**given_)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bins": 1}, "bins is 1; it must be a whole number, 2 or more"),
        ({"bin_width": 0.0}, "bin_width is 0.0; it must be a number above 0"),
        ({"smoothing": 0.0}, "smoothing is 0.0"),
        ({"direction": "up"}, "direction is 'up'"),
        ({"fit": "some"}, "fit is 'some'"),
        ({"draws": 19}, "draws is 19; it must be a whole number, 20 or more"),
        ({"points": -1}, "points is -1"),
    ],
)
def test_settings_out_of_range_are_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        AssessmentSettings(**change)
