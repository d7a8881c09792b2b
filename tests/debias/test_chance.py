"""AFLite's null, with labels flipped twin by twin, and the stability of its choice of rows."""

import json
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import debias
from winosmith.debias import compare_runs, perturb_vectors
from winosmith.debias._chance import estimate_chance_removals
from winosmith.debias._selection import Selection
from winosmith.errors import DataError, InputError, OutputError

SMALL: dict[str, Any] = {"ensemble_size": 8, "train_size": 80, "seed": 3}


def twins(count: int, *, planted: int = 0, seed: int = 2) -> tuple[Any, Any, list[int]]:
    """Return near-equal pairs of rows with opposite labels, some of which reveal their label."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(count, 20)), 2, axis=0) + 0.2 * rng.normal(size=(2 * count, 20))
    first = rng.integers(0, 2, count)
    y = np.stack([first, 1 - first], axis=1).ravel()
    X[: 2 * planted, 0] += np.where(y[: 2 * planted], 3, -3)
    return X, y, [row // 2 for row in range(2 * count)]


def compute_null(count: int, planted: int = 0, **chosen: Any) -> Any:
    """Return the null of one phase for twins whose rows are their groups."""
    X, y, _ = twins(count, planted=planted)
    pairs = [(row, row + 1) for row in range(0, 2 * count, 2)]
    return debias.compute_threshold_null(X, y, pairs, **{**SMALL, **chosen})


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=30),
    bits=st.integers(0, 2**90 - 1),
    seed=st.integers(0, 99),
)
def test_groups_are_flipped_whole_and_singles_permuted(sizes, bits, seed):
    edges = np.cumsum([0, *sizes])
    groups = [tuple(range(a, b)) for a, b in pairwise(edges)]
    y = np.array([bits >> row & 1 for row in range(edges[-1])], np.int8)
    flipped = debias.flip_twins(y, groups, np.random.default_rng(seed))
    assert flipped.dtype == y.dtype
    for group in groups:
        changed = y[list(group)] != flipped[list(group)]
        assert len(group) == 1 or changed.all() or not changed.any()
    single = [group[0] for group in groups if len(group) == 1]
    assert flipped[single].sum() == y[single].sum()


def test_twin_flips_are_independent_fair_coins():
    y, groups = np.arange(80) % 2, [(row, row + 1) for row in range(0, 80, 2)]
    rng = np.random.default_rng(3)
    draws = np.stack([debias.flip_twins(y, groups, rng) for _ in range(2000)])
    flips = (draws != y)[:, ::2]
    assert np.abs(flips.mean(axis=0) - 0.5).max() < 5 * 0.5 / math.sqrt(2000)
    assert np.abs(np.corrcoef(flips.T) - np.eye(40)).max() < 5 / math.sqrt(2000)


def test_null_summarizes_its_draws():
    """Each draw has its own generator, so fewer draws are the first of more."""
    null = compute_null(60, draws=40)
    assert null.mean == pytest.approx(np.mean(null.draws))
    assert null.high == sorted(null.draws)[-2]  # ⌊0.05 · 41⌋ = 2
    assert (null.value > null.high) == (null.p <= 0.05)
    assert null.p == (1 + sum(d >= null.value for d in null.draws)) / 41
    assert null.mean < null.high
    assert compute_null(60, draws=20).draws == null.draws[:20]


def test_planted_rows_exceed_the_threshold_null_and_random_labels_do_not():
    null = compute_null(150)
    assert min(null.draws) <= null.value <= null.high
    assert null.p > 0.05
    seen: list[int] = []
    null = compute_null(150, planted=60, on_draw=seen.append)
    assert null.value > null.high + 60
    assert null.p == 1 / 21
    assert seen == list(range(1, 21))


def test_row_order_does_not_change_the_threshold_null():
    X, y, _ = twins(60)
    groups = [*((row, row + 1) for row in range(0, 80, 2)), *((row,) for row in range(80, 120))]
    order = np.random.default_rng(0).permutation(120)
    moved = {int(row): place for place, row in enumerate(order)}
    turned = [tuple(moved[row] for row in group) for group in groups[::-1]]
    chosen = {**SMALL, "train_size": 40}
    straight = debias.compute_threshold_null(X, y, groups, ids=range(120), **chosen)
    permuted = debias.compute_threshold_null(
        X[order], y[order], turned, ids=order.tolist(), **chosen
    )
    assert permuted == straight


def test_invalid_draws_groups_and_train_size_are_refused():
    with pytest.raises(InputError, match="null_draws is 19; it must be a whole number, 20 or more"):
        compute_null(50, draws=19)
    with pytest.raises(InputError, match="must be below 100, the number of rows"):
        compute_null(50, train_size=100)
    with pytest.raises(DataError, match="once"):
        debias.flip_twins(np.arange(4) % 2, [(0, 1)], np.random.default_rng(0))


def run(X: Any, y: Any, twin: Any, mode: str = "report", **chosen: Any) -> debias.AfliteResult:
    options = {"cutoff": 12, "ids": range(len(y)), "twins": twin, "null": mode, **SMALL}
    return debias.aflite(X, y, **{**options, **chosen})


def test_null_of_the_first_phase_is_the_threshold_null():
    X, y, twin = twins(100, planted=20)
    assert run(X, y, twin).phases[0].chance == compute_null(100, planted=20, ids=range(200))


def test_chance_removals_are_rows_above_the_lowest_removed():
    """Ties with the lowest removed score count in proportion to the ties that were removed."""
    drawn = [np.array([0.9, 0.8, 0.8, 0.1, np.nan]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])]
    chosen = Selection(np.arange(6), 9, tied=4, tied_removed=2, lowest=0.8)
    assert estimate_chance_removals(drawn, chosen) == (2 + 0) / 2
    untied = Selection(np.arange(2), 2, tied=0, tied_removed=0, lowest=0.1)
    assert estimate_chance_removals(drawn, untied) == 2  # no more than were removed
    assert estimate_chance_removals(drawn, Selection(np.arange(0), 0, 0, 0)) == 0


@pytest.mark.long
def test_executors_do_not_change_the_null():
    X, y, twin = twins(60, planted=20)
    chosen = {"train_size": 40, "target_size": 100}
    alone = run(X, y, twin, **chosen)
    assert len(alone.phases) == 2
    for executor in (
        ThreadPoolExecutor(1),
        ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    ):
        with executor:
            assert run(X, y, twin, executor=executor, **chosen).phases == alone.phases


def test_null_and_progress_do_not_change_the_removals():
    X, y, twin = twins(80, planted=30)
    seen: list[tuple[int, int]] = []
    plain = run(X, y, twin, "off", train_size=50)
    told = run(X, y, twin, train_size=50, on_draw=lambda *draw: seen.append(draw))
    assert told.removal_phase.tobytes() == plain.removal_phase.tobytes()
    assert told.scores.tobytes() == plain.scores.tobytes()
    assert plain.by_chance is None
    assert all(phase.chance is None and phase.by_chance is None for phase in plain.phases)
    for phase in told.phases:
        assert phase.chance is not None
        assert phase.chance.value == phase.candidates
        assert len(phase.chance.draws) == 20
        assert 0 <= phase.by_chance <= phase.removed
    assert told.by_chance == sum(phase.by_chance for phase in told.phases)
    assert seen == [(phase, draw) for phase in range(len(told.phases)) for draw in range(1, 21)]


def test_row_order_does_not_change_the_null():
    X, y, twin = twins(60, planted=20)
    order = np.random.default_rng(0).permutation(120)
    straight = run(X, y, twin, train_size=40, target_size=90)
    permuted = run(
        X[order], y[order], order // 2, train_size=40, target_size=90, ids=order.tolist()
    )
    assert permuted.phases == straight.phases
    assert permuted.removal_phase.tolist() == straight.removal_phase[order].tolist()


def test_run_with_a_null_resumes_to_the_same_record(tmp_path):
    """It may stop within a null or after a phase."""
    X, y, twin = twins(60, planted=20)
    chosen = {"train_size": 40, "target_size": 90, "threshold": 0.65}
    whole = run(X, y, twin, **chosen)
    assert len(whole.phases) >= 3
    path = tmp_path / "run.npz"
    for phase in range(len(whole.phases)):

        def stop(*draw, at=(phase, 7)):
            if draw == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(X, y, twin, checkpoint=path, on_draw=stop, **chosen)
    again = run(X, y, twin, checkpoint=path, **chosen)
    assert json.dumps(again.record()) == json.dumps(whole.record())
    assert again.removal_phase.tobytes() == whole.removal_phase.tobytes()
    with pytest.raises(OutputError, match="twins"):
        run(X, y, None, checkpoint=path, **chosen)


def test_without_twins_the_labels_are_permuted():
    """Groups serve as twins if none are given."""
    X, y, twin = twins(130, planted=10)
    chosen = {"train_size": 40, "target_size": 250}
    flipped, free = run(X, y, twin, **chosen), run(X, y, None, **chosen)
    assert flipped.phases[0].chance != free.phases[0].chance
    grouped = run(X, y, None, groups=twin, **chosen)
    assert run(X, y, twin, groups=twin, **chosen).phases == grouped.phases


def test_null_counts_the_rows_of_whole_groups():
    X, y, twin = twins(80, planted=30)
    result = run(X, y, twin, groups=twin, remove="groups", train_size=50, threshold=0.7)
    assert result.phases[0].removed > 0
    for phase in result.phases:
        assert phase.chance is not None
        assert all(draw % 2 == 0 for draw in phase.chance.draws)
        assert phase.removed % 2 == 0


def test_twins_of_another_length_are_refused():
    X, y, twin = twins(40)
    with pytest.raises(DataError, match="80 rows, but twins has 79"):
        run(X, y, twin[1:], train_size=20)


@given(st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_removals_of_two_runs_are_compared(kept, other):
    gone, there = set(range(20)) - kept, set(range(20)) - other
    told = compare_runs(sorted(kept), sorted(other), 20)
    assert (told.removed, told.other, told.both) == (len(gone), len(there), len(gone & there))
    assert told.share == (len(gone & there) / len(gone) if gone else None)
    assert told.jaccard == (len(gone & there) / len(gone | there) if gone | there else None)


def test_kept_row_out_of_range_is_refused():
    with pytest.raises(InputError, match="a kept row is out of range; there are 3 rows"):
        compare_runs([0, 3], [0], 3)


def test_perturbation_depends_on_ids_and_keeps_zeros():
    X = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    X[:, 3] = 0
    ids = [f"p{number}" for number in range(300)]
    order = np.random.default_rng(1).permutation(300)
    with (
        perturb_vectors(X, ids, seed=4) as moved,
        perturb_vectors(X[order], [ids[at] for at in order], seed=4) as b,
    ):
        assert np.array_equal(moved[order], b)
        assert not moved[:, 3].any()
        relative = (moved / np.where(X == 0, 1, X))[:, :3] - 1
        assert 0.8e-4 < relative.std() < 1.2e-4
    with perturb_vectors(X, ids, seed=5) as other:
        assert not np.array_equal(other, moved)


def test_mapped_vectors_are_perturbed_in_a_temporary_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    ids = list(range(50))
    with perturb_vectors(X, ids) as held, perturb_vectors(mapped, ids, scratch=tmp_path) as lent:
        assert len(list(tmp_path.iterdir())) == 2
        assert np.array_equal(held, lent)
        del lent
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
