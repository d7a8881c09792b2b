"""`winosmith round`, on the command line."""

import json
import shutil
from pathlib import Path

import pytest

from winosmith import formats
from winosmith.testing import make_twins

RECIPE = """name = "mine"
data = "twins.jsonl"
roots = 3
[embed]
dimensions = 8
[filter]
method = "none"
[measure]
splits = 1
[split]
dev = 0.3
test = 0.2
[[solvers]]
name = "chance"
solver = "random"
"""


@pytest.fixture(autouse=True)
def _pool(cli):
    """Write 60 generated twins and a recipe into the current folder."""
    formats.write(make_twins(60).problems, "twins.jsonl")
    Path("round.toml").write_text(RECIPE, "utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder for the finished round; only `first` writes to it."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def first(whole, cli):
    """Put the finished round of the recipe into the folder 1; return its output."""
    if (whole / "1").exists():
        shutil.copytree(whole / "1", "1")
    else:
        (whole / "printed").write_text(cli("round round.toml --out 1"), "utf-8")
        shutil.copytree("1", whole / "1")
    return (whole / "printed").read_text("utf-8")


def test_round_prints_its_results_and_the_path_of_the_report(first, cli):
    assert "chance: accuracy on this round's dev and test" in first
    assert "3 roots for the next round" in first
    assert "The linear model is trained and tested on halves" in first
    assert "1/report.html" in first
    Path("round.toml").write_text(RECIPE.replace("mine", "next"), "utf-8")
    assert "This round and the previous one" in cli("round round.toml --out 2 --last 1")


def test_json_output_equals_round_json(first, cli):
    assert cli.told("round round.toml --out 1") == json.loads(Path("1/round.json").read_text())


def test_rebuild_reports_files_that_differ_from_the_stored_ones(first, cli):
    assert "every file is identical to the one in 1" in cli.aside(
        "round round.toml --out 2 --stored 1"
    )
    sums = Path("1/checksums.sha256")
    lines = sums.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.endswith("  roots.jsonl"))
    lines[at] = "0" * 64 + lines[at][64:]
    sums.write_text("\n".join(lines) + "\n")
    told = cli.aside("round round.toml --out 3 --stored 1", code=2)
    assert "1 files differ from 1: roots.jsonl" in told


def test_round_reports_that_fewer_roots_than_requested_fit(cli):
    asked = RECIPE.replace("roots = 3", "roots = 999").replace("splits = 1", "splits = 0")
    Path("round.toml").write_text(asked, "utf-8")
    assert "(999 were requested)" in cli("round round.toml --out 1")


def test_database_without_a_site_is_refused(cli):
    told = cli.refused("round round.toml --out 1 --database postgresql://nowhere/none")
    assert "--database needs --site" in told
    assert not Path("1").exists()
