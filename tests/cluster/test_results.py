"""The same results on a cluster as on one machine, even if workers are killed."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.conftest import STARTING, awaited
from tests.debias.rows import as_bytes
from winosmith import cluster, debias, embed, formats, solve
from winosmith.cli import main
from winosmith.errors import InputError
from winosmith.testing import make_twins

FILTER = ("--ensemble-size", "6", "--train-size", "60", "--cutoff", "10")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of twins."""
    path = tmp_path / "twins.jsonl"
    formats.write(make_twins(150).problems, path)
    return path


@pytest.mark.parametrize(
    "measured",
    [("--no-again", "--splits", "1"), pytest.param(("--splits", "2"), marks=pytest.mark.long)],
)
def test_debias_writes_the_same_files(local_cluster, data, tmp_path, measured):
    there = ("--cluster", local_cluster.scheduler_address, "--scratch", str(tmp_path))
    for name, more in (("here", ()), ("there", there)):
        command = ["debias", str(data), "--out", str(tmp_path / name), *FILTER, *measured]
        assert main([*command, *more]) == 0
    for name in ("kept.jsonl", "dropped.jsonl", "report.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_solve_writes_the_same_predictions(local_cluster, data, tmp_path):
    asked = ["solve", str(data), "--solver", "association", "--train", str(data), "--out"]
    there = ["--cluster", local_cluster.scheduler_address]
    assert main([*asked, str(tmp_path / "here.jsonl")]) == 0
    assert main([*asked, str(tmp_path / "there.jsonl"), *there]) == 0
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()


@pytest.mark.long
@pytest.mark.models
def test_embed_writes_the_same_vectors(local_cluster, data, tmp_path, tiny_encoder):
    asked = ["embed", str(data), "--encoder", str(tiny_encoder), "--no-cache", "--out"]
    assert main([*asked, str(tmp_path / "here.npz")]) == 0
    there = ["--cluster", local_cluster.scheduler_address]
    assert main([*asked, str(tmp_path / "there.npz"), *there]) == 0
    here, found = (np.load(tmp_path / name)["X"] for name in ("here.npz", "there.npz"))
    np.testing.assert_allclose(found, here, atol=1e-5)


@pytest.mark.long
@pytest.mark.models
def test_cached_chunks_are_not_encoded_again(executor, tmp_path, tiny_encoder, monkeypatch):
    """The middle one of three chunks is cached."""
    monkeypatch.setattr("winosmith.embed._encoder.CHUNK", 100)
    problems = make_twins(150).problems
    embedder = embed.EncoderEmbedder(tiny_encoder, cache=tmp_path)
    middle = embedder.embed(problems[100:200])
    spread = embed.EncoderEmbedder(tiny_encoder, cache=tmp_path, executor=executor)
    found = spread.embed(problems)
    assert np.array_equal(found[100:200], middle)
    np.testing.assert_allclose(found, embedder.embed(problems), atol=1e-5)


def test_hunting_on_a_cluster_is_refused(data, tmp_path, capsys):
    asked = ["solve", str(data), "--solver", "hunting", "--collection", str(tmp_path)]
    out = ["--out", str(tmp_path / "a.jsonl"), "--cluster", "tcp://localhost:1"]
    assert main([*asked, *out]) == 2
    assert "hunting runs only on this machine; omit --cluster" in capsys.readouterr().err


@pytest.mark.long
def test_missing_scheduler_is_reported(dask, data, tmp_path, capsys):
    out = tmp_path / "out"
    there = ["--cluster", "tcp://127.0.0.1:9", "--out", str(out)]
    assert main(["debias", str(data), *there]) == 2
    assert "tcp://127.0.0.1:9" in capsys.readouterr().err
    assert not out.exists()


def test_any_executor_can_solve(data, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    dataset = formats.read(data)
    here = solve.predict_to_file(solve.Random(1), dataset, tmp_path / "here.jsonl")
    with ThreadPoolExecutor(3) as pool:
        there = solve.predict_to_file(
            solve.Random(1), dataset, tmp_path / "there.jsonl", executor=pool
        )
    assert here.predictions == there.predictions


SIZES: dict[str, Any] = {"train_size": 250, "cutoff": 20, "ensemble_size": 9, "seed": 3}


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Return rows and labels; half can be predicted, and they are too large to send per task."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 400)).astype(np.float32)
    guessable = rng.random(len(X)) < 0.5
    return X, np.where(guessable, X[:, 0] > 0, rng.random(len(X)) < 0.5).astype(int)


def run(rows: tuple[Any, Any], **chosen: Any) -> bytes:
    """Return the result of AFLite."""
    return as_bytes(debias.aflite(*rows, **{**SIZES, **chosen}))


@pytest.fixture(scope="module")
def alone(rows: tuple[Any, Any]) -> bytes:
    """Return the result of one machine."""
    result = debias.aflite(*rows, **SIZES)
    assert len(result.phases) > 5
    return as_bytes(result)


@pytest.mark.long
def test_cluster_removes_the_same_rows(rows, alone, executor):
    """With a null in each phase, too."""
    assert run(rows, executor=executor) == alone
    more = {"null": "report", "cutoff": 200}
    assert run(rows, executor=executor, **more) == run(rows, **more)


@pytest.mark.long
def test_worker_killed_between_phases_changes_nothing(rows, alone, executor, kill):
    def on_phase(phase: debias.Phase) -> None:
        if phase.number in (1, 3):
            kill(1)

    assert run(rows, executor=executor, on_phase=on_phase) == alone


@pytest.mark.long
def test_worker_killed_in_training_changes_nothing(rows, executor, kill):
    """Its work is repeated."""
    killer = threading.Timer(0.7, kill, [1])
    killer.start()
    found = run(rows, executor=executor, null="report", cutoff=200)
    killer.join()
    assert found == run(rows, null="report", cutoff=200)


@pytest.mark.long
def test_memory_mapped_rows_are_sent_to_workers(rows, alone, executor, tmp_path):
    """They may not see the file."""
    np.save(tmp_path / "X.npy", rows[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert run((X, rows[1]), executor=executor, scratch=tmp_path) == alone


@pytest.mark.long
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
        run(rows, executor=executor, on_phase=on_phase, checkpoint=checkpoint)
    assert run(rows, checkpoint=checkpoint) == alone
