"""List the published data sets (`fetch.toml`), and download them with pooch.

A download uses HTTPS, also after a redirect, and is not longer than the published file. It takes
its name only if it has the published SHA-256, and archives are unpacked after that check. The
largest file has 3.4 MB, so an interrupted download starts again.
"""

from __future__ import annotations

import tomllib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from winosmith._version import __version__
from winosmith.errors import OutputError
from winosmith.outputs import OutputFolder, sha256 as checksum

__all__ = ["HEADERS", "PUBLISHED", "Published", "Remote", "download", "get", "published"]

HEADERS = {"User-Agent": f"winosmith/{__version__}", "Accept-Encoding": "identity"}
"""The headers of every request."""

CHUNK = 64 * 1024
"""Bytes that are read at once."""

TIMEOUT = 30.0
"""Seconds to wait for each answer of a server."""


@dataclass(frozen=True)
class Remote:
    """One file on a server.

    Attributes:
        url: its https address.
        sha256: the SHA-256 of its bytes, 64 hexadecimal digits.
        size: its length in bytes.
    """

    url: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_archive(self) -> bool:
        """Whether `get` unpacks it."""
        return self.name.endswith(".zip")


@dataclass(frozen=True)
class Published:
    """A data set that others have published.

    Attributes:
        name: the argument of `winosmith data get`.
        title: a short description, with its size.
        licence: as its authors state it.
        home: the page or paper that presents it.
        remotes: the files to download.
        members: the SHA-256 of files inside an archive, by path, if it is known.
    """

    name: str
    title: str
    licence: str
    home: str
    remotes: tuple[Remote, ...]
    members: Mapping[str, str] = field(default_factory=dict)


def published(name: str) -> Published:
    """Return the data set of that name.

    Raises:
        OutputError: there is none; the message lists the names.
    """
    for known in PUBLISHED:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in PUBLISHED)
    raise OutputError(f"there is no published data set {name!r}; there are {names}")


def _from_toml() -> tuple[Published, ...]:
    text = resources.files("winosmith").joinpath("fetch.toml").read_text("utf-8")
    return tuple(
        Published(
            name=data["name"],
            title=data["title"],
            licence=data["licence"],
            home=data["home"],
            remotes=tuple(Remote(**file) for file in data["files"]),
            members=data.get("members", {}),
        )
        for data in tomllib.loads(text)["data"]
    )


PUBLISHED = _from_toml()
"""The data sets that `winosmith data` lists, from `fetch.toml`."""

Report = Callable[[Remote, int], None]
"""Receives a file and the number of its bytes that have arrived."""


def get(
    data: Published, folder: str | Path, *, on_progress: Report | None = None
) -> dict[Path, str]:
    """Download the files of a data set into a folder, and unpack archives there.

    The folder is new, empty, or one that this function wrote for the same data set: finished
    files stay.

    Args:
        data: the data set; see `published`.
        folder: its path.
        on_progress: called after each chunk of a download.

    Returns:
        The SHA-256 of each file, by path, in alphabetical order.

    Raises:
        OutputError: as `download`, or the folder is of another origin, or a file of an archive
            is not the published one.
    """
    folder = Path(folder)
    opened = OutputFolder.open(folder, {"data": data.name, "from": [r.url for r in data.remotes]})
    for remote in data.remotes:
        if opened.finished(remote.name):
            continue
        path = download(remote, folder, on_progress=on_progress)
        for name in _unpack(path, data.members) if remote.is_archive else ():
            opened.add(name)
        opened.add(remote.name)  # last: an archive in the manifest is one that was unpacked
    return {folder / name: digest for name, digest in sorted(opened.files.items())}


def download(remote: Remote, folder: Path, *, on_progress: Report | None = None) -> Path:
    """Download a file into a folder, unless it is there already; return its path.

    Proxies and further certificates come from the environment (`HTTPS_PROXY`,
    `REQUESTS_CA_BUNDLE`).

    Raises:
        OutputError: the address is not https, the server can't be reached or refuses, or the
            file is longer than stated, incomplete, or has another checksum.
    """
    import pooch
    from requests import RequestException

    _check_https(remote.url)
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(
        progressbar=_Progress(remote, on_progress),
        chunk_size=CHUNK,
        timeout=TIMEOUT,
        headers=HEADERS,
        hooks={"response": _check_redirect},
    )
    try:
        pooch.retrieve(remote.url, remote.sha256, remote.name, folder, downloader=downloader)
    except RequestException as error:
        raise OutputError(
            f"{remote.url}: the download failed ({error}); run the same command again"
        ) from error
    except OutputError:
        raise
    except ValueError as error:
        raise OutputError(
            f"{remote.url}: the file is not the published one, so it is not kept: {error}"
        ) from error
    path = folder / remote.name
    path.chmod(0o644)  # pooch leaves it readable only by its owner
    return path


class _Progress:
    """Reports the progress of a download and stops one that is too long (a pooch progress bar)."""

    def __init__(self, remote: Remote, report: Report | None):
        self.remote, self.report = remote, report
        self.total = self.done = 0

    def update(self, size: int) -> None:
        """Add the bytes of a chunk, at least as many as arrived."""
        self.done += size
        if max(self.total, self.done - CHUNK) > self.remote.size:
            raise OutputError(
                f"{self.remote.url}: the file is longer than the published "
                f"{self.remote.size} bytes, so it is not kept"
            )
        if self.report:
            self.report(self.remote, min(self.done, self.remote.size))

    def reset(self) -> None:
        """Start at 0 bytes."""
        self.done = 0

    def close(self) -> None:
        """Do nothing, as there is nothing to close."""


def _check_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise OutputError(f"{url}: only https addresses are downloaded from")


def _check_redirect(response: Any, **_: Any) -> None:
    if response.is_redirect:
        _check_https(urljoin(response.url, response.headers["Location"]))


def _unpack(archive: Path, members: Mapping[str, str]) -> list[str]:
    """Unpack a zip archive next to it; return the names of its files."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if _is_data(name)]
        opened.extractall(archive.parent, names)
    for name in names:
        path = archive.parent / name
        if name in members and checksum(path) != members[name]:
            path.unlink()
            raise OutputError(
                f"{path}: this file of the archive is not the published one, so it is not kept"
            )
    return names


def _is_data(name: str) -> bool:
    """Return whether an archive's member is a file that macOS did not add."""
    return not name.endswith(("/", ".DS_Store")) and "__MACOSX" not in name
