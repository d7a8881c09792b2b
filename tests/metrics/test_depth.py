"""Statistics of families and their depths, and error depths as in EvoGrad's table 3."""

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
"""EvoGrad, table 3: the printed depths, and whether each prediction was incorrect."""

CASES = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30)


def test_error_depths_match_table_3() -> None:
    """The paper's mean is (5 + 6 + 5) / 3 = 5.33."""
    assert round(error_depth(*TABLE_3) or 0, 2) == 5.33
    assert error_depth(*TABLE_3, kind="first") == 5


@given(CASES)
def test_error_depths_are_none_without_errors(cases: list[tuple[int, bool]]) -> None:
    """Otherwise they are the mean and the minimum of the errors' depths."""
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
def test_invalid_error_depth_arguments_are_refused(
    depths: list[int], wrong: list[bool], kind: str, complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        error_depth(depths, wrong, kind)


def test_families_and_depths_are_counted() -> None:
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


def test_generated_problem_counts_as_unvalidated() -> None:
    root = make_twins(1)[0]
    child = make_child(root, f"Then {root.sentence}", root.options, 0, source="wordnet")
    found = compute_lineage_statistics(Dataset([root, child]))
    assert found is not None
    assert (found.unvalidated, found.depths["declared"].mean, found.example) == (1, None, None)


@pytest.mark.parametrize("data", [make_twins(3), Dataset()])
def test_data_without_lineage_have_no_such_statistics(data: Dataset) -> None:
    assert compute_lineage_statistics(data) is None
