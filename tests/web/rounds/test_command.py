"""`winosmith round --site` and `winosmith admin round`, on a site that is not served."""

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from tests.web.rounds.making import fill
from winosmith.web.rounds import running as rules
from winosmith.web.rounds.models import Round


@pytest.fixture
def carry_out(db: Any) -> Callable[..., str]:
    """Return a function that runs `winosmith round --site SITE …` and returns its output."""
    from winosmith.cli.round import command

    return lambda *words, code=0: _run(command, ["--site", str(db.folder), *words], code)


def _run(command: Any, words: list[str], code: int) -> str:
    found = CliRunner().invoke(command, words)
    told = f"{found.output}{found.exception or ''}"
    assert found.exit_code == code, told
    return told


RECIPE = """
data = "elsewhere.jsonl"
roots = 2
[embed]
dimensions = 16
[filter]
ensemble_size = 16
[split]
dev = 0.2
test = 0.2
[[solvers]]
name = "away"
solver = "hunting"
collection = "texts"
"""


def test_command_runs_resumes_and_publishes_rounds(db, carry_out, tmp_path):
    """A failed round resumes with its stored recipe."""
    fill(60, votes=False)
    recipe = tmp_path / "mine.toml"
    recipe.write_text(RECIPE, "utf-8")
    assert "round-1 failed" in carry_out(str(recipe), code=1)
    assert "already has a recipe" in carry_out(str(recipe), "--name", "round-1", code=1)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("The trophy is large.\n")
    assert "round-1 is done" in carry_out("--name", "round-1")
    rules.publish_round(None, Round.objects.get())
    assert "round-2 is done" in carry_out(str(recipe))
    assert Round.objects.get(name="round-2").last.name == "round-1"


def test_a_round_that_was_broken_off_goes_on(db, carry_out):
    """The command without a name takes it up; a failed round blocks no other name."""
    fill(10, votes=False)
    rules.create_round(
        "one", {"solvers": [{"name": "none", "solver": "encoder", "model": "not-there"}]}
    )
    assert "is not finished" in carry_out("--name", "two", code=1)
    assert "one failed" in carry_out(code=1)


def test_recipe_in_the_site_folder_is_found_by_name(db, carry_out):
    """Its paths are relative to the folder of recipes."""
    fill(10, votes=False)
    folder = db.folder / "recipes"
    folder.mkdir(exist_ok=True)
    (folder / "strict.toml").write_text("roots = 2\n[filter]\nthreshold = 0.6\n", "utf-8")
    carry_out("strict")
    (folder / "strict.toml").unlink()
    made = Round.objects.get()
    assert (made.recipe["roots"], made.recipe["filter"]) == (2, {"threshold": 0.6})
    assert made.base == str(folder)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--site", "x", "--out", "y", "--force"], "can't be combined with --out, --force"),
        ([], "a site"),
        (["r.toml"], "--out"),
        (["r.toml", "--out", "y", "--name", "n"], "--name needs --site"),
    ],
)
def test_conflicting_or_missing_options_are_refused(words, why):
    from winosmith.cli.round import command

    assert why in _run(command, words, 1)
