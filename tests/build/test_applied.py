"""The problems of a build to which WinoGrande's rules for authors apply."""

import json
from pathlib import Path

import pytest

from winosmith import Dataset, Response, formats
from winosmith.build import build, parse_recipe
from winosmith.cli import main
from winosmith.testing import make_families, make_twins
from winosmith.validate import write_votes


@pytest.fixture
def pool(tmp_path: Path) -> dict[str, str]:
    """Return the data and votes of a recipe: twins and perturbed problems, all judged valid."""
    data = Dataset([*make_twins(30), *make_families([1, 2, 3], [2, 4])])
    formats.write(data.problems, tmp_path / "pool.jsonl")
    said = [Response(p.id, f"{w}-{p.id}", "validate", p.answer) for p in data for w in "xyz"]
    write_votes(said, tmp_path / "votes.csv")
    return {"data": str(tmp_path / "pool.jsonl"), "votes_file": str(tmp_path / "votes.csv")}


def test_perturbed_problems_and_roots_are_exempt_from_rules(
    pool: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = parse_recipe({"name": "mine", **pool, "filter": {"method": "none"}})
    built = build(recipe, tmp_path / "out")
    assert built.funnel.kept.problems == 67
    told = (
        "WinoGrande's rules for authors were applied to 60 of 67 problems; not to 7 (perturbed or "
        "their roots)"
    )
    assert str(built.applied_rules) == told
    record = json.loads((tmp_path / "out/report.json").read_text("utf-8"))
    assert record["rules_used"]["words"] == [told]
    assert "not to 7 (perturbed or their roots)" in built.report.read_text("utf-8")


def test_winogrande_rules_drop_short_perturbed_problems(
    pool: dict[str, str], tmp_path: Path
) -> None:
    table = {"name": "mine", **pool, "filter": {"method": "none"}}
    strict = parse_recipe({**table, "structure": {"rules": "winogrande"}})
    built = build(strict, tmp_path / "out")
    assert built.funnel.steps[0].dropped["length"] == 7
    assert built.funnel.kept.problems == 60
    recipe = (tmp_path / "out/recipe.toml").read_text("utf-8")
    assert 'rules = "winogrande"' in recipe


def test_build_prints_the_applied_rules_after_the_verdict(
    pool: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ['name = "mine"', *(f'{key} = "{Path(file).name}"' for key, file in pool.items())]
    (tmp_path / "mine.toml").write_text("\n".join([*lines, '[filter]\nmethod = "none"\n']))
    assert main(["build", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out")]) == 0
    verdict, rules = capsys.readouterr().out.split("WinoGrande's rules for authors were ", 1)
    assert "accuracy of a linear model" in verdict
    assert rules.startswith("applied to 60 of 67")
