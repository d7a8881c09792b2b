"""`winosmith round`, as its users meet it."""

import json
import shutil

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


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """Write 60 made twins and a recipe into the current folder."""
    monkeypatch.chdir(tmp_path)
    formats.write(make_twins(60).problems, "twins.jsonl")
    (tmp_path / "round.toml").write_text(RECIPE, "utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a finished round that nobody writes to."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def first(pool, whole, cli):
    """Put the finished round of the recipe into the folder 1; return what it printed."""
    if (whole / "1").exists():
        shutil.copytree(whole / "1", "1")
    else:
        (whole / "printed").write_text(cli("round round.toml --out 1"), "utf-8")
        shutil.copytree("1", whole / "1")
    return (whole / "printed").read_text("utf-8")


def test_a_round_tells_what_changed_and_where_the_report_is(pool, first, cli):
    """The figures stand beside those of the last round, and the roots are counted."""
    assert "chance: accuracy on this round's dev and test" in first
    assert "3 roots for the next round" in first
    assert "The linear model is trained and tested on halves" in first
    assert "1/report.html" in first
    (pool / "round.toml").write_text(RECIPE.replace("mine", "next"), "utf-8")
    assert "This round and the previous one" in cli("round round.toml --out 2 --last 1")


def test_json_is_the_record_of_the_round(pool, first, cli):
    """What is printed is what round.json holds."""
    assert cli.told("round round.toml --out 1") == json.loads((pool / "1/round.json").read_text())


def test_a_rebuild_says_that_the_bytes_are_the_same_or_which_differ(pool, first, cli):
    """A file that was changed behind the round's back is named."""
    assert "every file is identical to the one in 1" in cli.aside(
        "round round.toml --out 2 --stored 1"
    )
    sums = pool / "1" / "checksums.sha256"
    lines = sums.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.endswith("  roots.jsonl"))
    lines[at] = "0" * 64 + lines[at][64:]
    sums.write_text("\n".join(lines) + "\n")
    told = cli.aside("round round.toml --out 3 --stored 1", code=2)
    assert "1 files differ from 1: roots.jsonl" in told


def test_a_round_of_which_more_roots_are_asked_than_are_fit_says_so(pool, cli):
    """The number that was asked for is told beside the one that was drawn; nothing is measured."""
    asked = RECIPE.replace("roots = 3", "roots = 999").replace("splits = 1", "splits = 0")
    (pool / "round.toml").write_text(asked, "utf-8")
    assert "(999 were requested)" in cli("round round.toml --out 1")


def test_a_database_without_a_site_is_refused(pool, cli):
    """--database is of a site, so it does not go with a recipe and a folder; nothing is written."""
    arguments = ["round", "round.toml", "--out", "1", "--database", "postgresql://nowhere/none"]
    assert "--database needs --site" in cli.refused(*arguments)
    assert not (pool / "1").exists()
