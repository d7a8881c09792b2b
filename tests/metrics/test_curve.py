"""Learning curves: their area, and the training size at which each form reaches humans."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t

from winosmith import answers
from winosmith.errors import DataError
from winosmith.metrics import FORMS, LEADERBOARD_SIZES, area_under_curve, fit_learning_curve
from winosmith.metrics._curve import _find_first_size

DEV = (0.515, 0.586, 0.669, 0.758, 0.793)
TEST = (0.504, 0.586, 0.676, 0.747, 0.791)
"""RoBERTa's accuracy by training size: WinoGrande, table 4."""


def runs(accuracies: tuple[float, ...], last: int = 40398) -> dict[int, list[float]]:
    """Return one run for each size of table 4."""
    return {s: [a] for s, a in zip((*LEADERBOARD_SIZES[:-1], last), accuracies, strict=True)}


@pytest.mark.parametrize(
    ("accuracies", "last", "area"),
    [(DEV, 40398, 0.6665), (TEST, 40398, 0.6639), (DEV, 40938, 0.6668), (TEST, 40938, 0.6641)],
)
def test_area_matches_table_4(accuracies, last, area):
    """The areas are 0.6665 and 0.6639; with the table's 40,938, 0.6668 and 0.6641."""
    sizes = (*LEADERBOARD_SIZES[:-1], last)
    assert round(area_under_curve(accuracies, sizes), 4) == area


@pytest.mark.data
def test_area_of_the_published_random_submission(data_dir):
    """The repository states this area, 0.49790659794358966, on dev."""
    keys = answers.read_labels(data_dir / "winogrande/dev-labels.lst")
    path = data_dir / "winogrande_predictions/zhang-edward_random_preds.lst"
    columns = answers.read_submission(path)
    accuracies = [
        sum(a == b for a, b in zip(keys, column, strict=True)) / len(keys)
        for column in columns.values()
    ]
    assert area_under_curve(accuracies) == pytest.approx(0.49790659794358966, abs=1e-16)


@given(st.floats(0, 1))
def test_area_of_a_flat_curve_is_its_height(height):
    assert area_under_curve([height] * 5) == pytest.approx(height)


def test_area_is_over_the_logarithm_of_the_size():
    """From 1 problem to 2 and to 4 are two equal steps: (0.5 / 2 + 0.6 + 0.9 / 2) / 2."""
    assert area_under_curve([0.5, 0.6, 0.9], [1, 2, 4]) == pytest.approx(0.65)


@pytest.mark.parametrize("sizes", [(160,), (160, 160), (640, 160), (0, 160), (160, 640, 2558)])
def test_invalid_sizes_are_refused(sizes):
    with pytest.raises(DataError):
        area_under_curve([0.5, 0.6][: max(1, len(sizes))], sizes)


@pytest.mark.parametrize(
    ("accuracies", "last", "human", "fourth_root", "logarithm"),
    [
        (DEV, 40398, 0.941, 118_468, 490_830),
        (DEV, 40938, 0.941, 120_043, 497_700),
        (TEST, 40398, 0.940, 119_740, 488_433),
        (TEST, 40938, 0.940, 121_327, 495_259),
    ],
)
def test_papers_118k_is_the_fourth_root_extrapolation(
    accuracies, last, human, fourth_root, logarithm
):
    """The paper's "over 118K" is the line in N^(1/4) through dev; other forms give far more."""
    found = fit_learning_curve(runs(accuracies, last), human=human)
    reaches = {each.form.name: each.reaches for each in found.extrapolations}
    assert len(reaches) == len(FORMS) == 5
    assert reaches["fourth root"] == pytest.approx(fourth_root, abs=1)
    assert reaches["logarithm"] == pytest.approx(logarithm, abs=1)
    power = reaches["power law"]
    assert power > 10_000_000


def test_fourth_root_predicts_the_last_size_poorly():
    """Without 40,398, it predicts 91.9 %, the power law 79.2 %; 79.3 % was observed."""
    found = {e.form.name: e.last for e in fit_learning_curve(runs(DEV)).extrapolations}
    assert found["fourth root"] == pytest.approx(0.919, abs=5e-4)
    assert found["power law"] == pytest.approx(0.792, abs=5e-4)


