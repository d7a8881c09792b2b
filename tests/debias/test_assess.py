"""Assessments of bias: components, answer axis, KL divergence with its null, and the report."""

import json
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from tests.conftest import examples
from winosmith import report
from winosmith.debias._assess import (
    _SHRINKAGE,
    Assessment,
    AssessmentSettings,
    Binning,
    assess,
    compute_divergence,
    compute_principal_axes,
    make_histograms,
    project_on_answer_axis,
)
from winosmith.debias._clues import make_assessment_blocks
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


def test_shift_along_the_first_component_is_found():
    found = one(*make_shifted_rows(shift=8))
    for along in (found.d1, found.axis):
        assert along.kl > 2 * along.null.high
        assert along.null.p == 1 / 41


def test_shift_along_a_minor_component_is_found_on_the_axis():
    found = one(*make_shifted_rows(along=6, shift=2.5))
    assert found.d1.null.p > 0.05
    assert found.axis.kl > 5 * found.axis.null.high
    first, second = np.array(found.axis.counts)
    middles = np.array(found.axis.edges[:-1])
    assert middles @ second / second.sum() > middles @ first / first.sum() + 1


@pytest.mark.parametrize("flips_sign", [True, False])
def test_sign_flipping_vectors_are_counted_in_both_orders(flips_sign):
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


def test_p_values_of_noise_are_rarely_small():
    settings = AssessmentSettings(draws=39, bins=30)
    runs = [
        one(*make_shifted_rows(200, shift=0, seed=seed), settings=settings) for seed in range(40)
    ]
    for which in ("d1", "axis"):
        assert sum(getattr(run, which).null.p <= 0.05 for run in runs) <= 6
        assert sum(getattr(run, which).null.p >= 0.5 for run in runs) >= 10


def test_null_covers_the_divergence_of_sparse_histograms():
    """Random labels of few rows in many bins give a KL divergence far from 0."""
    found = one(*make_shifted_rows(120, shift=0), settings=AssessmentSettings(draws=60, bins=50))
    for along in (found.d1, found.axis):
        assert along.kl > 0.1
        assert min(along.null.draws) > 0.05
        assert min(along.null.draws) < along.kl <= along.null.high


def test_null_keeps_twins_together():
    """With equal halves the null is exactly 0; free permutations would find bias in noise."""
    X, y, twins = make_shifted_rows(200)
    X[1::2] = X[::2]
    found = one(X, y, twins)
    for along in (found.d1, found.axis):
        assert (along.kl, {*along.null.draws}, along.null.high, along.null.p) == (0, {0}, 0, 1)
    assert min(one(X, y).d1.null.draws) > 0.02


