"""What a filter found of the planted, and what else it took."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.errors import DataError
from winosmith.practice import Share, found

IDS = st.sets(st.integers(0, 50).map(str))


@given(
    ids=IDS,
    planted=st.dictionaries(st.integers(0, 50).map(str), st.sampled_from("abc")),
    data=st.data(),
)
def test_counts_add_up(ids, planted, data):
    """Planted and sound are the input, and what was found and taken is what was dropped."""
    dropped = data.draw(st.sets(st.sampled_from(sorted(ids))) if ids else st.just(set()))
    result = found(planted, ids, dropped)
    assert result.recall.total + result.false_removals.total == len(ids)
    assert result.recall.count + result.false_removals.count == len(dropped)
    assert sum(kind.total for kind in result.by_kind.values()) == result.recall.total
    assert sum(kind.count for kind in result.by_kind.values()) == result.recall.count
    assert result.precision == Share(result.recall.count, len(dropped))


def test_dropping_exactly_the_planted_is_perfect():
    """A filter that drops the planted and nothing else has recall 1 and no false removal."""
    result = found({"a": "length", "b": "position"}, ["a", "b", "c"], ["b", "a"])
    assert (result.recall.value, result.false_removals.value) == (1.0, 0.0)
    assert result.by_kind == {"length": Share(1, 1), "position": Share(1, 1)}


def test_what_the_filter_did_not_see_does_not_count():
    """A planted problem that an earlier step dropped is no miss of this filter."""
    assert found({"a": "length", "b": "length"}, ["a"], ["a"]).recall == Share(1, 1)


def test_a_share_of_nothing_has_no_value():
    """Without planted problems there is no recall, rather than a zero."""
    assert found({}, ["a"], []).recall.value is None


def test_a_dropped_problem_that_did_not_go_in_is_refused():
    """Ids that do not match are an error, not a silent zero."""
    with pytest.raises(DataError, match="'z' was dropped but did not go in"):
        found({}, ["a"], ["z"])