def test_interval_of_a_straight_line_is_fiellers():
    """Its ends are where the textbook confidence band of a line in log2 N crosses the level."""
    found = fit_learning_curve(runs(DEV), human=0.9).extrapolations[1]
    x, y = np.log2(LEADERBOARD_SIZES), np.array(DEV)
    slope, intercept = np.polyfit(x, y, 1)
    error = np.sqrt(((y - intercept - slope * x) ** 2).sum() / 3)
    for end, sign in zip(found.interval, (1, -1), strict=True):
        at = np.log2(end)
        wide = error * np.sqrt(1 / 5 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
        assert intercept + slope * at + sign * t.ppf(0.975, 3) * wide == pytest.approx(
            0.9, abs=1e-5
        )
    assert found.error == pytest.approx(error)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_form_recovers_its_own_curve(form):
    true = {
        "fourth root": (0.45, 0.02),
        "logarithm": (0.3, 0.03),
        "logistic": (-4.0, 0.3),
        "power law": (0.2, 0.15),
        "power law, asymptote": (0.5, 0.25, 0.08),
    }[form.name]
    sizes = np.array([100, 400, 1600, 6400, 25600, 102400])
    exact = form.curve(np.log2(sizes), *true)
    curve = fit_learning_curve({int(s): [float(a)] for s, a in zip(sizes, exact, strict=True)})
    found = next(e for e in curve.extrapolations if e.form is form)
    assert found.parameters == pytest.approx(true, rel=1e-3)
    ahead = form.curve(np.log2([1e6]), *true)
    assert found.predict([1e6]) == pytest.approx(ahead, abs=1e-4)
    assert found.last == pytest.approx(exact[-1], abs=1e-3)


def test_asymptote_below_the_level_is_never_reached():
    sizes = 100 * 4 ** np.arange(7)
    exact = 0.92 - 2 ** (0.5 - 0.25 * np.log2(sizes))
    curve = fit_learning_curve({int(s): [float(a)] for s, a in zip(sizes, exact, strict=True)})
    found = next(e for e in curve.extrapolations if e.form.name == "power law, asymptote")
    assert (found.reaches, found.interval[1]) == (None, None)


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ((0.9, 0.8, 0.7), 2),  # reached at the first size
        ((0.5, 0.6, 1.0), 2**2.5),  # halfway between the second size and the last
        ((np.nan, 0.8, 0.9), 4),  # at the first size with a computable value
        ((0.5, 0.6, 0.7), None),
    ],
)
def test_size_at_a_level_is_interpolated(values, size):
    assert _find_first_size(np.array([1.0, 2, 3]), np.array(values), 0.8) == pytest.approx(size)


def test_curve_goes_through_the_best_runs_or_their_means():
    """The paper takes the best run of each size."""
    several = {160: [0.5, 0.52], 640: [0.5, 0.58], 2558: [0.66, 0.5], 10234: [0.75]}
    best, mean = fit_learning_curve(several), fit_learning_curve(several, take="mean")
    assert [point.taken for point in best.points] == [0.52, 0.58, 0.66, 0.75]
    assert mean.points[1].taken == pytest.approx(0.54)
    assert best.points[3].spread is None
    assert best.points[1].spread == pytest.approx(0.08 / 2**0.5)  # n − 1 of two
    assert best.area > mean.area


@pytest.mark.parametrize(
    ("given_runs", "reason"),
    [
        (
            {160: [0.5], 640: [0.6]},
            "there are 2 training sizes; a learning curve needs three or more",
        ),
        (
            {160: [0.5], 640: [], 700: [0.5]},
            "every training size must be 1 or more and have at least one run",
        ),
        ({160: [51.5], 640: [0.6], 700: [0.5]}, "an accuracy must be between 0 and 1, not 51.5"),
    ],
)
def test_invalid_curves_are_refused(given_runs, reason):
    with pytest.raises(DataError, match=reason):
        fit_learning_curve(given_runs)


def test_curve_through_all_points_has_no_interval():
    """Rounded accuracies may be on the curve by chance."""
    found = fit_learning_curve({100: [0.5], 1000: [0.6], 10000: [0.7]}).extrapolations
    intervals = {one.form.name: one.interval for one in found}
    assert intervals["logarithm"] is None
    assert intervals["power law"] is not None


def test_intervals_from_three_sizes_are_wide():
    """They span a factor of 50 or more, and forms with three parameters are not fitted."""
    three = {160: [0.515], 640: [0.586], 2558: [0.669]}
    found = fit_learning_curve(three, human=0.94).extrapolations
    for low, high in (e.interval for e in found):
        assert low is not None
        assert high is None or high > 50 * low
    assert {e.form.parameters for e in found} == {2}


@pytest.mark.parametrize(
    "accuracies",
    [
        [0.5] * 5,
        [1.0] * 5,
        [0.0] * 5,
        [0.9, 0.8, 0.7, 0.6, 0.5],
        [0.5, 0.5, 0.5, 0.5, 1.0],
        [0.1, 0.9, 0.2, 0.8, 0.3],
    ],
)
def test_curves_of_any_shape_give_finite_parameters(accuracies):
    found = fit_learning_curve(runs(tuple(accuracies))).extrapolations
    assert {"fourth root", "logarithm"} <= {each.form.name for each in found}
    for each in found:
        low, high = each.interval
        assert np.isfinite(each.parameters).all()
        assert high is None or (low is not None and low <= high)
        assert each.reaches is None or (low is not None and low <= each.reaches)


def test_third_size_is_predicted_from_the_first_two():
    """Without the largest size, forms with two parameters go through the other two points."""
    found = fit_learning_curve({100: [0.6], 1000: [0.7], 10000: [0.79]}).extrapolations
    last = {each.form.name: each.last for each in found}
    assert last["logarithm"] == pytest.approx(0.8)
    assert last["power law"] == pytest.approx(1 - 0.3**2 / 0.4)
    assert "power law, asymptote" not in last


def test_level_below_all_sizes_is_reached_at_the_first():
    found = fit_learning_curve({100: [0.6], 1000: [0.7], 10000: [0.79]}, human=0.5).extrapolations
    assert [each.reaches for each in found[1:]] == [100.0] * 3
