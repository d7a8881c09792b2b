"""Cells that a spreadsheet would run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.outputs import guarded, unguarded


@given(st.text(alphabet="'=+-@\t\r\n ab＝"))
def test_a_guarded_cell_comes_back(cell: str) -> None:
    """Whatever stands in a cell is the same after guarding and unguarding."""
    assert unguarded(guarded(cell)) == cell


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=\n1", " =1", "=", "＝1"]
)
def test_no_formula_is_left(cell: str) -> None:
    """What a spreadsheet takes for a formula begins with an apostrophe afterwards."""
    assert guarded(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["a=b", "The cup is -1 _.", "", "'tis the _", " a"])
def test_other_cells_stay(cell: str) -> None:
    """What is no formula is left as it is."""
    assert guarded(cell) == cell
