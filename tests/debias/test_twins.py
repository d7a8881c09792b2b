"""AFLite on whole groups: each group is kept or removed as one."""

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import debias
from winosmith.debias._selection import pool_by_group, select

SMALL: dict[str, Any] = {"ensemble_size": 8, "seed": 5}


def made(sizes: list[int], *, seed: int = 0) -> tuple[Any, Any, list[str]]:
    """Return rows in groups of these sizes, the labels, and the groups.

    Every second group reveals its labels.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.permutation(len(groups)) % 2
    X = rng.normal(size=(len(groups), 4)).astype(np.float32)
    telling = groups % 2 == 0
    X[telling, 0] += np.where(y[telling], 4, -4)
    return X, y, [f"g{number:03}" for number in groups]


@given(
    sizes=st.lists(st.integers(1, 4), min_size=20, max_size=60),
    cutoff=st.integers(1, 20),
    target=st.one_of(st.none(), st.integers(1, 60)),
    threshold=st.sampled_from([0.0, 0.5, 0.75]),
)
@examples(40)
def test_groups_are_never_split(sizes, cutoff, target, threshold):
    X, y, groups = made(sizes)
    result = debias.aflite(
        X, y, groups=groups, remove="groups", train_size=10, cutoff=cutoff, target_size=target,
        threshold=threshold, ids=range(len(y)), **SMALL,
    )  # fmt: skip
    assert sorted(np.concatenate([result.kept, *result.removed]).tolist()) == list(range(len(y)))
    for group in set(groups):
        rows = [row for row, name in enumerate(groups) if name == group]
        assert len({int(result.removal_phase[row]) for row in rows}) == 1
        known = {float(score) for score in result.scores[list(rows)] if not np.isnan(score)}
        assert len(known) <= 1
    for phase, removed in zip(result.phases, result.removed, strict=True):
        assert len(removed) == phase.removed <= max(cutoff, max(sizes))
        assert (result.scores[removed] >= threshold).all()
    assert len(result.kept) >= min(target or 0, len(y))


@given(seed=st.integers(0, 20), threshold=st.sampled_from([0.5, 0.75]))
@examples(15)
def test_groups_of_one_give_the_same_result_as_rows(seed, threshold):
    X, y, groups = made([1] * 120, seed=seed)
    chosen = {"train_size": 30, "cutoff": 7, "threshold": threshold, "ids": range(120)}
    rows = debias.aflite(X, y, groups=groups, **chosen, **SMALL)
    whole = debias.aflite(X, y, groups=groups, remove="groups", **chosen, **SMALL)
    assert whole.removal_phase.tobytes() == rows.removal_phase.tobytes()
    assert whole.scores.tobytes() == rows.scores.tobytes()
    assert whole.phases == rows.phases


def test_group_score_pools_the_predictions_of_its_rows():
    """For example, 4 of 4 and 1 of 4 are 5 of 8."""
    groups = np.array([0, 0, 1, 2, 2])
    correct, total = np.array([4, 1, 3, 4, 3], np.int32), np.full(5, 4, np.int32)
    together = pool_by_group(correct, groups), pool_by_group(total, groups)
    assert together[0].tolist() == [5, 5, 3, 7, 7]
    assert together[1].tolist() == [8, 8, 4, 8, 8]
    chosen = select(*together, threshold=0.75, cutoff=5, seed=0, phase=0, groups=groups)
    assert (chosen.removed.tolist(), chosen.candidates) == ([2, 3, 4], 3)


def test_next_group_that_fits_the_cutoff_is_removed():
    """Groups are removed in order of their scores, skipping those that don't fit."""
    groups = np.array([0, 0, 1, 1, 2])
    correct, total = np.array([9, 9, 8, 8, 7], np.int32), np.full(5, 10, np.int32)
    chosen = select(correct, total, threshold=0.5, cutoff=3, seed=0, phase=0, groups=groups)
    assert chosen.removed.tolist() == [0, 1, 4]


def test_tied_groups_are_removed_at_random():
    groups = np.repeat(np.arange(200), 2)
    everyone = np.full(400, 4, np.int32)
    drawn = [
        select(everyone, everyone, threshold=0.5, cutoff=40, seed=seed, phase=0, groups=groups)
        for seed in range(20)
    ]
    assert {(s.candidates, s.tied, s.tied_removed) for s in drawn} == {(400, 400, 40)}
    assert len({s.removed.tobytes() for s in drawn}) == 20
    assert abs(np.mean([s.removed.mean() for s in drawn]) - 199.5) < 4 * 115.5 / np.sqrt(400)


def test_run_ends_above_the_target_if_no_group_fits():
    X, y, groups = made([2] * 60)
    result = debias.aflite(
        X, y, groups=groups, remove="groups", train_size=20, cutoff=6, target_size=101,
        threshold=0.6, ids=range(120), **SMALL,
    )  # fmt: skip
    assert (result.stop_reason, len(result.kept)) == ("target size", 102)


def test_cutoff_below_the_group_size_removes_one_group():
    X, y, groups = made([2] * 40)
    result = debias.aflite(
        X, y, groups=groups, remove="groups", train_size=20, cutoff=1, target_size=70,
        threshold=0.6, ids=range(80), **SMALL,
    )  # fmt: skip
    assert [phase.removed for phase in result.phases] == [2] * 5
