"""Partitions, scores and cutoffs: the steps of a phase, each by itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winosmith import debias
from winosmith.debias._rows import training_rows
from winosmith.debias._selection import at_threshold, histogram, select


def test_scores_are_compared_as_whole_numbers():
    """Exactly at the threshold is at it: 3 of 4 at 0.75, 7 of 10 at 0.7, 3 of 5 at 0.6."""
    for right, votes, threshold in ((3, 4, 0.75), (7, 10, 0.7), (3, 5, 0.6), (29, 100, 0.29)):
        counts = np.array([right, right - 1], np.int32), np.array([votes, votes], np.int32)
        assert at_threshold(*counts, threshold).tolist() == [True, False]
    nobody = np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert at_threshold(*nobody, 0.0).tolist() == [False]


def test_ties_at_the_cutoff_are_drawn_and_counted():
    """Of 1,000 rows with the same score, the 100 that go are spread over all places."""
    everyone = np.full(1000, 4, np.int32)
    drawn = [
        select(everyone, everyone, threshold=0.75, cutoff=100, seed=seed, phase=0)
        for seed in range(20)
    ]
    assert {(s.candidates, s.tied, s.tied_removed) for s in drawn} == {(1000, 1000, 100)}
    assert len({s.removed.tobytes() for s in drawn}) == 20
    means = [s.removed.mean() for s in drawn]
    assert abs(np.mean(means) - 499.5) < 4 * 288.7 / np.sqrt(2000)
    later = select(everyone, everyone, threshold=0.75, cutoff=100, seed=0, phase=1)
    assert later.removed.tobytes() != drawn[0].removed.tobytes()


def test_the_highest_scores_go_first():
    """Rows above the score at the cutoff all go; only those at it are drawn for."""
    total = np.full(9, 8, np.int32)
    correct = np.array([8, 7, 6, 6, 6, 5, 8, 6, 7], np.int32)
    chosen = select(correct, total, threshold=0.75, cutoff=5, seed=0, phase=0)
    assert set(chosen.removed.tolist()) > {0, 1, 6, 8}
    assert (chosen.candidates, chosen.tied, chosen.tied_removed) == (8, 4, 1)
    exact = select(correct, total, threshold=0.75, cutoff=4, seed=0, phase=0)
    assert (exact.removed.tolist(), exact.tied) == ([0, 1, 6, 8], 0)
    nobody = select(0 * correct, total, threshold=0.75, cutoff=4, seed=0, phase=0)
    assert (nobody.candidates, nobody.tied, nobody.tied_removed) == (0, 0, 0)


def test_a_histogram_counts_whole_numbers():
    """A score on an edge falls into the bin that begins there; 1 falls into the last."""
    total = np.full(21, 20, np.int32)
    assert histogram(np.arange(21, dtype=np.int32), total) == (*[1] * 19, 2)
    assert [*debias.HISTOGRAM_EDGES] == [number / 20 for number in range(21)]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=40),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 9),
)
def test_whole_groups_fall_on_one_side(sizes, share, seed):
    """A partition by groups parts none, and what is missing to its size fits no group left."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    size = max(5, round(share * len(groups)))
    size = min(size, len(groups))
    T = training_rows(len(groups), size, seed=seed, phase=0, classifier=1, groups=groups)
    inside = set(groups[T].tolist())
    assert len(T) == sum(sizes[group] for group in inside) <= size
    assert all(sizes[group] > size - len(T) for group in set(groups.tolist()) - inside)


def test_partitions_are_uniform():
    """Every row is trained on about equally often, and every set has the size asked for."""
    counts = np.zeros(30)
    for classifier in range(4000):
        T = training_rows(30, 12, seed=1, phase=2, classifier=classifier)
        assert len(T) == 12
        counts[T] += 1
    assert np.abs(counts / 4000 - 0.4).max() < 5 * np.sqrt(0.24 / 4000)
