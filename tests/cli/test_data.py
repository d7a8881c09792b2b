"""`winosmith data` lists and downloads published data sets."""

from pathlib import Path

from tests.cli.conftest import Cli
from winosmith.fetch import PUBLISHED


def test_list_includes_every_data_set(cli: Cli) -> None:
    shown = cli("data list")
    assert all(known.name in shown for known in PUBLISHED)
    assert max(map(len, shown.splitlines())) <= 80


def test_json_list_has_the_addresses_of_all_files(cli: Cli) -> None:
    records = cli.told("data list")["sets"]
    assert [record["name"] for record in records] == [known.name for known in PUBLISHED]
    assert all(file["url"].startswith("https://") for r in records for file in r["files"])


def test_unknown_data_set_is_refused_with_known_names(cli: Cli) -> None:
    assert "winogrande" in cli.refused("data get nothing")


def test_folder_with_other_files_is_refused_before_download(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "was not written by winosmith" in cli.refused("data", "get", "wsc", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
