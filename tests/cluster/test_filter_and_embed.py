"""AFLite on a cluster: the same results as on one machine, even if workers are killed."""

import threading
from typing import Any

import numpy as np
import pytest

from tests.cluster.conftest import STARTING, awaited
from winosmith import cluster, debias
from winosmith.errors import InputError

pytestmark = pytest.mark.long  # `make test` covers filtering on a cluster in test_commands

SIZES: dict[str, Any] = {"train_size": 250, "cutoff": 20, "ensemble_size": 9, "seed": 3}


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Return rows and labels; half can be predicted, and they are too large to send per task."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 400)).astype(np.float32)
    guessable = rng.random(len(X)) < 0.5
    return X, np.where(guessable, X[:, 0] > 0, rng.random(len(X)) < 0.5).astype(int)


@pytest.fixture(scope="module")
def alone(rows: tuple[Any, Any]) -> debias.AfliteResult:
    """Return the result of one machine."""
    return debias.aflite(*rows, **SIZES)


def same(one: debias.AfliteResult, other: debias.AfliteResult) -> bool:
    """Return whether results are equal in every byte except the seconds."""
    return one.record() == other.record() and one.scores.tobytes() == other.scores.tobytes()


def test_cluster_removes_the_same_rows(rows, alone, executor):
    """With a null in each phase, too."""
    assert len(alone.phases) > 5
    assert same(debias.aflite(*rows, executor=executor, **SIZES), alone)
    more = {**SIZES, "null": "report", "cutoff": 200}
    here = debias.aflite(*rows, **more)
    assert same(debias.aflite(*rows, executor=executor, **more), here)


def test_threshold_null_is_the_same_on_a_cluster(rows, executor):
    groups = [(row, row + 1) for row in range(0, len(rows[0]), 2)]
    chosen = {"train_size": 250, "ensemble_size": 6}
    here = debias.compute_threshold_null(*rows, groups, **chosen)
    assert debias.compute_threshold_null(*rows, groups, executor=executor, **chosen) == here


def test_worker_killed_between_phases_changes_nothing(rows, alone, executor, kill):
    def on_phase(phase: debias.Phase) -> None:
        if phase.number in (1, 3):
            kill(1)

    assert same(debias.aflite(*rows, executor=executor, on_phase=on_phase, **SIZES), alone)


def test_worker_killed_in_training_changes_nothing(rows, executor, kill):
    more = {**SIZES, "null": "report", "cutoff": 200}
    killer = threading.Timer(0.7, kill, [1])
    killer.start()
    found = debias.aflite(*rows, executor=executor, **more)
    killer.join()
    assert same(found, debias.aflite(*rows, **more))


def test_memory_mapped_rows_are_sent_to_workers(rows, alone, executor, tmp_path):
    """They may not see the file."""
    np.save(tmp_path / "X.npy", rows[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = debias.aflite(X, rows[1], executor=executor, scratch=tmp_path, **SIZES)
    assert same(found, alone)


def test_lost_scheduler_is_reported_with_the_checkpoint(rows, alone, start, tmp_path):
    """One machine can finish the run."""
    file, checkpoint = tmp_path / "scheduler.json", tmp_path / "run.npz"
    scheduler = start("scheduler", "--scheduler-file", str(file), "--port", "0")
    awaited(file)
    start("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny",
          "--local-directory", str(tmp_path))  # fmt: skip

    def on_phase(phase: debias.Phase) -> None:
        if phase.number == 2:
            scheduler.kill()
            scheduler.wait()

    with (
        cluster.connect(file, timeout=STARTING) as executor,
        pytest.raises(InputError, match=r"3 phases are complete; with a checkpoint, the same call"),
    ):
        debias.aflite(*rows, executor=executor, on_phase=on_phase, checkpoint=checkpoint, **SIZES)
    assert same(debias.aflite(*rows, checkpoint=checkpoint, **SIZES), alone)
