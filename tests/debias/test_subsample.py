"""Random reduction."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import debias
from winosmith.errors import DataError, InputError


@given(rows=st.integers(0, 60), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_it_keeps_as_many_rows_as_asked_for(rows, share, seed):
    """The rows kept are distinct, ascending, as many as asked for, and the seed's alone."""
    size = round(share * rows)
    kept = debias.subsample(rows, size, seed=seed)
    assert len(kept) == size
    assert (np.diff(kept) > 0).all()
    assert set(kept.tolist()) <= set(range(rows))
    assert kept.tobytes() == debias.subsample(rows, size, seed=seed).tobytes()


def test_every_row_is_kept_equally_often():
    """Over many seeds no row is favoured."""
    counts = sum(np.isin(np.arange(20), debias.subsample(20, 5, seed=s)) for s in range(4000))
    assert np.abs(counts / 4000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=20), share=st.floats(0, 1))
def test_groups_stay_or_go_together(sizes, share):
    """With groups none is parted, and no group that is left out would fit."""
    edges = np.cumsum([0, *sizes])
    groups = [tuple(range(a, b)) for a, b in pairwise(edges)]
    size = round(share * edges[-1])
    kept = set(debias.subsample(int(edges[-1]), size, groups=groups).tolist())
    assert len(kept) <= size
    for group in groups:
        assert kept.issuperset(group) or (kept.isdisjoint(group) and len(group) > size - len(kept))


def test_what_cannot_be_drawn_is_refused():
    """A size out of range, and groups that leave out or repeat a row, are refused."""
    with pytest.raises(InputError, match="0 to 5"):
        debias.subsample(5, 6)
    with pytest.raises(InputError, match="0 to 5"):
        debias.subsample(5, -1)
    for groups in ([(0, 1)], [(0, 1), (1, 2)], [(0, 1), (2, 3)]):
        with pytest.raises(DataError, match="each row from 0 to 2 once"):
            debias.subsample(3, 2, groups=groups)