def test_overfitted_direction_is_not_bias():
    """With more columns than rows any labels can be fitted, so positions are read held out."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 300)), np.tile([0, 1], 40)
    found = one(X, y, [(row, row + 1) for row in range(0, 80, 2)])
    assert found.axis.null.p > 0.05
    assert found.axis.kl <= found.axis.null.high


def test_subset_order_does_not_change_the_assessment():
    subsets = {"all": range(600), "some": range(100)}
    there, back = (assess_subsets(of) for of in (subsets, dict(reversed(subsets.items()))))
    assert there == back[::-1]
    other = assess_subsets(subsets, settings=AssessmentSettings(draws=40, bins=30, seed=1))
    assert other[0].d1.kl == there[0].d1.kl
    assert other[0].d1.null != there[0].d1.null


def test_json_contains_histograms_points_and_settings():
    X, y, groups = make_shifted_rows()
    found = assess(X, y, {"all": range(600), "none": []}, groups=groups, settings=QUICK)
    held = json.loads(json.dumps(asdict(found), allow_nan=False))
    assert held["settings"]["bins"] == 30
    assert held["subsets"][0]["d1"]["kl"] == found.subsets[0].d1.kl
    for along in ("d1", "axis"):
        assert [sum(counts) for counts in held["subsets"][0][along]["counts"]] == [600, 600]
    assert len(held["subsets"][0]["points"]) == 600


def test_points_are_drawn_in_the_same_order_in_each_subset():
    """So a row shown for the whole set is shown for each subset that contains it."""
    subsets = {"all": range(600), "odd": range(1, 600, 2)}
    found, whole = (
        assess_subsets(subsets, settings=AssessmentSettings(draws=20, points=points))
        for points in (100, 600)
    )
    everywhere, odd = (set(subset.points) for subset in found)
    assert len(everywhere) == len(odd) == 100
    assert everywhere & set(whole[1].points) == everywhere & odd != set()
    assert set(found[1].point_answers) == {0, 1}  # each in an order drawn at random


def test_points_are_limited_to_the_shown_rows():
    subsets = {"all": range(600), "half": range(300)}
    few, every, none = (assess_subsets(subsets, shown=shown) for shown in ([5, 400], None, []))
    assert [len(subset.points) for subset in few] == [2, 1]
    assert few[1].points[0] in few[0].points
    assert few[0].d1 == every[0].d1
    assert none[0].points == ()


@examples(30)
@given(st.sets(st.integers(0, 39), min_size=1))
def test_twins_halves_and_singles_sum_to_all_rows(rows):
    X, y, groups = make_shifted_rows(40)
    groups = [*groups[:15], *((row,) for row in range(30, 40))]
    found = assess(
        X, y, {"some": rows}, groups=groups, settings=AssessmentSettings(draws=20)
    ).subsets[0]
    assert 2 * found.twins + found.incomplete_twins + found.singles == found.rows == len(rows)
    assert found.singles == len([row for row in rows if row >= 30])
    assert sum(found.answers) == len(rows)


def test_subset_without_both_answers_has_no_divergence():
    found = assess_subsets({"one": range(0, 600, 2), "none": []}, flips_sign=False)
    for subset in found:
        assert subset.d1.kl is None
        assert subset.axis.null is None
    assert found[1].rows == 0


def assess_subsets(subsets: Any, *, settings: Any = QUICK, **more: Any) -> Any:
    """Return the assessments of subsets of the shifted rows."""
    X, y, groups = make_shifted_rows()
    return assess(X, y, subsets, **{"groups": groups, "settings": settings, **more}).subsets


def test_one_column_has_no_second_component():
    X, y, groups = make_shifted_rows(shift=8)
    found = one(X[:, :1], y, groups)
    assert found.d1.kl > 2 * found.d1.null.high
    assert found.explained == pytest.approx((1, 0))
    assert {d2 for _, d2 in found.points} == {0}
    subsets = {"all": range(600)}
    plain = assess(X[:, :1], y, subsets, groups=groups, flips_sign=False, settings=QUICK)
    centred = X[:, 0] - X[:, 0].mean()
    ends = plain.subsets[0].d1.edges[::30]
    assert ends == pytest.approx((centred.min(), centred.max()), rel=1e-4)
    assert set(one(np.zeros((len(y), 1)), y, groups).points) == {(0, 0)}


def test_pca_is_fitted_once():
    found = assess_subsets({"all": range(600), "half": range(300)})
    assert found[0].d1.edges == found[1].d1.edges
    assert found[0].explained == found[1].explained


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
def test_inconsistent_arguments_are_refused(change, told):
    given_ = {"X": np.eye(4), "y": [0, 1, 0, 1], "subsets": {"all": range(4)}, **change}
    with pytest.raises(DataError, match=told):
        assess(**given_)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bins": 1}, "bins is 1; it must be a whole number, 2 or more"),
        ({"draws": 19}, "draws is 19; it must be a whole number, 20 or more"),
        ({"points": -1}, "points is -1"),
    ],
)
def test_settings_out_of_range_are_refused(change, told):
    with pytest.raises(RecipeError, match=told):
        AssessmentSettings(**change)


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(300, 12)) * np.linspace(5, 1, 12)) @ rng.normal(size=(12, 12)) + 7


def test_components_match_scikit_learn(rows):
    from sklearn.decomposition import PCA

    oracle = PCA(5, svd_solver="full").fit(rows)
    axes = compute_principal_axes(rows, 5)
    np.testing.assert_allclose(axes.explained, oracle.explained_variance_ratio_, atol=1e-9)
    mine, theirs = axes.project(rows), oracle.transform(rows)
    signs = np.sign((mine * theirs).sum(axis=0))
    np.testing.assert_allclose(mine, theirs * signs, atol=1e-6)


def test_largest_loading_is_positive(rows):
    """So mirroring every row does not mirror an axis."""
    there = compute_principal_axes(rows, 4).directions
    mirrored = compute_principal_axes(-rows, 4).directions
    largest = np.abs(there).argmax(axis=0)
    assert (there[largest, range(4)] > 0).all()
    np.testing.assert_allclose(there, mirrored, atol=1e-9)


def test_row_order_does_not_change_coordinates(rows):
    order = np.random.default_rng(0).permutation(len(rows))
    plain = compute_principal_axes(rows, 3).project(rows)
    permuted = compute_principal_axes(rows[order], 3).project(rows[order])
    np.testing.assert_allclose(permuted, plain[order], atol=1e-7)


def test_chunked_single_precision_matches_double_precision():
    wide = np.random.default_rng(1).normal(size=(20_000, 4)).astype(np.float32) * [4, 3, 2, 1]
    axes = compute_principal_axes(wide.astype(np.float32), 2)
    whole = np.cov(wide.astype(np.float32).astype(np.float64).T)
    values = np.linalg.eigvalsh(whole)[::-1]
    np.testing.assert_allclose(axes.explained, values[:2] / values.sum(), rtol=1e-9)


def test_degenerate_rows_have_axes():
    few = compute_principal_axes(np.random.default_rng(0).normal(size=(3, 9)), 10)
    assert few.directions.shape == (9, 9)
    same = compute_principal_axes(np.ones((5, 4)), 2)
    assert same.explained.tolist() == [0, 0]
    assert same.project(np.ones((5, 4))).tolist() == [[0, 0]] * 5
    assert same.project(np.ones((0, 4))).shape == (0, 2)


def shifted_rows(n: int = 200, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return correlated rows of twins whose answers are shifted along one column."""
    rng = np.random.default_rng(6)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, 8))
    X[:, 3] += shift * (2 * y - 1)
    return X, y, np.arange(n) // 2


