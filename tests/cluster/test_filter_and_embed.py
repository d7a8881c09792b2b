"""AFLite and the encoders give on a cluster what they give on one machine, whoever is killed."""

import threading
from typing import Any

import numpy as np
import pytest

from tests.cluster.conftest import STARTING, awaited
from winosmith import cluster, debias
from winosmith.errors import InputError

pytestmark = pytest.mark.long  # `make test` filters on a cluster by the command, in test_commands

SIZES: dict[str, Any] = {"train_size": 250, "cutoff": 20, "ensemble_size": 9, "seed": 3}


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Return rows of which half can be guessed, too large to go with each work, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 400)).astype(np.float32)
    guessable = rng.random(len(X)) < 0.5
    return X, np.where(guessable, X[:, 0] > 0, rng.random(len(X)) < 0.5).astype(int)


@pytest.fixture(scope="module")
def alone(rows: tuple[Any, Any]) -> debias.AfliteResult:
    """Return what one machine gives."""
    return debias.aflite(*rows, **SIZES)


def same(one: debias.AfliteResult, other: debias.AfliteResult) -> bool:
    """Return whether results agree in every byte but the seconds."""
    return one.record() == other.record() and one.scores.tobytes() == other.scores.tobytes()


def test_a_cluster_removes_the_same_rows(rows, alone, executor):
    """Kept rows and scores have the bytes of one machine, with a null in each phase too."""
    assert len(alone.phases) > 5
    assert same(debias.aflite(*rows, executor=executor, **SIZES), alone)
    more = {**SIZES, "null": "report", "cutoff": 200}
    here = debias.aflite(*rows, **more)
    assert same(debias.aflite(*rows, executor=executor, **more), here)


def test_the_null_of_the_threshold_is_the_same(rows, executor):
    """`compute_threshold_null` counts on a cluster what it counts here."""
    groups = [(row, row + 1) for row in range(0, len(rows[0]), 2)]
    chosen = {"train_size": 250, "ensemble_size": 6}
    here = debias.compute_threshold_null(*rows, groups, **chosen)
    assert debias.compute_threshold_null(*rows, groups, executor=executor, **chosen) == here


def test_a_worker_killed_between_phases_changes_nothing(rows, alone, executor, kill):
    """A worker dies by kill -9 after two phases; the result has the same bytes."""

    def on_phase(phase: debias.Phase) -> None:
        if phase.number in (1, 3):
            kill(1)

    assert same(debias.aflite(*rows, executor=executor, on_phase=on_phase, **SIZES), alone)


def test_a_worker_killed_in_the_middle_changes_nothing(rows, executor, kill):
    """A worker dies by kill -9 while it trains; the result has the same bytes."""
    more = {**SIZES, "null": "report", "cutoff": 200}
    killer = threading.Timer(0.7, kill, [1])
    killer.start()
    found = debias.aflite(*rows, executor=executor, **more)
    killer.join()
    assert same(found, debias.aflite(*rows, **more))


def test_a_mapped_file_goes_to_workers_that_see_no_file(rows, alone, executor, tmp_path):
    """Rows of a file here reach workers that share no folder, with the same result."""
    np.save(tmp_path / "X.npy", rows[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = debias.aflite(X, rows[1], executor=executor, scratch=tmp_path, **SIZES)
    assert same(found, alone)


def test_a_cluster_that_is_gone_names_the_checkpoint(rows, alone, start, tmp_path):
    """When the scheduler dies, the error says how to go on, and one machine ends the run."""
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
