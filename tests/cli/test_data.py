"""`winosmith data`: the published sets are listed, and got."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from winosmith.cli import main
from winosmith.fetch import PUBLISHED


def test_the_list_names_every_set(capsys: pytest.CaptureFixture[str]) -> None:
    """Each data set is a row with its licence."""
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(known.name in shown for known in PUBLISHED)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_list_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json the addresses and checksums are there for a program to use."""
    assert main(["data", "list", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["name"] for record in records] == [known.name for known in PUBLISHED]
    assert all(file["url"].startswith("https://") for r in records for file in r["files"])


def test_an_unknown_set_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is not known ends with code 2 and the known names."""
    assert main(["data", "get", "nothing"]) == 2
    assert "winogrande" in capsys.readouterr().err


def test_a_folder_of_others_is_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Getting a set into a folder with other files ends with code 2 before any download."""
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["data", "get", "wsc", "--out", str(tmp_path)]) == 2
    assert "was not written by winosmith" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
