"""Downloads from a real HTTPS server: whole or absent, resumed, and never over plain HTTP."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
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


def test_a_broken_connection_is_resumed(served: Any, tmp_path: Path) -> None:
    """After a break the part stays, the rest alone is asked for, and the whole is checked."""
    served.cut = 100_000
    with pytest.raises(OutputError, match="after 100000 of 300000 bytes; run the same command"):
        download(served, tmp_path / "data.bin", sha256=DIGEST)
    assert not (tmp_path / "data.bin").exists()
    served.cut = None
    assert download(served, tmp_path / "data.bin", sha256=DIGEST) == DIGEST
    assert served.asked == [None, "bytes=100000-"]
    assert (tmp_path / "data.bin").read_bytes() == BODY


def test_a_file_that_changed_meanwhile_starts_again(served: Any, tmp_path: Path) -> None:
    """A part of an older file is not mixed with a newer one, even when no checksum is known."""
    served.cut = 100_000
    with pytest.raises(OutputError):
        download(served, tmp_path / "data.bin")
    served.cut, served.files["/data.bin"] = None, BODY[::-1]
    download(served, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == BODY[::-1]


def test_a_server_without_parts_sends_all_again(served: Any, tmp_path: Path) -> None:
    """Where the server ignores the range, the file is taken from its start."""
    served.cut = 100_000
    with pytest.raises(OutputError):
        download(served, tmp_path / "data.bin")
    served.cut, served.ranges = None, False
    assert download(served, tmp_path / "data.bin", sha256=DIGEST) == DIGEST


def test_a_complete_part_needs_nothing_more(served: Any, tmp_path: Path) -> None:
    """A download that was stopped just before it took its name is complete."""
    served.cut = 299_999
    with pytest.raises(OutputError):
        download(served, tmp_path / "data.bin")
    with (tmp_path / "data.bin.part").open("ab") as part:
        part.write(BODY[-1:])
    served.cut = None
    assert download(served, tmp_path / "data.bin", sha256=DIGEST) == DIGEST
    assert served.asked[-1] == "bytes=300000-"


def test_a_part_of_another_address_is_not_used(served: Any, tmp_path: Path) -> None:
    """What lies beside from another file is not taken for the beginning of this one."""
    served.files["/other.bin"] = BODY[::-1]
    served.cut = 100_000
    with pytest.raises(OutputError):
        download(served, tmp_path / "data.bin", "other.bin")
    served.cut = None
    assert download(served, tmp_path / "data.bin") == DIGEST


@pytest.mark.long
def test_a_killed_download_is_resumed(served: Any, tmp_path: Path) -> None:
    """A process that is killed in the middle leaves a part, and the next one goes on from it."""
    served.pace = 0.05
    code = "import sys; from winosmith import fetch; fetch.download(sys.argv[1], sys.argv[2])"
    running = subprocess.Popen(
        [sys.executable, "-c", code, f"{served.url}/data.bin", tmp_path / "data.bin"],
        env={**os.environ, "SSL_CERT_FILE": str(served.certificate)},
    )
    part = tmp_path / "data.bin.part"
    until(lambda: (part.exists() and part.stat().st_size > 50_000) or running.poll() is not None)
    assert running.poll() is None
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "data.bin").exists()
    have = part.stat().st_size
    assert 50_000 < have < len(BODY)
    served.pace = 0.0
    assert download(served, tmp_path / "data.bin", sha256=DIGEST) == DIGEST
    assert served.asked[-1] == f"bytes={have}-"


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
    assert served.asked == []


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
    """A server that stops sending ends the download after the timeout, to be resumed."""
    served.pace = 60.0
    with pytest.raises(OutputError, match=r"the connection broke off .*run the same command"):
        download(served, tmp_path / "data.bin", timeout=3)
    assert (tmp_path / "data.bin.part").stat().st_size > 0


def test_no_server_at_all_is_told(tmp_path: Path) -> None:
    """A port where nobody listens is told as such."""
    with pytest.raises(OutputError, match="can't be reached"):
        fetch.download("https://localhost:9/data.bin", tmp_path / "data.bin", timeout=2)
