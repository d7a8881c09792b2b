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
