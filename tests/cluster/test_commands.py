"""Commands with `--cluster`, which give the same results as without it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winosmith import embed, formats, solve
from winosmith.cli import main
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
def test_debias_writes_the_same_files(
    local_cluster: Any, data: Path, tmp_path: Path, measured: tuple[str, ...]
) -> None:
    there = ("--cluster", local_cluster.scheduler_address, "--scratch", str(tmp_path))
    for name, more in (("here", ()), ("there", there)):
        command = ["debias", str(data), "--out", str(tmp_path / name), *FILTER, *measured]
        assert main([*command, *more]) == 0
    for name in ("kept.jsonl", "dropped.jsonl", "report.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_solve_writes_the_same_predictions(local_cluster: Any, data: Path, tmp_path: Path) -> None:
    asked = ["solve", str(data), "--solver", "association", "--train", str(data), "--out"]
    there = ["--cluster", local_cluster.scheduler_address]
    assert main([*asked, str(tmp_path / "here.jsonl")]) == 0
    assert main([*asked, str(tmp_path / "there.jsonl"), *there]) == 0
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()


@pytest.mark.long
@pytest.mark.models
def test_embed_writes_the_same_vectors(
    local_cluster: Any, data: Path, tmp_path: Path, tiny_encoder: Path
) -> None:
    asked = ["embed", str(data), "--encoder", str(tiny_encoder), "--no-cache", "--out"]
    assert main([*asked, str(tmp_path / "here.npz")]) == 0
    there = ["--cluster", local_cluster.scheduler_address]
    assert main([*asked, str(tmp_path / "there.npz"), *there]) == 0
    here, found = (np.load(tmp_path / name)["X"] for name in ("here.npz", "there.npz"))
    np.testing.assert_allclose(found, here, atol=1e-5)


@pytest.mark.long
@pytest.mark.models
def test_cached_chunks_are_not_encoded_again(
    executor: Any, tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The middle one of three chunks is cached."""
    monkeypatch.setattr("winosmith.embed._encoder.CHUNK", 100)
    problems = make_twins(150).problems
    embedder = embed.EncoderEmbedder(tiny_encoder, cache=tmp_path)
    middle = embedder.embed(problems[100:200])
    spread = embed.EncoderEmbedder(tiny_encoder, cache=tmp_path, executor=executor)
    found = spread.embed(problems)
    assert np.array_equal(found[100:200], middle)
    np.testing.assert_allclose(found, embedder.embed(problems), atol=1e-5)


def test_hunting_on_a_cluster_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["solve", str(data), "--solver", "hunting", "--collection", str(tmp_path)]
    out = ["--out", str(tmp_path / "a.jsonl"), "--cluster", "tcp://localhost:1"]
    assert main([*asked, *out]) == 2
    assert "hunting runs only on this machine; omit --cluster" in capsys.readouterr().err


@pytest.mark.long
def test_missing_scheduler_is_reported(
    dask: None, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    there = ["--cluster", "tcp://127.0.0.1:9", "--out", str(out)]
    assert main(["debias", str(data), *there]) == 2
    assert "tcp://127.0.0.1:9" in capsys.readouterr().err
    assert not out.exists()


def test_any_executor_can_solve(data: Path, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    dataset = formats.read(data)
    here = solve.predict_to_file(solve.Random(1), dataset, tmp_path / "here.jsonl")
    with ThreadPoolExecutor(3) as pool:
        there = solve.predict_to_file(
            solve.Random(1), dataset, tmp_path / "there.jsonl", executor=pool
        )
    assert here.predictions == there.predictions
