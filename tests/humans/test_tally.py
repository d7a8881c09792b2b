"""Trends over a sheet, accuracy over people and items, and counts that match printed scores."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from winosmith.errors import DataError
from winosmith.humans import PrintedTest, check_grim
from winosmith.humans._tally import measure_accuracy, measure_trend
from winosmith.metrics import wilson_interval

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(seed: int, orders: int) -> Drawn:
    """Draw results of 6 subjects on 8 items, with positions and seconds."""
    rng = np.random.default_rng([seed, orders])
    right = rng.integers(0, 2, (6, 8)).astype(float)
    right[0, 0] = np.nan
    one = rng.permutation(8) + 1
    places = np.array([rng.permutation(8) + 1 if orders > 1 else one for _ in right])
    seconds = rng.gamma(5, 4, right.shape)
    seconds[1, 2:4] = np.nan
    return right, places, seconds


@pytest.mark.parametrize("seed", range(4))
def test_trend_of_one_order_is_the_mean_slope_of_subjects(seed: int) -> None:
    """Its interval is Student's t interval of these slopes. Unanswered items don't count."""
    right, places, seconds = drawn(seed, 1)
    found = measure_trend(right, places, seconds, 8)
    assert found is not None
    assert not found.is_adjusted_for_items
    unasked = (np.ones(6), np.zeros(6, int), np.full(6, 9.0))
    wider = (np.column_stack(pair) for pair in zip((right, places, seconds), unasked, strict=True))
    assert measure_trend(*wider, 8) == found
    for values, line in ((right, found.right), (seconds + 0 * right, found.seconds)):
        known = ~np.isnan(values)
        slopes = [
            np.polyfit((at[is_] - 1) / 7, value[is_], 1)[0]
            for at, value, is_ in zip(places, values, known, strict=True)
        ]
        assert line is not None
        assert (line.change, line.subjects) == (pytest.approx(np.mean(slopes)), 6)
        assert line.interval == pytest.approx(
            stats.t.interval(0.95, 5, np.mean(slopes), stats.sem(slopes))
        )


@pytest.mark.parametrize("seed", range(4))
def test_trend_of_several_orders_matches_statsmodels(seed: int) -> None:
    """The regression has dummies of people and items; the larger of two standard errors counts."""
    right, places, seconds = drawn(seed, 6)
    found = measure_trend(right, places, seconds, 8)
    assert found is not None
    assert found.is_adjusted_for_items
    for values, line in ((right, found.right), (seconds + 0 * right, found.seconds)):
        who, what = np.nonzero(~np.isnan(values))
        dummies = np.hstack([np.eye(6)[who], np.eye(8)[what][:, 1:]])
        along = (places[who, what, None] - 1) / 7
        model = OLS(values[who, what], np.hstack([along, dummies]))
        alone, together = (
            model.fit(),
            model.fit(cov_type="cluster", cov_kwds={"groups": who}, use_t=True),
        )
        halves = [np.ptp(fit.conf_int()[0]) / 2 for fit in (alone, together)]
        assert line is not None
        assert line.interval is not None
        assert line.change == pytest.approx(alone.params[0])
        assert np.ptp(line.interval) / 2 == pytest.approx(max(halves), rel=1e-6)


def test_trend_of_two_orders_is_unbiased() -> None:
    """At least 94 % of 200 intervals contain the true change."""
    rng, held, changes = np.random.default_rng(0), 0, []
    for _ in range(200):
        first = rng.permutation(40)
        places = np.array([first, (first + 20) % 40] * 5)[:9] + 1
        level = 0.75 + rng.uniform(-0.2, 0.1, 40) + rng.normal(0, 0.03, (9, 1))
        right = (rng.random((9, 40)) < level - 0.15 * (places / 40 - 0.5)).astype(float)
        found = measure_trend(right, places, np.full((9, 40), np.nan), 40)
        assert found is not None
        assert found.right is not None
        assert found.right.interval is not None
        low, high = found.right.interval
        held += low <= -0.15 * 39 / 40 <= high
        changes.append(found.right.change)
    assert held >= 188
    assert np.mean(changes) == pytest.approx(-0.15, abs=0.02)


def test_items_of_one_person_are_ignored_in_several_orders() -> None:
    """Such an answer can't be compared with others on its item."""
    right = np.array([[1, 0, 1], [0, 1, np.nan]])
    found = measure_trend(right, np.array([[1, 2, 3], [2, 1, 0]]), np.full((2, 3), np.nan), 3)
    assert found is not None
    assert found.right is not None
    assert (found.right.change, found.right.subjects, found.right.interval) == (-2, 2, None)
    assert found.seconds is None


