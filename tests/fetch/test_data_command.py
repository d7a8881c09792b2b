"""The command `winosmith data get` with a real server."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from winosmith.cli import main
from winosmith.fetch import PublishedDataset, RemoteFile

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


def test_download_prints_paths_and_licence(
    made: PublishedDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the paths go to standard output."""
    assert main(["data", "get", "made", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'out/a.jsonl'}\n"
    assert "licence: CC0" in shown.err
    assert (tmp_path / "out/a.jsonl").read_bytes() == TEXT


def test_json_has_paths_and_checksums(
    made: PublishedDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "get", "made", "--out", str(tmp_path / "out"), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == {str(tmp_path / "out/a.jsonl"): DIGEST}


def test_broken_connection_is_reported_with_a_remedy(
    made: PublishedDataset, site: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.cut = 20
    command = ["data", "get", "made", "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert "run the same command again" in capsys.readouterr().err
    site.cut = None
    assert main(command) == 0
    assert site.asked == 2
    assert (tmp_path / "out/a.jsonl").read_bytes() == TEXT