class Given:
    """An estimator that returns a given covariance."""

    def __init__(self, covariance: np.ndarray):
        self.covariance_ = covariance

    def fit(self, X: object) -> Self:
        """Do nothing."""
        return self


def test_axis_matches_scikit_learns_shrunk_discriminant():
    """Positions agree up to scale and offset.

    scikit-learn's covariance is the one within the classes, ours that of all rows: with two classes
    of equal size and the same sphere the directions agree.
    """
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, groups = shifted_rows()
    read = project_on_answer_axis(X, y[None], groups, np.random.default_rng(0))
    assert read is not None
    half_of = np.empty(len(y), int)
    for number, group in enumerate(np.random.default_rng(0).permutation(len(y) // 2)):
        half_of[groups == group] = number % 2
    for half in (0, 1):
        train, test = half_of != half, half_of == half
        inside = EmpiricalCovariance().fit(
            np.concatenate([X[train & (y == a)] - X[train & (y == a)].mean(axis=0) for a in (0, 1)])
        )
        sphere = np.trace(np.cov(X[train].T, bias=True)) / 8 * np.eye(8)
        mixed = inside.covariance_ * (1 - _SHRINKAGE) + _SHRINKAGE * sphere

        oracle = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Given(mixed))
        theirs = oracle.fit(X[train], y[train]).decision_function(X[test])
        assert np.corrcoef(read[0][test], theirs)[0, 1] > 1 - 1e-9


def test_each_labelling_has_its_own_axis():
    """Stacked labellings give the same positions as separate calls.

    Flipped labels flip the axis.
    """
    X, y, groups = shifted_rows()
    stack = np.stack([y, 1 - y, np.roll(y, 1)])
    together = project_on_answer_axis(X, stack, groups, np.random.default_rng(0))
    assert together is not None
    for labels, found in zip(stack, together, strict=True):
        alone = project_on_answer_axis(X, labels[None], groups, np.random.default_rng(0))
        assert alone is not None
        np.testing.assert_allclose(found, alone[0], atol=1e-8)
    np.testing.assert_allclose(together[0], -together[1], atol=1e-8)


def test_positions_are_in_standard_deviations():
    X, y, groups = shifted_rows(2000, shift=0.0)
    for scale in (1e-3, 1.0, 1e4):
        (read,) = project_on_answer_axis(
            X * scale + 5 * scale, y[None], groups, np.random.default_rng(0)
        )
        assert abs(read.mean()) < 0.1
        assert 0.9 < read.std() < 1.1


def test_axis_of_a_row_is_not_fitted_on_its_twin():
    """Changing one twin's labels changes only the positions of the other half."""
    X, y, groups = shifted_rows()
    changed = y.copy()
    changed[[0, 1]] = 1 - changed[[0, 1]]
    there, back = project_on_answer_axis(
        X, np.stack([y, changed]), groups, np.random.default_rng(0)
    )
    moved = np.flatnonzero(there != back)
    assert not {0, 1} & set(moved.tolist())
    assert len(moved) == 100


def test_axis_needs_both_answers_in_both_halves():
    X, y, groups = shifted_rows(8)
    rng = np.random.default_rng(0)
    assert project_on_answer_axis(X, np.zeros((1, 8), int), groups, rng) is None
    assert project_on_answer_axis(X[:2], y[None, :2], groups[:2], rng) is None
    assert project_on_answer_axis(X[:0], y[None, :0], groups[:0], rng) is None


histograms = arrays(np.int64, 12, elements=st.integers(0, 400))


@given(histograms, histograms, st.floats(0.01, 5))
def test_divergence_matches_scipy_on_smoothed_counts(first, second, smoothing):
    there = compute_divergence(first, second, smoothing=smoothing)
    assert there == pytest.approx(entropy(first + smoothing, second + smoothing), abs=1e-12)
    assert there >= 0
    assert compute_divergence(first, first, smoothing=smoothing) == 0


@given(arrays(np.float64, 30, elements=st.floats(-50, 50)), st.integers(2, 40))
def test_each_row_is_counted_in_the_bin_around_it(positions, bins):
    binning = Binning.from_range(positions.min(), positions.max(), bins)
    edges, near = np.array(binning.edges), 1e-9 * max(1, np.abs(positions).max())
    assert len(edges) == bins + 1
    assert edges[0] == positions.min()
    assert positions.max() == positions.min() or abs(edges[-1] - positions.max()) <= near
    for row in range(30):
        counts = binning.count(positions[row : row + 1], np.array([row % 2]))
        ((answer, place),) = np.argwhere(counts).tolist()
        assert answer == row % 2
        assert edges[place] - near <= positions[row] <= edges[place + 1] + near


def test_bin_counts_match_numpys_histogram():
    """Stacked labellings give stacked counts."""
    rng = np.random.default_rng(2)
    positions, labels = rng.normal(size=(5, 80)), rng.integers(0, 2, (5, 80))
    low_high = (positions.min(), positions.max())
    binning = Binning.from_range(*low_high, 25)
    wanted = [
        [np.histogram(at[own == answer], 25, low_high)[0].tolist() for answer in (0, 1)]
        for at, own in zip(positions, labels, strict=True)
    ]
    assert binning.count(positions, labels).tolist() == wanted
    assert [
        binning.count(at, own).tolist() for at, own in zip(positions, labels, strict=True)
    ] == wanted
    assert (binning.count(positions[0], labels) == [
        binning.count(positions[0], each) for each in labels
    ]).all()  # fmt: skip


def test_positions_outside_the_range_count_in_the_end_bins():
    counts = Binning.from_range(0, 1, 4).count(np.array([-9.0, 0.3, 9.0]), np.array([0, 0, 1]))
    assert counts.tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]


