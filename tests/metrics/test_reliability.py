"""Fleiss' kappa and Krippendorff's alpha have the published values, and say why they have none."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import needed
from winosmith.errors import DataError
from winosmith.metrics import count_answers, fleiss_kappa, krippendorff_alpha

FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""Ten subjects, fourteen raters: the example that textbooks and Wikipedia work through."""

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


def table_of(people: list[str]) -> np.ndarray:
    """Return the counts of answers that are written as one text a person, "." for a missing one."""
    known = "".join(sorted({*"".join(people)} - {"."}))
    items = zip(*people, strict=True)
    return count_answers([None if a == "." else known.index(a) for a in item] for item in items)


def test_fleiss_kappa_is_that_of_the_textbooks() -> None:
    """Ten subjects and fourteen raters give 0.210, inside the interval."""
    found = fleiss_kappa(FOURTEEN)
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.interval is not None
    assert found.interval[0] < 0.210 < found.interval[1]
    assert (found.items, found.answers, found.reason) == (10, 140, "")


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=9))
def test_fleiss_kappa_is_that_of_statsmodels(answers: list[list[int]]) -> None:
    """For any answers of four people, kappa is statsmodels', or both have none."""
    from statsmodels.stats.inter_rater import fleiss_kappa as oracle

    table = count_answers(answers, 3)
    found = fleiss_kappa(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by nothing where kappa is not defined
        expected = oracle(table)
    assert found.value == (pytest.approx(expected) if np.isfinite(expected) else None)
    assert bool(found.reason) == (found.value is None)


@pytest.mark.parametrize("name", PUBLISHED)
def test_alpha_is_that_of_krippendorffs_examples(name: str) -> None:
    """The three worked examples for nominal answers come out to the three digits printed."""
    people, published = PUBLISHED[name]
    found = krippendorff_alpha(table_of(people))
    assert found.value == pytest.approx(published, abs=5e-4)
    assert found.interval is not None
    assert found.interval[0] <= published <= found.interval[1]


def test_answers_without_a_second_one_do_not_count() -> None:
    """The item that one observer alone coded is left out: 11 items and 40 answers remain."""
    found = krippendorff_alpha(table_of(PUBLISHED["four observers, missing"][0]))
    assert (found.items, found.answers) == (11, 40)


@settings(deadline=None)
@given(COUNTS)
def test_alpha_is_that_of_nltk(counts: list[list[int]]) -> None:
    """For any table of counts, alpha is that of nltk's loops over pairs."""
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
def test_what_is_not_defined_has_no_value_and_says_why(table: list[list[int]], reason: str) -> None:
    """Without disagreement to expect, or without two answers, both are None with the reason."""
    for found in (fleiss_kappa(table), krippendorff_alpha(table)):
        assert (found.value, found.interval) == (None, None)
        assert found.reason.startswith(reason)
        assert found.record()["reason"] == found.reason


def test_fleiss_kappa_needs_as_many_answers_for_each_item() -> None:
    """Items with two and with three answers have an alpha, and no kappa, with the reason."""
    table = [[3, 0], [1, 1], [0, 2]]
    assert fleiss_kappa(table).reason == (
        "the items have 2 to 3 answers; Fleiss' kappa needs the same number for each"
    )
    assert krippendorff_alpha(table).value is not None


@pytest.mark.parametrize(("items", "error"), [(10, 0.01), (30, 0.05), (100, 0.2)])
def test_the_interval_holds_what_most_sets_of_items_would_show(items: int, error: float) -> None:
    """With 10 items on which all agree, too, it holds the true value 90 times in 100 or more."""
    rng = np.random.default_rng([items])
    wrong = rng.random((300, items, 3)) < error
    picks = (rng.integers(0, 2, (300, items, 1)) ^ wrong).sum(axis=2)
    true = 1 - 4 * error * (1 - error)
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        found = [coefficient(np.stack([3 - ones, ones], axis=1)).interval for ones in picks]
        known = [ends for ends in found if ends is not None]
        assert np.mean([low <= true <= high for low, high in known]) > 0.9


def test_items_that_go_together_are_drawn_together() -> None:
    """Each item twice in one cluster leaves kappa's interval as it was; taken apart, it shrinks."""
    table = np.repeat(FOURTEEN, 2, axis=0)

    def width(clusters: np.ndarray | None) -> float:
        interval = fleiss_kappa(table, clusters=clusters).interval
        assert interval is not None
        return interval[1] - interval[0]

    once = fleiss_kappa(FOURTEEN).interval
    assert once is not None
    assert width(np.arange(20) // 2) == pytest.approx(once[1] - once[0])
    assert width(None) < 0.85 * (once[1] - once[0])


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ([1, 2], r"has the shape \(2,\)"),
        ([[1, -1]], "cells that are not counts"),
        ([[0.5, 1]], "cells that are not counts"),
        ([[float("nan"), 1]], "cells that are not counts"),
        ([], "has the shape"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(table: list[object], told: str) -> None:
    """A table of another shape, negative or broken counts are named."""
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(DataError, match=told):
            coefficient(table)


def test_clusters_are_one_an_item() -> None:
    """Clusters of another number than the items are refused."""
    with pytest.raises(DataError, match="there are 2 clusters for 3 items"):
        krippendorff_alpha([[1, 1], [2, 0], [0, 2]], clusters=[0, 1])


def test_an_answer_beyond_the_categories_is_refused() -> None:
    """The table is made of numbers from 0, as many as there are categories."""
    with pytest.raises(DataError, match="the answer 2 is out of range; use 0 to 1"):
        count_answers([(0, 2)], categories=2)
