"""Error depth, and the figures of EvoGrad's table 3; those of table 4 are told with the study."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.errors import DataError
from winosmith.metrics import error_depth

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
        ([1, 2], [True], "mean", r"depths for \(2,\) problems, and errors for \(1,\)"),
        ([1, -2], [True, False], "mean", "missing or negative"),
        ([1, None], [True, False], "mean", "missing or negative"),
        ([1], [True], "median", "'mean' or 'first', not 'median'"),
    ],
)
def test_what_can_not_be_an_error_depth_is_refused(
    depths: list[int], wrong: list[bool], kind: str, complaint: str
) -> None:
    """Rows of different lengths, depths that are none and unknown kinds are errors."""
    with pytest.raises(DataError, match=complaint):
        error_depth(depths, wrong, kind)  # type: ignore[arg-type]
