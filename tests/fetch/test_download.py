"""Downloads from a real HTTPS server: complete or absent, and never by plain HTTP."""

import hashlib
import random
from typing import Any

import pytest

from winosmith import fetch
from winosmith.errors import OutputError
from winosmith.fetch import RemoteFile

BODY = random.Random(7).randbytes(300_000)  # noqa: S311 - any bytes will do
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def served(site: Any) -> Any:
    """Return the server with a file of 300,000 bytes."""
    site.files["/data.bin"] = BODY
    return site


def remote(
    site: Any, name: str = "data.bin", sha256: str = DIGEST, size: int = 300_000
) -> RemoteFile:
    """Return a file of the server, as in the table of published data sets."""
    return RemoteFile(f"{site.url}/{name}", sha256, size)


def test_download_is_complete_and_reports_progress(served, tmp_path):
    """Other users may read the file."""
    seen: list[int] = []
    path = fetch.download(remote(served), tmp_path, on_progress=lambda _, done: seen.append(done))
    assert path.read_bytes() == BODY
    assert path.stat().st_mode & 0o777 == 0o644
    assert [file.name for file in tmp_path.iterdir()] == ["data.bin"]
    assert seen == sorted(seen)
    assert seen[-1] == 300_000


def test_file_with_wrong_checksum_is_removed(served, tmp_path):
    with pytest.raises(OutputError, match=rf"differs from the published one.*{'0' * 64}.*{DIGEST}"):
        fetch.download(remote(served, sha256="0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_broken_connection_keeps_the_old_file(served, tmp_path):
    (tmp_path / "data.bin").write_bytes(b"older")
    served.cut = 100_000
    with pytest.raises(OutputError, match=r"/data\.bin: the download failed .*run the same comm"):
        fetch.download(remote(served), tmp_path)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"older"]
    served.cut = None
    assert fetch.download(remote(served), tmp_path).read_bytes() == BODY
    assert served.asked == 2


@pytest.mark.parametrize(
    "url", ["http://localhost/data.bin", "ftp://localhost/x", "file:///etc/passwd", "https://"]
)
def test_other_protocols_than_https_are_refused(tmp_path, url):
    with pytest.raises(OutputError, match="only https is allowed"):
        fetch.download(RemoteFile(url, DIGEST, 1), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_redirects_to_https_are_followed(served, tmp_path):
    served.redirects = {
        "/moved": "/data.bin",
        "/plain": served.url.replace("https", "http") + "/data.bin",
        "/file": "file:///etc/passwd",
    }
    assert fetch.download(remote(served, "moved"), tmp_path).read_bytes() == BODY
    for name in ("plain", "file"):
        with pytest.raises(OutputError, match="only https is allowed"):
            fetch.download(remote(served, name), tmp_path)


@pytest.mark.parametrize("says_length", [True, False])
def test_files_larger_than_published_are_refused(served, tmp_path, says_length):
    """With and without a stated length."""
    served.says_length = says_length
    with pytest.raises(OutputError, match="larger than the published 1000 bytes"):
        fetch.download(remote(served, size=1000), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_file_and_missing_server_are_reported(site, tmp_path):
    with pytest.raises(OutputError, match=r"/nothing: the download failed .*404"):
        fetch.download(remote(site, "nothing"), tmp_path)
    with pytest.raises(OutputError, match=r"https://localhost:9/x: the download failed .*refused"):
        fetch.download(RemoteFile("https://localhost:9/x", DIGEST, 1), tmp_path)
