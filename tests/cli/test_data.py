"""`winosmith data`: the published sets are listed, and got."""

from pathlib import Path

from tests.cli.conftest import Cli
from winosmith.fetch import PUBLISHED


def test_the_list_names_every_set(cli: Cli) -> None:
    """Each data set is a row with its licence."""
    shown = cli("data list")
    assert all(known.name in shown for known in PUBLISHED)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_list_is_json_too(cli: Cli) -> None:
    """With --json the addresses and checksums are there for a program to use."""
    records = cli.told("data list")["sets"]
    assert [record["name"] for record in records] == [known.name for known in PUBLISHED]
    assert all(file["url"].startswith("https://") for r in records for file in r["files"])


def test_an_unknown_set_is_bad_input(cli: Cli) -> None:
    """A name that is not known ends with code 2 and the known names."""
    assert "winogrande" in cli.refused("data get nothing")


def test_a_folder_of_others_is_not_touched(tmp_path: Path, cli: Cli) -> None:
    """Getting a set into a folder with other files ends with code 2 before any download."""
    (tmp_path / "mine.txt").write_text("mine")
    assert "was not written by winosmith" in cli.refused("data", "get", "wsc", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