def test_skipped_items_do_not_make_another_order() -> None:
    right = np.array([[1, 0, 1], [0, 1, np.nan]])
    found = measure_trend(right, np.array([[1, 2, 3], [1, 2, 0]]), np.full((2, 3), np.nan), 3)
    assert found is not None
    assert not found.is_adjusted_for_items
    assert found.right is not None


@pytest.mark.parametrize(
    ("length", "parts"),
    [(3, [(1, 1), (2, 2), (3, 3)]), (40, [(at + 1, at + 5) for at in range(0, 40, 5)])],
)
def test_sheet_is_divided_into_at_most_eight_parts(
    length: int, parts: list[tuple[int, int]]
) -> None:
    places = np.arange(length)[None] + 1
    found = measure_trend(np.ones((1, length)), places, np.full((1, length), np.nan), length)
    assert found is not None
    assert [(part.first, part.last) for part in found.parts] == parts


@pytest.mark.parametrize("shape", [(3, 6), (2, 7), (6, 3), (8, 12), (9, 9), (1, 5), (5, 1)])
def test_accuracy_has_the_variance_of_people_and_items(shape: tuple[int, int]) -> None:
    """The variances of both means are added, and that of single answers is subtracted.

    Student's t has the degrees of freedom of the smaller side.
    """
    k, m = shape
    able, easy = np.linspace(0, 1, k)[:, None], np.linspace(0, 1, m)
    right = (np.random.default_rng(5).random(shape) < (able + easy) / 2).astype(float)
    right[0, 0], right[-1, -1] = 0, 1
    value, n = right.mean(), k * m
    of_people = [right[i].mean() for i in range(k)]
    of_items = [right[:, j].mean() for j in range(m)]
    parts = [np.var(of, ddof=1) / len(of) for of in (of_people, of_items) if len(of) > 1]
    shared = right.var() / n if min(shape) > 1 else 0
    alike = min(n, value * (1 - value) / max(sum(parts) - shared, *parts, 0))
    smaller = min(size for size in shape if size > 1)
    independent = alike * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, smaller - 1)) ** 2
    found = measure_accuracy(right)
    assert (found.right, found.n, found.clusters) == (right.sum(), n, min(shape))
    assert found.design_effect == pytest.approx(n / alike)
    assert found.interval == pytest.approx(wilson_interval(value * independent, independent))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_true_counts_are_possible_for_their_printed_scores(right: list[int]) -> None:
    histogram = {len(right): 0, 0: 60}
    test = PrintedTest(60, {f"S{at}": f"{k / 60:.2f}" for at, k in enumerate(right)}, histogram)
    found = check_grim(test)
    assert all(k in found.possible[f"S{at}"] for at, k in enumerate(right))
    assert found.by_subject[0] <= sum(right) <= found.by_subject[1]


def test_ambiguous_scores_give_a_range_of_sums() -> None:
    """0.50 of 300 may be 149, 150 or 151."""
    found = check_grim(PrintedTest(300, {"a": "0.50", "b": "1.00"}, {2: 150, 1: 150}))
    assert found.possible["a"] == (149, 150, 151)
    assert found.by_subject == (448, 451)
    assert found.is_consistent
    assert found.infer_count("b") is None


def test_impossible_score_allows_any_count() -> None:
    """0.50 isn't k/3, rounded up or down."""
    found = check_grim(PrintedTest(3, {"a": "0.50", "b": "1.00"}, {2: 1, 1: 2}))
    assert (found.other_roundings, found.by_subject) == ({"a": ()}, (3, 6))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((3, {"a": "0.5"}, {1: 2}), "the histogram has 2 problems, not 3"),
        ((1, {"a": "0.5"}, {2: 1}), "has more people than the 1 subjects"),
    ],
)
def test_contradictory_printed_test_is_refused(parts: tuple, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        PrintedTest(*parts)
