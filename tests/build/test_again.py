"""A report of a filter says how much of what it removed other runs remove too."""

import json
from pathlib import Path

import pytest

from winosmith import practice
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder

DATA = practice.generate_corpus(80, strength=0.5).dataset
SMALL = {"ensemble_size": 8, "train_size": 40, "cutoff": 8, "null_draws": 20}


def run(out: Path, **chosen: object) -> dict[str, object]:
    """Filter, and return the report."""
    recipe = FilterRecipe(**{**SMALL, **chosen})
    debias_to_folder(DATA, out, embed=EmbedRecipe(dimensions=16), filter_recipe=recipe, splits=0)
    return dict(json.loads((out / "report.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """Return the folder of a filter with its other runs, and its report."""
    out = tmp_path_factory.mktemp("again") / "with"
    return out, run(out)


def test_the_report_says_what_goes_again(reported: tuple[Path, dict[str, object]]) -> None:
    """AFLite's report compares it with another seed and with perturbed vectors."""
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


def test_what_is_kept_does_not_depend_on_it(
    reported: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    """With the other runs and without them the same bytes are kept and dropped."""
    assert run(tmp_path / "without", again=False)["again"] == {}
    for name in ("kept.jsonl", "dropped.jsonl"):
        both = [(folder / name).read_bytes() for folder in (reported[0], tmp_path / "without")]
        assert both[0] == both[1]


@pytest.mark.parametrize("method", ["random", "pmi"])
def test_methods_without_vectors_are_not_shaken(method: str, tmp_path: Path) -> None:
    """A random reduction and PMI know no vectors: only another seed is tried."""
    again = run(tmp_path, method=method, keep=100)["again"]
    assert list(again) == ["another seed"]
    assert again["another seed"]["removed"] == len(DATA) - 100
