"""A table with the printed margins is found whenever there is one."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.conftest import examples
from winosmith.errors import DataError
from winosmith.humans import PrintedTest, fit_matrix, matrix_of_margins, repairs

TABLES = arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 12)))


def printed(table: np.ndarray, weakest: int = 0) -> PrintedTest:
    """Return the margins of a table as a paper would print them."""
    people, items = table.shape
    names = [f"S{at}" for at in range(people)]
    return PrintedTest(
        items,
        {name: f"{row.mean():.2f}" for name, row in zip(names, table, strict=True)},
        dict(Counter(table.sum(axis=0).tolist())),
        tuple(names[:weakest]),
        dict(Counter(table[weakest:].sum(axis=0).tolist())) if weakest else {},
    )


@given(TABLES)
def test_the_margins_of_any_table_have_a_table(table: np.ndarray) -> None:
    """Gale's construction meets all row and column sums of a table that exists."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    found = matrix_of_margins(rows.tolist(), columns.tolist())
    assert found is not None
    assert np.array_equal(found.sum(axis=1), rows)
    assert np.array_equal(found.sum(axis=0), columns)


def test_small_margins_have_a_table_exactly_when_trying_all_finds_one() -> None:
    """For 3 × 3, construction and enumeration of all 512 tables agree on all margins."""
    there = {
        (tuple(t.sum(axis=1)), tuple(t.sum(axis=0)))
        for cells in product((0, 1), repeat=9)
        for t in [np.reshape(cells, (3, 3))]
    }
    for rows in product(range(4), repeat=3):
        for columns in product(range(4), repeat=3):
            found = matrix_of_margins(rows, columns)
            assert (found is not None) == ((rows, columns) in there)


@examples(40)
@given(TABLES, st.integers(0, 2))
def test_what_is_printed_of_a_table_is_met(table: np.ndarray, weakest: int) -> None:
    """The printed margins of a table, weakest subjects left out or not, are met by some table."""
    test = printed(table, min(weakest, len(table) - 1))
    found = fit_matrix(test).matrix
    assert found is not None
    for row, score in zip(found, test.scores.values(), strict=True):
        assert abs(row.mean() - float(score)) <= 0.005 + 1e-9
    levels = Counter(found.sum(axis=0).tolist())
    assert levels == {k: n for k, n in test.histogram.items() if n}
    strong = found[[who not in test.weakest for who in test.scores]].sum(axis=0)
    if test.without:
        assert Counter(strong.tolist()) == {k: n for k, n in test.without.items() if n}
    assert repairs(test) == {}


def test_equal_sums_alone_are_not_enough() -> None:
    """Rows of 3, 3, 0 and columns of 3, 2, 1 sum to 6, and yet no table has them."""
    test = PrintedTest(3, {"a": "1.00", "b": "1.00", "c": "0.00"}, {3: 1, 2: 1, 1: 1})
    found = fit_matrix(test)
    assert found.matrix is None
    assert "Gale and Ryser" in found.reason


def test_the_histogram_without_the_weakest_can_rule_a_table_out() -> None:
    """Margins that fit alone may not fit with a second histogram."""
    test = PrintedTest(2, {"a": "0.50", "b": "1.00"}, {2: 1, 1: 1}, ("a",), {1: 1, 0: 1})
    assert fit_matrix(PrintedTest(2, test.scores, test.histogram)).matrix is not None
    assert fit_matrix(test).matrix is None


def test_a_count_of_a_stranger_is_refused() -> None:
    """A count can only stand for a printed score."""
    with pytest.raises(DataError, match="no printed score of 'z'"):
        fit_matrix(PrintedTest(1, {"a": "1.00"}, {1: 1}), {"z": 1})
