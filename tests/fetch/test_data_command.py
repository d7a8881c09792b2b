"""`winosmith data` lists and downloads published data sets, here from a real server."""

import hashlib
from typing import Any

import pytest

from tests.cli.conftest import Cli, cli  # noqa: F401
from winosmith.fetch import PUBLISHED, PublishedDataset, RemoteFile

TEXT = b'{"id":"a","sentence":"A _ b.","options":["x","y"]}\n'
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def made(site: Any, monkeypatch: pytest.MonkeyPatch) -> PublishedDataset:
    """Serve one data set and make it the only published one."""
    site.files["/a.jsonl"] = TEXT
    remote = RemoteFile(f"{site.url}/a.jsonl", DIGEST, len(TEXT))
    known = PublishedDataset("made", "one problem", "CC0", site.url, (remote,))
    monkeypatch.setattr("winosmith.fetch.PUBLISHED", (known,))
    return known


def test_list_includes_every_data_set_with_the_addresses_of_its_files(cli):  # noqa: F811
    shown = cli("data list")
    assert all(known.name in shown for known in PUBLISHED)
    assert max(map(len, shown.splitlines())) <= 80
    records = cli.told("data list")["sets"]
    assert [record["name"] for record in records] == [known.name for known in PUBLISHED]
    assert all(file["url"].startswith("https://") for r in records for file in r["files"])


def test_download_prints_paths_licence_and_checksums(
    made,
    tmp_path,
    cli,  # noqa: F811
):
    """Only the paths go to standard output."""
    out = tmp_path / "out"
    assert cli("data", "get", "made", "--out", out) == f"{out / 'a.jsonl'}\n"
    assert "licence: CC0" in cli.err
    assert (out / "a.jsonl").read_bytes() == TEXT
    again = tmp_path / "again"
    files = cli.told("data", "get", "made", "--out", again)["files"]
    assert files == {str(again / "a.jsonl"): DIGEST}


def test_unknown_name_and_folder_with_other_files_are_refused_before_download(
    made,
    site,
    tmp_path,
    cli,  # noqa: F811
):
    assert "unknown published data set 'gap'; use made" in cli.refused("data get gap")
    (tmp_path / "mine.txt").write_text("mine")
    refused = cli.refused("data", "get", "made", "--out", tmp_path)
    assert "not empty and was not written by winosmith" in refused
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert site.asked == 0
