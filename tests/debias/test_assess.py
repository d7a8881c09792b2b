"""An assessment: what is found, what is not, and what it refuses."""

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


def planted(n: int = 600, *, along: int = 0, shift: float = 4.0, seed: int = 0) -> Any:
    """Return rows of twins, in 12 columns of falling variance, and labels.

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


def test_a_shift_along_d1_is_found() -> None:
    """Answers that stand apart along the first component have a KL beyond the null, both ways."""
    found = one(*planted(shift=8))
    for along in (found.d1, found.axis):
        assert along.kl > 2 * along.null.high
        assert along.null.p == 1 / 41


def test_a_shift_along_a_lesser_component_is_found_on_the_answer_axis() -> None:
    """d1 shows nothing where the answers stand apart along another direction; the axis does."""
    found = one(*planted(along=6, shift=2.5))
    assert found.d1.null.p > 0.05
    assert found.axis.kl > 5 * found.axis.null.high
    first, second = np.array(found.axis.counts)
    middles = np.array(found.axis.edges[:-1])
    assert middles @ second / second.sum() > middles @ first / first.sum() + 1


@pytest.mark.parametrize("flips_sign", [True, False])
def test_vectors_that_turn_are_counted_in_both_orders(flips_sign: bool) -> None:
    """The histograms of the answers mirror each other, and swapped options change no figure."""
    X, y, groups = planted(200, shift=3)
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


def test_noise_is_not_taken_for_bias() -> None:
    """Over 40 sets without any shift, p is at 5 % or below in few, along d1 and the axis."""
    settings = AssessmentSettings(draws=39, bins=30)
    runs = [one(*planted(200, shift=0, seed=seed), settings=settings) for seed in range(40)]
    for which in ("d1", "axis"):
        assert sum(getattr(run, which).null.p <= 0.05 for run in runs) <= 6
        assert sum(getattr(run, which).null.p >= 0.5 for run in runs) >= 10


def test_few_rows_in_many_bins_differ_by_chance_and_the_null_says_so() -> None:
    """Labels that mean nothing give a KL far from 0, and the null is as far."""
    found = one(*planted(120, shift=0), settings=AssessmentSettings(draws=60, bins=50))
    for along in (found.d1, found.axis):
        assert along.kl > 0.1
        assert along.null.low > 0.05
        assert along.null.low < along.kl < along.null.high


def test_the_null_keeps_twins_together() -> None:
    """Halves that lie at the same place can't tell the answers apart: the null is exactly 0.

    Labels that are permuted freely do not know that, and call a part of the noise bias.
    """
    X, y, twins = planted(200)
    X[1::2] = X[::2]
    found = one(X, y, twins)
    for along in (found.d1, found.axis):
        assert (along.kl, along.null.low, along.null.high, along.null.p) == (0, 0, 0, 1)
    assert one(X, y).d1.null.low > 0.02


def test_a_direction_that_only_fits_its_own_half_is_no_bias() -> None:
    """With more columns than rows any labels can be fitted; read held out, they tell nothing."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 300)), np.tile([0, 1], 40)
    found = one(X, y, [(row, row + 1) for row in range(0, 80, 2)])
    assert found.axis.null.p > 0.05
    assert found.axis.kl < found.axis.null.high


def test_the_same_input_gives_the_same_assessment_whatever_the_order_of_the_subsets() -> None:
    """Every draw is keyed by the seed and the subset's name."""
    X, y, groups = planted()
    subsets = {"all": range(600), "some": range(100)}
    there = assess(X, y, subsets, groups=groups, settings=QUICK)
    back = assess(X, y, dict(reversed(subsets.items())), groups=groups, settings=QUICK)
    assert there.subsets == back.subsets[::-1]
    other = assess(
        X, y, subsets, groups=groups, settings=AssessmentSettings(draws=40, bins=30, seed=1)
    )
    assert other.subsets[0].d1.kl == there.subsets[0].d1.kl
    assert other.subsets[0].d1.null != there.subsets[0].d1.null


