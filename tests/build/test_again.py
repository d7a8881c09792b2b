"""The fraction of removed problems that other runs of a filter also remove."""

import json
from pathlib import Path

import pytest

from winosmith import practice
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder

DATA = practice.generate_corpus(80, strength=0.5).dataset
SMALL = {"ensemble_size": 8, "train_size": 40, "cutoff": 8, "null_draws": 20}


def run(out: Path, **chosen: object) -> dict[str, object]:
    """Filter the data and return the report as JSON."""
    recipe = FilterRecipe(**{**SMALL, **chosen})
    debias_to_folder(DATA, out, embed=EmbedRecipe(dimensions=16), filter_recipe=recipe, splits=0)
    return dict(json.loads((out / "report.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """Return the folder and the report of a filter with its other runs."""
    out = tmp_path_factory.mktemp("again") / "with"
    return out, run(out)


def test_report_compares_aflite_with_other_runs(reported: tuple[Path, dict[str, object]]) -> None:
    out, record = reported
    again = record["again"]
    assert list(again) == ["another seed", "perturbed vectors"]
    told = again["another seed"]
    assert told["removed"] == record["dropped"]
    assert 0 < told["both"] <= min(told["removed"], told["other"])
    assert told["share"] == told["both"] / told["removed"]
    labels = [figure["label"] for figure in record["figures"]]
    assert "of removed problems are also removed with another seed" in labels
    assert "Would another run remove the same problems?" in (out / "report.html").read_text("utf-8")


def test_other_runs_do_not_change_kept_problems(
    reported: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    assert run(tmp_path / "without", again=False)["again"] == {}
    for name in ("kept.jsonl", "dropped.jsonl"):
        both = [(folder / name).read_bytes() for folder in (reported[0], tmp_path / "without")]
        assert both[0] == both[1]


@pytest.mark.parametrize("method", ["random", "pmi"])
def test_random_and_pmi_have_no_run_with_perturbed_vectors(method: str, tmp_path: Path) -> None:
    """Neither reads vectors, so only another seed is tried."""
    again = run(tmp_path, method=method, keep=100)["again"]
    assert list(again) == ["another seed"]
    assert again["another seed"]["removed"] == len(DATA) - 100
