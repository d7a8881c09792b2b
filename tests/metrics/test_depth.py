"""Families are counted, their depths compared, and error depths are those of EvoGrad's table 3."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset
from winosmith.errors import DataError
from winosmith.lineage import make_child
from winosmith.metrics import compute_lineage_statistics, error_depth
from winosmith.testing import make_families, make_twins

TABLE_3 = ([1, 2, 5, 6, 5], [False, False, True, True, True])
"""EvoGrad, table 3: the printed depths, and whether the prediction was wrong."""

CASES = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30)


def test_the_example_of_table_3() -> None:
    """The mean is (5 + 6 + 5) / 3 = 5.33, as the paper has it; the first error is at 5."""
    assert round(error_depth(*TABLE_3) or 0, 2) == 5.33
    assert error_depth(*TABLE_3, kind="first") == 5


@given(CASES)
def test_the_first_error_is_no_deeper_than_the_mean(cases: list[tuple[int, bool]]) -> None:
    """Both depths are those of errors alone, and None together when there is none."""
    depths, wrong = [depth for depth, _ in cases], [error for _, error in cases]
    errors = [depth for depth, error in cases if error]
    mean, first = error_depth(depths, wrong), error_depth(depths, wrong, "first")
    if errors:
        assert mean == pytest.approx(sum(errors) / len(errors))
        assert first == min(errors)
    else:
        assert mean is None
        assert first is None


@pytest.mark.parametrize(
    ("depths", "wrong", "kind", "complaint"),
    [
        ([1, 2], [True], "mean", r"the shapes \(2,\) and \(1,\)"),
        ([1, -2], [True, False], "mean", "missing or negative"),
        ([1, None], [True, False], "mean", "missing or negative"),
        ([1], [True], "median", "unknown kind 'median'; use 'mean' or 'first'"),
    ],
)
def test_what_can_not_be_an_error_depth_is_refused(
    depths: list[int], wrong: list[bool], kind: str, complaint: str
) -> None:
    """Rows of different lengths, depths that are none and unknown kinds are errors."""
    with pytest.raises(DataError, match=complaint):
        error_depth(depths, wrong, kind)


def test_families_and_depths_are_counted() -> None:
    """Two families of three and two perturbed problems, one of which declares two too many."""
    data = make_families([1, 2, 6], [3, 3])
    odd = replace(data[1], lineage=replace(data[1].lineage, declared=3))
    found = compute_lineage_statistics(Dataset([data[0], odd, *data[2:]]))
    assert found is not None
    assert (found.families, found.perturbed, found.unvalidated, found.largest) == (2, 5, 0, 4)
    declared = found.depths["declared"]
    assert (declared.known, declared.mean, declared.greatest, declared.equal) == (5, 3.4, 6, 4)
    assert found.depths["edit"].mean == 3.0
    assert found.example == odd.id
    assert found.example_depths == {"declared": 3, "lineage": 1, "edit": 1}
    assert json.loads(json.dumps(found.record())) == found.record()


def test_what_people_have_not_judged_is_counted() -> None:
    """A generated problem declares nothing, and is unvalidated."""
    root = make_twins(1)[0]
    child = make_child(root, f"Then {root.sentence}", root.options, 0, source="wordnet")
    found = compute_lineage_statistics(Dataset([root, child]))
    assert found is not None
    assert (found.unvalidated, found.depths["declared"].mean, found.example) == (1, None, None)


@pytest.mark.parametrize("data", [make_twins(3), Dataset()])
def test_without_a_lineage_there_is_nothing_to_count(data: Dataset) -> None:
    """Data in which nothing was perturbed has no such statistics."""
    assert compute_lineage_statistics(data) is None
