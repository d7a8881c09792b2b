"""`winosmith embed` writes vectors with ids and a signature, or nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from winosmith import formats
from winosmith.embed import LightEmbedder, load_array
from winosmith.testing import make_twins

PROBLEMS = make_twins(40)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the path of a file with forty twins."""
    formats.write(PROBLEMS, tmp_path / "made.jsonl")
    return tmp_path / "made.jsonl"


def test_light_embedder_writes_vectors_with_ids_and_signature(data: Path, cli: Cli) -> None:
    out = data.with_suffix(".npz")
    shown = cli("embed", data, "--out", out, "--dimensions", "64")
    assert "80 problems × " in shown
    assert f"Written to {out}" in shown
    assert "|n:80|embedder:light|dimensions:64|combine:difference|version:" in cli.err
    expected = LightEmbedder(dimensions=64).embed(PROBLEMS)
    assert np.array_equal(load_array(out).embed(PROBLEMS), expected)
    with np.load(out, allow_pickle=False) as held:
        signature = json.loads(held["signature"].item())
    assert signature["data"] == PROBLEMS.digest
    assert signature["parameters"]["embedder"] == "light"


def test_existing_output_needs_force(data: Path, cli: Cli) -> None:
    out = data.with_suffix(".npz")
    out.write_bytes(b"precious")
    assert "add --force to replace it" in cli.refused("embed", data, "--out", out)
    assert out.read_bytes() == b"precious"
    cli("embed", data, "--out", out, "--force")
    assert len(load_array(out).embed(PROBLEMS)) == 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.csv"], "use a name that ends in .npz"),
        (["--out", "made.jsonl/x.npz"], "made.jsonl: File exists"),
        (["--out", "x.npz", "--finetune", "20:10"], "the light embedder can't be fine-tuned"),
        (["--out", "x.npz", "--dimensions", "1"], "1 is not in the range x>=2"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    data: Path, arguments: list[str], message: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can't be embedded is refused with advice, and nothing is written."""
    monkeypatch.chdir(data.parent)
    assert message in cli.refused("embed", data, *arguments)
    assert [path.name for path in data.parent.iterdir()] == ["made.jsonl"]


@pytest.mark.models
def test_encoder_vectors_are_cached_unless_no_cache_is_given(
    data: Path, tiny_encoder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["embed", str(data), "--encoder", str(tiny_encoder), "--json"]
    cli(*command, "--out", tmp_path / "a.npz", "--no-cache")
    assert not (tmp_path / "cache").exists()
    output = cli(*command, "--out", tmp_path / "b.npz", "--pooling", "cls")
    assert len(list((tmp_path / "cache" / "winosmith" / "embeddings").iterdir())) == 1
    report = json.loads(output[output.rindex('{\n  "schema"') :])
    assert (report["problems"], report["width"]) == (80, 16)
    assert "|embedder:encoder|model:" in report["signature"]
    assert "|pooling:cls|" in report["signature"]


@pytest.mark.models
def test_fine_tuning_problems_are_listed_and_not_embedded(
    data: Path, tiny_encoder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "x.npz"
    command = ["embed", str(data), "--encoder", str(tiny_encoder), "--finetune", "40:20"]
    report = cli.told(*command, "--out", out, "--epochs", "1")
    assert "AT CHANCE" in cli.err
    assert report["finetuning"]["at_chance"] is True
    assert len(report["train_ids"]) == 40
    with np.load(out, allow_pickle=False) as held:
        parts = [held[name].tolist() for name in ("train_ids", "dev_ids", "ids")]
    assert sorted(name for part in parts for name in part) == sorted(PROBLEMS.ids)
    assert [len(part) for part in parts] == [40, 20, 20]
    twin_of = {problem.id: problem.twin_id for problem in PROBLEMS}
    twins = [{twin_of[name] for name in part} for part in parts]
    assert not twins[0] & twins[1] | twins[0] & twins[2] | twins[1] & twins[2]
    assert Path(report["finetuning"]["model"]).is_relative_to(tmp_path / "cache")


@pytest.mark.models
def test_kept_model_gives_the_same_vectors(
    data: Path, tiny_encoder: Path, tmp_path: Path, cli: Cli
) -> None:
    command = ["embed", str(data), "--no-cache", "--encoder"]
    tuned, again = tmp_path / "tuned.npz", tmp_path / "again.npz"
    model = tmp_path / "model"
    finetune = ["--finetune", "40:20", "--epochs", "1", "--keep-model", str(model)]
    assert "40 training and 20 development problems have no vectors" in cli(
        *command, tiny_encoder, *finetune, "--out", tuned
    )
    cli(*command, tiny_encoder, *finetune, "--out", again)
    assert tuned.read_bytes() == again.read_bytes()
    whole = tmp_path / "whole.npz"
    as_trained = ["--pooling", "cls", "--split-point", "before_option"]
    kept = str(model / "model")
    cli(*command, kept, *as_trained, "--out", whole)
    with np.load(tuned, allow_pickle=False) as held:
        rest = PROBLEMS.select(PROBLEMS.row(name) for name in held["ids"].tolist())
        np.testing.assert_allclose(load_array(whole).embed(rest), held["X"], atol=1e-5)


@pytest.mark.models
def test_finetune_sizes_must_leave_problems_to_embed(
    data: Path, tiny_encoder: Path, cli: Cli, tmp_path: Path
) -> None:
    command = ["embed", str(data), "--encoder", str(tiny_encoder), "--out", str(tmp_path / "x.npz")]
    assert "two numbers are needed, such as 5000:1000" in cli.refused(*command, "--finetune", "40")
    assert "80 problems can't be divided" in cli.refused(*command, "--finetune", "60:20")
