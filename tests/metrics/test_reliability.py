"""Fleiss' kappa and Krippendorff's alpha: published values, and reasons for missing values."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import needed
from winosmith.errors import DataError
from winosmith.metrics import count_answers, fleiss_kappa, krippendorff_alpha

FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""Ten subjects and fourteen raters: the worked example of textbooks and Wikipedia."""

PUBLISHED = {
    "two observers, binary": (["0100000010", "1110010000"], 0.095),
    "two observers, nominal": (["aabbdcccedda", "babbbccceddd"], 0.692),
    "four observers, missing": (
        ["123321412...", "1233224125..", ".33323422513", "12332441251."],
        0.743,
    ),
}
"""Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", parts A, B and C."""

COUNTS = st.integers(2, 4).flatmap(
    lambda categories: st.lists(
        st.lists(st.integers(0, 3), min_size=categories, max_size=categories),
        min_size=1,
        max_size=8,
    )
)


def count_table(people: list[str]) -> np.ndarray:
    """Return the counts of answers written as one text per person, "." for a missing answer."""
    known = "".join(sorted({*"".join(people)} - {"."}))
    items = zip(*people, strict=True)
    return count_answers([None if a == "." else known.index(a) for a in item] for item in items)


def test_fleiss_kappa_matches_the_textbook_example():
    found = fleiss_kappa(FOURTEEN)
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.interval[0] < 0.210 < found.interval[1]
    assert (found.items, found.answers, found.reason) == (10, 140, "")


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=9))
def test_fleiss_kappa_matches_statsmodels(answers):
    from statsmodels.stats.inter_rater import fleiss_kappa as oracle

    table = count_answers(answers, 3)
    found = fleiss_kappa(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by 0 if kappa is undefined
        expected = oracle(table)
    assert found.value == (pytest.approx(expected) if np.isfinite(expected) else None)
    assert bool(found.reason) == (found.value is None)


@pytest.mark.parametrize("name", PUBLISHED)
def test_alpha_matches_krippendorffs_examples(name):
    people, published = PUBLISHED[name]
    found = krippendorff_alpha(count_table(people))
    assert found.value == pytest.approx(published, abs=5e-4)
    assert found.interval[0] <= published <= found.interval[1]


def test_items_with_a_single_answer_do_not_count():
    """One item of the example was coded by one observer only."""
    found = krippendorff_alpha(count_table(PUBLISHED["four observers, missing"][0]))
    assert (found.items, found.answers) == (11, 40)


@given(COUNTS)
def test_alpha_matches_nltk(counts):
    agreement = needed("nltk.metrics.agreement")
    table = np.array([row for row in counts if sum(row) >= 2])
    if not len(table) or np.count_nonzero(table.sum(axis=0)) < 2:
        assert krippendorff_alpha(counts).value is None
        return
    said = [
        (f"person {number}", row, category)
        for row, item in enumerate(table)
        for number, category in enumerate(np.repeat(range(len(item)), item))
    ]
    assert krippendorff_alpha(counts).value == pytest.approx(agreement.AnnotationTask(said).alpha())


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[3, 0], [2, 0]], "all answers are the same"),
        ([[1, 0], [0, 1], [0, 0]], "no item has two answers or more"),
    ],
)
def test_undefined_values_are_none_with_a_reason(table, reason):
    for found in (fleiss_kappa(table), krippendorff_alpha(table)):
        assert (found.value, found.interval) == (None, None)
        assert found.reason.startswith(reason)
        assert found.record()["reason"] == found.reason


def test_fleiss_kappa_needs_equal_numbers_of_answers():
    table = [[3, 0], [1, 1], [0, 2]]
    assert fleiss_kappa(table).reason == (
        "the items have 2 to 3 answers; Fleiss' kappa needs the same number for each"
    )
    assert krippendorff_alpha(table).value is not None


@pytest.mark.parametrize(("items", "error"), [(10, 0.01), (30, 0.05), (100, 0.2)])
def test_intervals_contain_the_true_value(items, error):
    """In more than 90 % of 300 sets of items; many sets of 10 items agree fully."""
    rng = np.random.default_rng([items])
    wrong = rng.random((300, items, 3)) < error
    picks = (rng.integers(0, 2, (300, items, 1)) ^ wrong).sum(axis=2)
    true = 1 - 4 * error * (1 - error)
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        found = [coefficient(np.stack([3 - ones, ones], axis=1)).interval for ones in picks]
        known = [ends for ends in found if ends is not None]
        assert np.mean([low <= true <= high for low, high in known]) > 0.9


def test_intervals_of_rare_answers_contain_the_true_value():
    """Two people give each answer at random, and one answer in 10 is the rare one.

    In a third of the sets, no item has two rare answers.
    """
    picks = (np.random.default_rng(0).random((100, 100, 2)) < 0.1).sum(axis=2)
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        found = [coefficient(np.stack([2 - ones, ones], axis=1)).interval for ones in picks]
        assert np.mean([low <= 0 <= high for low, high in found]) > 0.9


def test_one_item_does_not_exclude_full_agreement():
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        assert coefficient(np.array([[2, 1]])).interval[1] == 1


def test_clustered_items_are_resampled_together():
    table = np.repeat(FOURTEEN, 2, axis=0)

    def width(clusters: np.ndarray | None) -> float:
        interval = fleiss_kappa(table, clusters=clusters).interval
        return interval[1] - interval[0]

    once = fleiss_kappa(FOURTEEN).interval
    assert width(np.arange(20) // 2) == pytest.approx(once[1] - once[0])
    assert width(None) < 0.85 * (once[1] - once[0])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([1, 2], r"has the shape \(2,\)"),
        ([[1, -1]], "cells that are not counts"),
        ([[0.5, 1]], "cells that are not counts"),
        ([[float("nan"), 1]], "cells that are not counts"),
        ([], "has the shape"),
    ],
)
def test_invalid_tables_of_counts_are_refused(table, reason):
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(DataError, match=reason):
            coefficient(table)


def test_wrong_number_of_clusters_is_refused():
    with pytest.raises(DataError, match="there are 2 clusters for 3 items"):
        krippendorff_alpha([[1, 1], [2, 0], [0, 2]], clusters=[0, 1])


def test_answer_out_of_range_is_refused():
    with pytest.raises(DataError, match="the answer 2 is out of range; use 0 to 1"):
        count_answers([(0, 2)], categories=2)
