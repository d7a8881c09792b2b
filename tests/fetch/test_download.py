"""Downloads from a real HTTPS server: whole or absent, and never over plain HTTP."""

from __future__ import annotations

import hashlib
import random
import ssl
from pathlib import Path
from typing import Any

import pytest

from winosmith import fetch
from winosmith.errors import OutputError

BODY = random.Random(7).randbytes(300_000)  # noqa: S311 - any bytes will do
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def served(site: Any) -> Any:
    """Return the server with a file of 300,000 bytes."""
    site.files["/data.bin"] = BODY
    return site


def download(site: Any, path: Path, name: str = "data.bin", **settings: Any) -> str:
    """Download a file of the server."""
    return fetch.download(f"{site.url}/{name}", path, context=site.context, **settings)


def test_a_file_comes_whole(served: Any, tmp_path: Path) -> None:
    """The bytes are the server's, the checksum is theirs, and nothing else is left."""
    seen: list[tuple[int, int | None]] = []
    found = download(
        served,
        tmp_path / "data.bin",
        sha256=DIGEST,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert found == DIGEST
    assert (tmp_path / "data.bin").read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["data.bin"]
    assert seen[-1] == (300_000, 300_000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_wrong_checksum_keeps_nothing(served: Any, tmp_path: Path) -> None:
    """A file with another checksum is told with both, and is not kept."""
    with pytest.raises(OutputError, match=f"has the SHA-256 {DIGEST}, not {'0' * 64}"):
        download(served, tmp_path / "data.bin", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_connection_leaves_nothing(served: Any, tmp_path: Path) -> None:
    """After a break nothing is there, and what was there before stays; the next one is whole."""
    served.cut = 100_000
    for before in ([], [tmp_path / "data.bin"]):
        with pytest.raises(OutputError, match="after 100000 of 300000 bytes; run the same command"):
            download(served, tmp_path / "data.bin", sha256=DIGEST)
        assert list(tmp_path.iterdir()) == before
        (tmp_path / "data.bin").write_bytes(b"older")
    served.cut = None
    assert download(served, tmp_path / "data.bin", sha256=DIGEST) == DIGEST
    assert (tmp_path / "data.bin").read_bytes() == BODY


@pytest.mark.parametrize(
    "url", ["http://localhost/data.bin", "ftp://localhost/x", "file:///etc/passwd", "https://"]
)
def test_only_https_is_asked(tmp_path: Path, url: str) -> None:
    """Any address that is not https is refused before anything is opened."""
    with pytest.raises(OutputError, match="only https addresses are downloaded from"):
        fetch.download(url, tmp_path / "data.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_stays_with_https(served: Any, tmp_path: Path) -> None:
    """A redirect to https is followed; one to http, ftp or a file is refused."""
    served.redirects = {
        "/moved": f"{served.url}/data.bin",
        "/plain": served.url.replace("https", "http") + "/data.bin",
        "/file": "file:///etc/passwd",
    }
    assert download(served, tmp_path / "data.bin", "moved") == DIGEST
    for name in ("plain", "file"):
        with pytest.raises(OutputError, match=r"only https addresses|is not allowed"):
            download(served, tmp_path / "other.bin", name)


def test_an_unknown_certificate_is_refused(served: Any, tmp_path: Path) -> None:
    """A server that nobody vouches for is not asked for its file."""
    with pytest.raises(OutputError, match=r"can't be reached: .*certificate verify failed"):
        fetch.download(
            f"{served.url}/data.bin", tmp_path / "data.bin", context=ssl.create_default_context()
        )
    assert served.asked == 0


def test_a_file_that_is_too_long_is_refused(served: Any, tmp_path: Path) -> None:
    """More bytes than expected are refused, by the stated length already."""
    with pytest.raises(OutputError, match="has 300000 bytes; at most 1000 are taken"):
        download(served, tmp_path / "data.bin", most_bytes=1000)
    assert not (tmp_path / "data.bin").exists()


def test_a_missing_file_is_told(served: Any, tmp_path: Path) -> None:
    """The server's answer is told with its address."""
    with pytest.raises(OutputError, match="/nothing: the server answers 404 Not Found"):
        download(served, tmp_path / "data.bin", "nothing")


def test_a_silent_server_is_not_waited_for(served: Any, tmp_path: Path) -> None:
    """A server that stops sending ends the download after the timeout."""
    served.pace = 60.0
    with pytest.raises(OutputError, match=r"the connection broke off .*run the same command"):
        download(served, tmp_path / "data.bin", timeout=3)
    assert list(tmp_path.iterdir()) == []


def test_no_server_at_all_is_told(tmp_path: Path) -> None:
    """A port where nobody listens is told as such."""
    with pytest.raises(OutputError, match="can't be reached"):
        fetch.download("https://localhost:9/data.bin", tmp_path / "data.bin", timeout=2)
