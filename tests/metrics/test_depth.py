"""Error depth, and the figures of EvoGrad's tables 3 and 4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.errors import DataError
from winosmith.metrics import error_depth, possible_counts, possible_sums

TABLE_3 = ([1, 2, 5, 6, 5], [False, False, True, True, True])
"""EvoGrad, table 3: the printed depths, and whether the prediction was wrong."""

TABLE_4 = [
    ("BERT, M", "60.4", 202, "6.913", 80, (553,)),
    ("RoBERTa, M", "58.4", 202, "6.762", 84, (568,)),
    ("ALBERT, M", "55.4", 202, "6.989", 90, (629,)),
    ("GPT-3, M", "59.41", 202, "7.122", 82, (584,)),
    ("GPT-3.5, M", "67.33", 202, "7.061", 66, (466,)),
    ("BERT, L", "54.9", 526, "6.867", 237, ()),
    ("RoBERTa, L", "60.3", 526, "6.727", 209, (1406,)),
    ("ALBERT, L", "57.2", 526, "6.853", 225, (1542,)),
    ("GPT-3, L", "56.08", 526, "6.753", 231, (1560,)),
    ("GPT-3.5, L", "65.02", 526, "7.245", 184, (1333,)),
]
"""EvoGrad, table 4: model and validation set, accuracy as printed, problems, error depth as
printed; then the errors that the accuracy leaves, and the sums of depths that print so."""

CASES = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30)


def test_the_example_of_table_3() -> None:
    """The mean is (5 + 6 + 5) / 3 = 5.33, as the paper has it; the first error is at 5."""
    assert round(error_depth(*TABLE_3) or 0, 2) == 5.33
    assert error_depth(*TABLE_3, kind="first") == 5


@pytest.mark.parametrize(("cell", "accuracy", "n", "printed", "errors", "sums"), TABLE_4)
def test_the_cells_of_table_4_are_sums_over_counts(
    cell: str, accuracy: str, n: int, printed: str, errors: int, sums: tuple[int, ...]
) -> None:
    """Every cell is one whole sum of depths over its errors, but BERT's on L, which is none."""
    (right,) = possible_counts(accuracy, n)
    assert n - right == errors
    assert possible_sums(printed, errors) == sums
    assert possible_sums(printed, errors, rounding="any")[:1] == sums[:1]


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
