"""Fetching published data sets: archives, checksums and existing folders."""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from winosmith import fetch
from winosmith.errors import OutputError
from winosmith.fetch import PUBLISHED, PublishedDataset, RemoteFile

TEXT = b'{"id":"a","sentence":"A _ b.","options":["x","y"]}\n'


def digest(body: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(body).hexdigest()


def make_zip(files: dict[str, bytes]) -> bytes:
    """Return the bytes of an archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return made.getvalue()


def data(site: Any, body: bytes, name: str, **settings: Any) -> PublishedDataset:
    """Serve bytes and return them as a published data set."""
    site.files[f"/{name}"] = body
    remote = RemoteFile(f"{site.url}/{name}", digest(body), len(body))
    return PublishedDataset("made", "made up", "CC0", site.url, (remote,), **settings)


def test_finished_files_are_not_fetched_again(site, tmp_path):
    made = data(site, TEXT, "a.jsonl")
    for _ in range(2):
        files = fetch.fetch(made, tmp_path / "out")
        assert files == {tmp_path / "out/a.jsonl": digest(TEXT)}
    assert site.asked == 1


def test_archives_are_unpacked_and_their_files_checked(site, tmp_path):
    body = make_zip({"made/a.jsonl": TEXT, "made/b.txt": b"b", "__MACOSX/made/._b.txt": b"-"})
    good = data(site, body, "made.zip", members={"made/a.jsonl": digest(TEXT)})
    files = fetch.fetch(good, tmp_path / "good")
    assert {path.name for path in files} == {"a.jsonl", "b.txt", "made.zip"}
    fetch.fetch(good, tmp_path / "good")
    assert site.asked == 1
    bad = data(site, body, "made.zip", members={"made/a.jsonl": "0" * 64})
    with pytest.raises(
        OutputError, match="this file in the archive differs from the published one"
    ):
        fetch.fetch(bad, tmp_path / "bad")
    assert not (tmp_path / "bad/made/a.jsonl").exists()


def test_published_data_sets_are_well_formed():
    names = [known.name for known in PUBLISHED]
    assert len(set(names)) == len(names) >= 10
    for known in PUBLISHED:
        files = [remote.name for remote in known.remotes]
        assert len(set(files)) == len(files)
        for remote in known.remotes:
            assert urlsplit(remote.url).scheme == "https"
            assert len(remote.sha256) == 64
            assert int(remote.sha256, 16) > 0
            assert remote.size > 0
        assert all(len(checksum) == 64 for checksum in known.members.values())
        assert known.licence
        assert known.title


FILES_HERE = {
    "winogrande": "winogrande",
    "wsc": "wsc",
    "pdp": "pdp",
    "copa": "copa",
    "dpr": "dpr",
    "knowref": "knowref",
    "winogender": "winogender",
    "perturbed-wsc": "perturbed_wsc/dataset",
}


@pytest.mark.parametrize("name", FILES_HERE)
def test_checksums_match_the_published_files(data_dir, name):
    known = fetch.find_published(name)
    folder = data_dir / FILES_HERE[name]
    wanted = {remote.name: remote.sha256 for remote in known.remotes if not remote.is_archive}
    wanted |= {Path(member).name: checksum for member, checksum in known.members.items()}
    wanted.pop("train_xl.jsonl", None)  # the file here has other ids than the original
    assert wanted
    for file, checksum in wanted.items():
        assert digest((folder / file).read_bytes()) == checksum
    for remote in known.remotes:
        if not remote.is_archive:
            assert (folder / remote.name).stat().st_size == remote.size