def test_first_labelling_is_measured_against_the_others():
    """The null's mean, limits and p-value are those of the others; p counts the first, too."""
    rng = np.random.default_rng(0)
    bins, positions, labels = Binning.from_range(0, 1, 10), rng.random(300), rng.random((41, 300))
    counts = bins.count(positions, labels > 0.5)
    found = make_histograms(bins, positions, labels > 0.5, False)
    each = [float(compute_divergence(*pair, smoothing=0.5)) for pair in counts]
    assert found.kl == each[0]
    assert found.counts == tuple(map(tuple, counts[0].tolist()))
    assert found.null is not None
    assert found.null.mean == pytest.approx(np.mean(each[1:]))
    assert found.null.high == pytest.approx(sorted(each[1:])[-2])  # ⌊0.05 · 41⌋ = 2
    assert found.null.p == sum(kl >= each[0] for kl in each) / 41
    assert found.null.draws == pytest.approx(each[1:])
    assert found.null.value == found.kl


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    """Return an assessment of two subsets, one of them without a KL divergence."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 100)
    X = rng.normal(size=(200, 5)) * [5, 4, 3, 2, 1]
    X[:, 0] += 6 * y
    subsets = {"all": range(200), "<AFLite>": range(0, 200, 2)}
    settings = AssessmentSettings(draws=20, points=50)
    return assess(X, y, subsets, flips_sign=False, settings=settings)


def test_table_shows_the_numbers_of_the_json(assessment):
    *drawings, table = make_assessment_blocks(assessment, "data:0")
    assert isinstance(table, report.Table)
    held = asdict(assessment)["subsets"][0]
    for row, which in zip(table.rows, ("d1", "axis"), strict=False):
        null = held[which]["null"]
        assert list(row[3:6]) == [held[which]["kl"], null["mean"], null["high"]]
        assert row[6] == null["p"]
    assert [row[3] for row in table.rows[2:]] == [None, None]
    assert all(isinstance(drawing, report.Drawing) for drawing in drawings)


def test_histograms_state_that_problems_count_in_both_orders():
    """Only vectors that change sign with the order of the options are counted twice."""
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.tile([0, 1], 30)
    settings = AssessmentSettings(draws=20)
    for flips_sign in (True, False):
        found = assess(X, y, {"all": range(60)}, flips_sign=flips_sign, settings=settings)
        told = [str(block) for block in make_assessment_blocks(found)]
        assert any("in both orders of its options" in text for text in told) == flips_sign


def test_charts_cover_each_subset_and_describe_its_divergence(assessment):
    blocks = make_assessment_blocks(assessment, "data:0")
    clouds, histograms, axes = (b for b in blocks if isinstance(b, report.Drawing))
    assert [len(drawing.charts) for drawing in (clouds, histograms, axes)] == [2] * 3
    kl = assessment.subsets[0].d1.kl
    assert f"KL {kl:.3f} (noise " in histograms.charts[0].description
    assert "KL is undefined, because one answer is missing" in histograms.charts[1].description


def test_note_states_that_d1_is_within_the_null(assessment):
    def notes(found: Assessment) -> list[str]:
        blocks = make_assessment_blocks(found)
        return [block.paragraphs[0] for block in blocks if isinstance(block, report.Text)]

    rng = np.random.default_rng(1)
    blind = assess(rng.normal(size=(60, 4)), np.tile([0, 1], 30), {"raw": range(60)},
                   settings=AssessmentSettings(draws=20))  # fmt: skip
    assert notes(assessment) == []
    (note,) = notes(blind)
    assert "no further apart in “raw” than by chance" in note


def test_subset_names_are_escaped_on_the_page(assessment):
    blocks = make_assessment_blocks(assessment, "data:0")
    html = report.render_page("t", [report.Section("s", blocks)])
    assert "<AFLite>" not in html
    assert html.count("&lt;AFLite&gt;") >= 5
    assert html.count('class="signature"') == 3
