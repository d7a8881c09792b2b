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


@pytest.fixture(autouse=True)
def _data(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with forty twins, and cache vectors in its subfolder."""
    formats.write(PROBLEMS, "made.jsonl")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_light_embedder_writes_vectors_with_ids_and_signature(cli):
    shown = cli("embed made.jsonl --out made.npz --dimensions 64")
    assert "80 problems × " in shown
    assert "Written to made.npz" in shown
    assert "|n:80|embedder:light|dimensions:64|combine:difference|version:" in cli.err
    expected = LightEmbedder(dimensions=64).embed(PROBLEMS)
    assert np.array_equal(load_array("made.npz").embed(PROBLEMS), expected)
    with np.load("made.npz", allow_pickle=False) as held:
        signature = json.loads(held["signature"].item())
    assert signature["data"] == PROBLEMS.digest
    assert signature["parameters"]["embedder"] == "light"


def test_existing_output_needs_force(cli):
    out = Path("made.npz")
    out.write_bytes(b"precious")
    assert "add --force to replace it" in cli.refused("embed made.jsonl --out made.npz")
    assert out.read_bytes() == b"precious"
    cli("embed made.jsonl --out made.npz --force")
    assert len(load_array(out).embed(PROBLEMS)) == 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--out x.csv", "use a name that ends in .npz"),
        ("--out made.jsonl/x.npz", "made.jsonl: File exists"),
        ("--out x.npz --finetune 20:10", "the light embedder can't be fine-tuned"),
        ("--out x.npz --dimensions 1", "1 is not in the range x>=2"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(arguments, message, cli):
    """The message has advice."""
    assert message in cli.refused(f"embed made.jsonl {arguments}")
    assert [path.name for path in Path().iterdir()] == ["made.jsonl"]


@pytest.mark.models
def test_encoder_vectors_are_cached_unless_no_cache_is_given(tiny_encoder, cli):
    command = f"embed made.jsonl --encoder {tiny_encoder} --json"
    cli(f"{command} --out a.npz --no-cache")
    assert not Path("cache").exists()
    output = cli(f"{command} --out b.npz --pooling cls")
    assert len(list(Path("cache/winosmith/embeddings").iterdir())) == 1
    report = json.loads(output[output.rindex('{\n  "schema"') :])
    assert (report["problems"], report["width"]) == (80, 16)
    assert "|embedder:encoder|model:" in report["signature"]
    assert "|pooling:cls|" in report["signature"]


@pytest.mark.models
def test_fine_tuning_problems_are_listed_and_not_embedded(tiny_encoder, cli, tmp_path):
    command = f"embed made.jsonl --encoder {tiny_encoder} --finetune 40:20 --epochs 1"
    report = cli.told(f"{command} --out x.npz")
    assert "AT CHANCE" in cli.err
    assert report["finetuning"]["at_chance"] is True
    assert len(report["train_ids"]) == 40
    with np.load("x.npz", allow_pickle=False) as held:
        parts = [held[name].tolist() for name in ("train_ids", "dev_ids", "ids")]
    assert sorted(name for part in parts for name in part) == sorted(PROBLEMS.ids)
    assert [len(part) for part in parts] == [40, 20, 20]
    twin_of = {problem.id: problem.twin_id for problem in PROBLEMS}
    twins = [{twin_of[name] for name in part} for part in parts]
    assert not twins[0] & twins[1] | twins[0] & twins[2] | twins[1] & twins[2]
    assert Path(report["finetuning"]["model"]).is_relative_to(tmp_path / "cache")


@pytest.mark.models
def test_kept_model_gives_the_same_vectors(tiny_encoder, cli):
    embed = "embed made.jsonl --no-cache --encoder"
    finetune = f"{embed} {tiny_encoder} --finetune 40:20 --epochs 1 --keep-model model --out"
    shown = cli(f"{finetune} tuned.npz")
    assert "40 training and 20 development problems have no vectors" in shown
    cli(f"{finetune} again.npz")
    assert Path("tuned.npz").read_bytes() == Path("again.npz").read_bytes()
    cli(f"{embed} model/model --pooling cls --split-point before_option --out whole.npz")
    with np.load("tuned.npz", allow_pickle=False) as held:
        rest = PROBLEMS.select(PROBLEMS.row(name) for name in held["ids"].tolist())
        np.testing.assert_allclose(load_array("whole.npz").embed(rest), held["X"], atol=1e-5)


@pytest.mark.models
def test_finetune_sizes_must_leave_problems_to_embed(tiny_encoder, cli):
    command = f"embed made.jsonl --encoder {tiny_encoder} --out x.npz --finetune"
    assert "two numbers are needed, such as 5000:1000" in cli.refused(f"{command} 40")
    assert "80 problems can't be divided" in cli.refused(f"{command} 60:20")
