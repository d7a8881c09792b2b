"""`winosmith admin round`, beside a site that is not served."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.web.rounds.making import fill  # type: ignore[import-not-found]


@pytest.fixture
def run(db: Any) -> Callable[..., str]:
    """Return a runner of `winosmith admin round SITE …`, which returns what was printed."""
    from winosmith.cli.admin import command

    def call(*arguments: str, code: int = 0) -> str:
        found = CliRunner().invoke(command, ["round", str(db.folder), *arguments])
        told = f"{found.output}{found.exception or ''}"
        assert found.exit_code == code, told
        return told

    return call


def test_a_round_is_started_shown_and_cancelled(run: Callable[..., str], tmp_path: Path) -> None:
    """Without a server it waits and says what to do; cancelled, it says how it goes on."""
    assert "no round yet" in run("list")
    fill(10, votes=False)
    recipe = tmp_path / "mine.toml"
    recipe.write_text('data = "elsewhere.jsonl"\nroots = 3\n', "utf-8")
    assert "round-1 waits for the server" in run("start", "--recipe", str(recipe))
    assert "no process is at it" in run("show", "round-1")
    assert "is not over" in run("start", code=1)
    assert "round-1 is cancelled" in run("cancel", "round-1")
    assert "there are: round-1" in run("show", "round-2", code=1)
    assert "not done" in run("publish", "round-1", code=1)
    assert "round-1 waits" in run("start", "--name", "round-1")


def test_the_figures_of_a_round_are_shown(
    run: Callable[..., str], stored: Callable[..., Any]
) -> None:
    """Done and published, a round is listed with its sizes, and shown beside the last one."""
    made = stored("one", published=False)
    assert "not published" in run("show", "one")
    run("publish", "one")
    stored("two", last=made)
    shown = run("show", "two")
    assert "This round and one" in shown
    assert f"{made.record['build']['kept']:,}" in shown
    assert run("list").count("done") == 2
