"""The mirror filter in reports and commands."""

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winosmith import formats, practice
from winosmith.build import EmbedRecipe, FilterRecipe, Recipe, debias_to_folder, read_recipe
from winosmith.cli import main
from winosmith.embed import LightEmbedder, save_array
from winosmith.errors import RecipeError

POOL = practice.generate_corpus(300, strength=0.6, seed=3).dataset


def filtered(out: Path, embed: EmbedRecipe | None = None, **chosen: Any) -> Any:
    """Filter practice twins into a folder, without other runs and measured halves."""
    recipe = FilterRecipe(method="mirror", again=False, **chosen)
    return debias_to_folder(
        POOL, out, embed=embed or EmbedRecipe(dimensions=64), filter_recipe=recipe, splits=0
    )


@pytest.mark.parametrize("aim", ["error", "chance"])
def test_whole_twins_are_removed_with_their_margin_as_reason(tmp_path: Path, aim: Any) -> None:
    done = filtered(tmp_path / "out", aim=aim, error=0.2)
    dropped = list(
        map(json.loads, (tmp_path / "out/dropped.jsonl").read_text("utf-8").splitlines())
    )
    assert len(dropped) > 50
    assert not done.filtered.kept.singles
    assert {entry["stage"] for entry in dropped} == {"mirror"}
    last = "the threshold is" if aim == "error" else "removed at random"
    assert all(last in entry["reason"] for entry in dropped)


def test_report_has_margins_and_the_estimated_error(tmp_path: Path) -> None:
    done = filtered(tmp_path / "out", error=0.2)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))["mirror"]
    page = html.unescape((done.folder / "report.html").read_text("utf-8"))
    assert record["false_share"] <= 0.2
    assert len(record["turned"]) == 19
    assert "Margins and their mirror image" in page
    assert f"{record['agreeing']:,} agree, {record['disagreeing']:,} disagree" in page
    assert "found at least as many (p = 0.05)" in page
    assert "removed: predicted with a margin of" in page


def test_vectors_of_noise_remove_nothing(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=(len(POOL), 8)).astype(np.float32)
    told = json.dumps({"parameters": {"combine": "difference"}})
    save_array(tmp_path / "noise.npz", noise, POOL.ids, signature=told)
    done = filtered(tmp_path / "out", EmbedRecipe(array=str(tmp_path / "noise.npz")))
    assert len(done.filtered.kept) == len(POOL)
    page = html.unescape((done.folder / "report.html").read_text("utf-8"))
    assert "Nothing was removed" in page


def test_vectors_without_sign_change_are_refused_early(tmp_path: Path) -> None:
    """The vectors are `concat`, or a file that doesn't state how they were combined."""
    np.save(tmp_path / "x.npy", LightEmbedder(8).embed(POOL))
    for embed in (EmbedRecipe(combine="concat"), EmbedRecipe(array=str(tmp_path / "x.npy"))):
        with pytest.raises(RecipeError, match="that change sign when options are swapped"):
            filtered(tmp_path / "out", embed)
    assert not (tmp_path / "out").exists()


def test_progress_shows_each_run_with_permuted_keys(tmp_path: Path) -> None:
    told: list[tuple[int, str]] = []

    @contextmanager
    def step(title: str, total: int | None) -> Iterator[Any]:
        yield lambda done, note: told.append((done, note)) if title == "filtering" else None

    recipe = FilterRecipe(method="mirror", again=False, repeats=2)
    embed = EmbedRecipe(dimensions=16)
    debias_to_folder(POOL, tmp_path / "out", embed=embed, filter_recipe=recipe, splits=0, step=step)
    assert told[0] == (
        30,
        "run 1 of 20, 19 of them with permuted keys, 2 partitions into folds each",
    )
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == len(POOL)


def test_error_out_of_range_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write(POOL.problems, tmp_path / "twins.jsonl")
    asked = ["debias", str(tmp_path / "twins.jsonl"), "--out", str(tmp_path / "out")]
    assert main([*asked, "--method", "mirror", "--error", "0.5"]) == 2
    assert "'--error': 0.5 is not in the range 0<x<=0.2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--error", "0.1"], "--error is for --method mirror, not for aflite"),
        (
            ["--method", "mirror", "--keep", "9"],
            "--keep is for --method pmi or --method random",
        ),
        (["--method", "mirror", "--threshold", "0.7"], "--threshold is for --method aflite"),
        (["--pmi-variant", "max"], "--pmi-variant is for --method pmi, not for aflite"),
        (["--method", "mirror", "--aim", "chance", "--error", "0.1"], "is for --aim error"),
    ],
)
def test_options_of_other_methods_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    """Even with their default values."""
    formats.write(POOL.problems, tmp_path / "twins.jsonl")
    out = ["--out", str(tmp_path / "out")]
    assert main(["debias", str(tmp_path / "twins.jsonl"), *out, *asked]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_mirror_recipe_is_read(tmp_path: Path) -> None:
    (tmp_path / "twins.jsonl").touch()
    (tmp_path / "r.toml").write_text(
        'name = "a"\ndata = "twins.jsonl"\n[filter]\nmethod = "mirror"\naim = "chance"\nfolds = 5\n'
    )
    chosen = read_recipe(tmp_path / "r.toml").filter
    assert isinstance(chosen, FilterRecipe)
    assert (chosen.method, chosen.aim, chosen.folds) == ("mirror", "chance", 5)
    assert Recipe("a", "b").filter.method == "aflite"
