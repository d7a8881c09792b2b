"""Ends and cutoffs that AFLite can be given: a target size, a share of the rows left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples
from winosmith import debias
from winosmith.errors import InputError

SMALL: dict[str, Any] = {"ensemble_size": 8, "train_size": 60, "seed": 5}


def made(rows: int = 240, *, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of which two thirds give their label away, and the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)).astype(np.float32)
    y = rng.permutation(rows) % 2
    telling = 2 * rows // 3
    X[:telling, 0] += np.where(y[:telling], 3, -3)
    return X, y


@given(
    target=st.integers(1, 260),
    cutoff=st.one_of(st.integers(1, 90), st.floats(0.001, 0.9)),
    threshold=st.sampled_from([0.0, 0.6, 0.75]),
)
@examples(40)
def test_no_more_is_removed_than_the_target_takes(target, cutoff, threshold):
    """A run never goes below its target, and says "target size" just when it is reached."""
    X, y = made()
    result = debias.aflite(
        X, y, target_size=target, cutoff=cutoff, threshold=threshold, ids=range(240), **SMALL
    )
    assert len(result.kept) >= min(target, 240)
    assert (result.stopped == "target size") == (len(result.kept) == target or target >= 240)
    assert sorted(np.concatenate([result.kept, *result.removed]).tolist()) == list(range(240))
    for phase in result.phases:
        assert phase.removed == min(phase.cutoff, phase.candidates)
        assert phase.cutoff <= phase.size - target


def test_up_to_its_last_phase_a_target_changes_nothing():
    """A run to a target removes what the same run without one removes, cut short."""
    X, y = made()
    free = debias.aflite(X, y, cutoff=12, ids=range(240), **SMALL)
    aimed = debias.aflite(X, y, cutoff=12, target_size=185, ids=range(240), **SMALL)
    assert [len(rows) for rows in aimed.removed] == [12, 12, 12, 12, 7]
    for ours, theirs in zip(aimed.removed[:4], free.removed, strict=False):
        assert ours.tolist() == theirs.tolist()
    assert set(aimed.removed[4].tolist()) <= set(free.removed[4].tolist())


def test_a_target_out_of_reach_is_told_by_the_reason():
    """Where too few rows are at the threshold, the reason is that and not the target."""
    X, y = made()
    turned = np.roll(y, 1)  # labels that mean nothing
    chosen = {"threshold": 0.9, "ids": range(240), **SMALL}
    result = debias.aflite(X, turned, cutoff=12, target_size=70, **chosen)
    assert result.stopped == "cutoff"
    assert len(result.kept) > 70
    below = debias.aflite(X, y, cutoff=100, target_size=5, threshold=0.0, ids=range(240), **SMALL)
    assert (below.stopped, len(below.kept)) == ("train size", 40)


def test_a_share_as_cutoff_is_of_the_rows_left():
    """With 5 % as cutoff each phase may remove 5 % of the rows that it begins with."""
    X, y = made(400)
    result = debias.aflite(X, y, cutoff=0.05, ids=range(400), **SMALL)
    assert len(result.phases) > 4
    assert [phase.cutoff for phase in result.phases] == [
        round(0.05 * phase.size) for phase in result.phases
    ]
    assert result.phases[0].cutoff == 20 > result.phases[-1].cutoff
    assert result.parameters["cutoff"] == 0.05


def test_a_share_too_small_for_a_row_still_removes_one():
    """A cutoff that comes to less than one row is one row."""
    X, y = made(100)
    result = debias.aflite(X, y, cutoff=1e-6, target_size=97, ids=range(100), **SMALL)
    assert [phase.removed for phase in result.phases] == [1, 1, 1]


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"cutoff": 1.0}, "a whole number, not 1.0; or it is a share of the rows left"),
        ({"cutoff": 0.0}, "or it is a share"),
        ({"cutoff": float("nan")}, "or it is a share"),
        ({"cutoff": "1%"}, "or it is a share"),
        ({"target_size": 0}, "target_size is 1 or more"),
        ({"target_size": 0.5}, "target_size is a whole number"),
        ({"remove": "twins"}, "remove is one of rows, groups; not 'twins'"),
        ({"remove": "groups"}, "no groups are given"),
        ({"null": "maybe"}, "null is one of off, report; not 'maybe'"),
        ({"null_draws": 19}, "20 draws or more, not 19"),
    ],
)
def test_what_is_out_of_range_is_refused(parameter, message):
    """The error names the parameter and what would fit."""
    X, y = made()
    with pytest.raises(InputError, match=message):
        debias.aflite(X, y, **{**SMALL, **parameter})
