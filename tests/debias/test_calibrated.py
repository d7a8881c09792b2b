"""AFLite with its null: the removals that each phase would make with random labels."""

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from winosmith import debias
from winosmith.debias._chance import estimate_chance_removals
from winosmith.debias._selection import Selection
from winosmith.errors import DataError, OutputError

SMALL: dict[str, Any] = {"ensemble_size": 8, "train_size": 80, "seed": 3}


def twins(count: int = 150, *, planted: int = 0, seed: int = 2) -> tuple[Any, Any, list[int]]:
    """Return near-equal pairs of rows with opposite labels, some of which reveal their label."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(count, 20)), 2, axis=0) + 0.2 * rng.normal(size=(2 * count, 20))
    first = rng.integers(0, 2, count)
    y = np.stack([first, 1 - first], axis=1).ravel()
    X[: 2 * planted, 0] += np.where(y[: 2 * planted], 3, -3)
    return X, y, [row // 2 for row in range(2 * count)]


def run(X: Any, y: Any, twin: Any, mode: str = "report", **chosen: Any) -> debias.AfliteResult:
    options = {"cutoff": 12, "ids": range(len(y)), "twins": twin, "null": mode, **SMALL}
    return debias.aflite(X, y, **{**options, **chosen})


def test_null_report_does_not_change_the_removals():
    X, y, twin = twins(80, planted=30)
    plain, told = (run(X, y, twin, null, train_size=50) for null in ("off", "report"))
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


def test_null_of_the_first_phase_is_the_threshold_null():
    X, y, twin = twins(100, planted=20)
    ids = list(range(200))
    null = debias.compute_threshold_null(
        X, y, [(2 * t, 2 * t + 1) for t in range(100)], ids=ids, **SMALL
    )
    assert run(X, y, twin, ids=ids).phases[0].chance == null


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


def test_row_order_does_not_change_the_null():
    X, y, twin = twins(60, planted=20)
    order = np.random.default_rng(0).permutation(120)
    straight = run(X, y, twin, train_size=40, target_size=90)
    permuted = run(
        X[order], y[order], [twin[row] for row in order], train_size=40, target_size=90,
        ids=order.tolist(),
    )  # fmt: skip
    assert permuted.phases == straight.phases
    assert permuted.removal_phase.tolist() == straight.removal_phase[order].tolist()


def test_run_with_a_null_resumes_to_the_same_record(tmp_path):
    """It may stop within a null or after a phase."""
    X, y, twin = twins(60, planted=20)
    chosen = {"train_size": 40, "target_size": 90, "threshold": 0.65}
    whole = run(X, y, twin, **chosen)
    assert len(whole.phases) >= 3
    path = tmp_path / "run.npz"

    class Stop(KeyboardInterrupt):
        pass

    def at(phase: int, draw: int) -> Any:
        def on_draw(*seen: int) -> None:
            if seen == (phase, draw):
                raise Stop

        return on_draw

    for phase in range(len(whole.phases)):
        with pytest.raises(KeyboardInterrupt):
            run(X, y, twin, checkpoint=path, on_draw=at(phase, 7), **chosen)
    again = run(X, y, twin, checkpoint=path, **chosen)
    assert json.dumps(again.record()) == json.dumps(whole.record())
    assert again.removal_phase.tobytes() == whole.removal_phase.tobytes()
    with pytest.raises(OutputError, match="twins"):
        run(X, y, None, checkpoint=path, **chosen)


def test_progress_reports_each_draw():
    X, y, twin = twins(60, planted=20)
    seen: list[tuple[int, int]] = []
    run(X, y, twin, train_size=40, target_size=100, on_draw=lambda *draw: seen.append(draw))
    assert seen == [(phase, draw) for phase in range(2) for draw in range(1, 21)]


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
