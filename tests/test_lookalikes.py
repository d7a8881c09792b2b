"""Pairs of word sets that share most of their words."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from winosmith import lookalikes
from winosmith.lookalikes import (
    PartnerCollector,
    find_pairs,
    make_jaccard_threshold,
    make_longer_set_threshold,
)

SHARES = st.sampled_from([0.5, 0.6, 0.7, 0.8, 1.0])
ROWS = st.lists(st.frozensets(st.sampled_from("abcdefghijk"), max_size=9), max_size=24)


@pytest.fixture(params=[1, 200_000], ids=["row by row", "at once"], autouse=True)
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search few rows by the method for many, row by row or in one step, with one neighbour."""
    monkeypatch.setattr(lookalikes, "_MAX_ROWS_FOR_ALL_PAIRS", 0)
    monkeypatch.setattr(lookalikes, "_MIN_ROWS_FOR_NEIGHBOURS", 0)
    monkeypatch.setattr(lookalikes, "_NEIGHBOURS", 1)
    monkeypatch.setattr(lookalikes, "_WORDS_PER_STEP", request.param)


def _compare_all(rows, share, longer, owners):
    """Return the similar pairs, by comparing all rows."""
    found = set()
    for one, other in combinations(range(len(rows)), 2):
        both = len(rows[one] & rows[other])
        of = max if longer else lambda a, b, both=both: a + b - both
        apart = owners is None or owners[one] != owners[other]
        if both and apart and both >= share * of(len(rows[one]), len(rows[other])):
            found.add((one, other))
    return found


def _count_partners(pairs, rows):
    return np.bincount([row for pair in pairs for row in pair], minlength=len(rows))


@given(ROWS, SHARES, st.booleans(), st.booleans(), st.integers(1, 3))
def test_all_pairs_that_share_most_words_are_found(rows, share, longer, owned, most):
    """With a limit of partners per row, each row has at least this many, or all that exist."""
    owners = np.arange(len(rows)) % 3 if owned else None
    wanted = _compare_all(rows, share, longer, owners)
    least = (make_longer_set_threshold if longer else make_jaccard_threshold)(share)
    found = PartnerCollector(np.full(len(rows), len(rows)), owners)
    find_pairs(rows, least, found, owners)
    assert found.pairs == wanted
    some = PartnerCollector(np.full(len(rows), most), owners)
    find_pairs(rows, least, some, owners)
    assert some.pairs <= wanted
    assert len(some.pairs) <= most * len(rows)
    enough = np.minimum(most, _count_partners(wanted, rows))
    assert (_count_partners(some.pairs, rows) >= enough).all()


@given(arrays(np.int64, 9, elements=st.integers(1, 400)), st.integers(1, 400), SHARES)
def test_thresholds_are_the_least_sufficient_word_counts(sizes, other, share):
    """The fraction is of all words in either set, or of the words in the longer set."""
    both = make_jaccard_threshold(share)(sizes, np.full(9, other))
    assert (both >= share * (sizes + other - both)).all()
    assert (both - 1 < share * (sizes + other - both + 1)).all()
    of = make_longer_set_threshold(share)(sizes, np.full(9, other))
    assert (of >= share * np.maximum(sizes, other)).all()
    assert (of - 1 < share * np.maximum(sizes, other)).all()


def test_alphabetical_neighbours_suffice_for_a_template(monkeypatch):
    """Rows of one template have enough partners before all rows are compared."""
    monkeypatch.setattr(lookalikes, "_NEIGHBOURS", 20)
    told: list[int] = []
    words = [frozenset([*(f"w{at}" for at in range(20)), f"n{row}"]) for row in range(3000)]
    found = PartnerCollector(np.full(3000, 2))
    find_pairs(words, make_jaccard_threshold(0.8), found, None, told.append)
    assert told == [], "rare words were counted"
    assert (_count_partners(found.pairs, words) >= 2).all()
    assert len(found.pairs) <= 6000


def test_progress_rises_from_0_and_stays_below_the_row_count():
    rng = np.random.default_rng(0)
    words = [[f"w{n}" for n in rng.permutation(40)[:12]] for _ in range(200)]
    told: list[int] = []
    find_pairs(
        words, make_jaccard_threshold(0.5), PartnerCollector(np.full(200, 20)), None, told.append
    )
    assert told[0] == 0
    assert told == sorted(told)
    assert 0 <= told[-1] < 200