def test_json_holds_everything() -> None:
    """The assessment as JSON has the histogram, the points and the settings, and no NaN."""
    X, y, groups = planted()
    found = assess(X, y, {"all": range(600), "none": []}, groups=groups, settings=QUICK)
    held = json.loads(json.dumps(asdict(found), allow_nan=False))
    assert held["settings"]["bins"] == 30
    assert held["subsets"][0]["d1"]["kl"] == found.subsets[0].d1.kl
    for along in ("d1", "axis"):
        assert [sum(counts) for counts in held["subsets"][0][along]["counts"]] == [600, 600]
    assert len(held["subsets"][0]["points"]) == 600


def test_points_are_thinned_alike_in_every_subset() -> None:
    """A row that is drawn in the whole set is drawn in every subset that holds it."""
    X, y, groups = planted()
    found = assess(X, y, {"all": range(600), "odd": range(1, 600, 2)}, groups=groups,
                   settings=AssessmentSettings(draws=20, points=100))  # fmt: skip
    everywhere, odd = (set(subset.points) for subset in found.subsets)
    assert len(everywhere) == len(odd) == 100
    assert 30 < len(everywhere & odd) < 70
    assert set(found.subsets[1].point_answers) == {0, 1}  # each in an order drawn at random


def test_only_rows_that_may_be_shown_are_drawn() -> None:
    """Points are of the rows named; every figure still counts all of them."""
    X, y, groups = planted()
    subsets = {"all": range(600), "half": range(300)}
    few = assess(X, y, subsets, groups=groups, settings=QUICK, shown=[5, 400])
    every = assess(X, y, subsets, groups=groups, settings=QUICK)
    assert [len(subset.points) for subset in few.subsets] == [2, 1]
    assert few.subsets[1].points[0] in few.subsets[0].points
    assert few.subsets[0].d1 == every.subsets[0].d1
    assert assess(X, y, subsets, settings=QUICK, shown=[]).subsets[0].points == ()


@examples(30)
@given(st.sets(st.integers(0, 39), min_size=1))
def test_twins_halves_and_singles_add_up(rows: set[int]) -> None:
    """Whole twins, twins parted by the filter, and former singles are all of the rows."""
    X, y, groups = planted(40)
    groups = [*groups[:15], *((row,) for row in range(30, 40))]
    found = assess(
        X, y, {"some": rows}, groups=groups, settings=AssessmentSettings(draws=20)
    ).subsets[0]
    assert 2 * found.twins + found.incomplete_twins + found.singles == found.rows == len(rows)
    assert found.singles == len([row for row in rows if row >= 30])
    assert sum(found.answers) == len(rows)


def test_a_subset_of_one_answer_or_of_none_has_no_kl() -> None:
    """Where nothing can be compared nothing is reported, and the rest still is."""
    X, y, groups = planted()
    subsets = {"one": range(0, 600, 2), "none": []}
    found = assess(X, y, subsets, groups=groups, flips_sign=False, settings=QUICK)
    for subset in found.subsets:
        assert subset.d1.kl is None
        assert subset.axis.null is None
    assert found.subsets[1].rows == 0


def fitted(fit: Any, **subsets: Any) -> Assessment:
    """Return an assessment with the PCA fitted on all rows or on each subset."""
    X, y, groups = planted()
    return assess(X, y, subsets, groups=groups, settings=AssessmentSettings(draws=20, fit=fit))


def test_vectors_of_one_column_have_no_second_component() -> None:
    """One column, of zeros or not, is assessed along d1 from end to end; d2 explains nothing."""
    X, y, groups = planted(shift=8)
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


def test_one_fit_serves_all_subsets_or_each_has_its_own() -> None:
    """Fitted once, panels share their bins; fitted on each, the whole set's panel is the same."""
    half = range(0, 300)
    shared, own = (fitted(fit, all=range(600), half=half) for fit in ("all", "each"))
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
def test_what_does_not_fit_together_is_refused(change: dict[str, Any], told: str) -> None:
    """Each error says what is wrong and where."""
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
    """Each setting is checked when it is made."""
    with pytest.raises(RecipeError, match=told):
        AssessmentSettings(**change)
