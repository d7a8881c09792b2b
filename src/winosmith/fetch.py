"""Download the published data sets that `fetch.toml` lists.

Downloads use HTTPS, also after redirects, and stop if they exceed the size of the published file.
A file is renamed to its final name, and an archive unpacked, only if its SHA-256 matches. The
largest file is 3.4 MB, so an interrupted download is restarted, not resumed.
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

HEADERS = {"User-Agent": f"winosmith/{__version__}", "Accept-Encoding": "identity"}

CHUNK = 64 * 1024
"""Number of bytes per chunk."""

TIMEOUT = 30.0
"""Number of seconds to wait for each response from a server."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on a server.

    Attributes:
        sha256: 64 hexadecimal digits.
        size: the number of bytes.
    """

    url: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_archive(self) -> bool:
        return self.name.endswith(".zip")


@dataclass(frozen=True)
class PublishedDataset:
    """A published data set that can be downloaded.

    Attributes:
        name: the argument of `winosmith data get`.
        title: a short description, usually with the number of problems.
        licence: the licence, in the authors' words.
        home: the page or paper that presents the data set.
        members: the SHA-256 of files inside an archive, by path, if known.
    """

    name: str
    title: str
    licence: str
    home: str
    remotes: tuple[RemoteFile, ...]
    members: Mapping[str, str] = field(default_factory=dict)


def find_published(name: str) -> PublishedDataset:
    known = {data.name: data for data in PUBLISHED}
    if name not in known:
        raise OutputError(f"unknown published data set {name!r}; use {', '.join(known)}")
    return known[name]


_TABLES = tomllib.loads(resources.files("winosmith").joinpath("fetch.toml").read_text("utf-8"))
PUBLISHED = tuple(
    PublishedDataset(remotes=tuple(RemoteFile(**file) for file in data.pop("files")), **data)
    for data in _TABLES["data"]
)

ProgressCallback = Callable[[RemoteFile, int], None]
"""A callback that receives a file and the number of bytes downloaded so far."""


def fetch(
    data: PublishedDataset, folder: str | Path, *, on_progress: ProgressCallback | None = None
) -> dict[Path, str]:
    """Download the files of a data set into a folder, and unpack archives.

    The folder must be new or empty, or have been written by this function for the same data set.
    Finished files are not downloaded again. Return the SHA-256 of each file, by path, in
    alphabetical order.

    Raises:
        OutputError: see `download`; or the folder contains other files, or a file in an archive
            differs from the published one.
    """
    folder = Path(folder)
    opened = OutputFolder.open(folder, {"data": data.name, "from": [r.url for r in data.remotes]})
    for remote in data.remotes:
        if opened.is_finished(remote.name):
            continue
        path = download(remote, folder, on_progress=on_progress)
        for name in _unpack(path, data.members) if remote.is_archive else ():
            opened.add(name)
        opened.add(remote.name)  # last, so that an archive in the manifest is always unpacked
    return {folder / name: digest for name, digest in sorted(opened.files.items())}


def download(
    remote: RemoteFile, folder: Path, *, on_progress: ProgressCallback | None = None
) -> Path:
    """Download a file into a folder, unless it already exists, and return its path.

    Proxies and certificates are taken from the environment (`HTTPS_PROXY`,
    `REQUESTS_CA_BUNDLE`).

    Raises:
        OutputError: the URL is not https, the server can't be reached or refuses the request,
            or the file is too long or incomplete, or has the wrong checksum.
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
            f"{remote.url}: the file differs from the published one and was removed: {error}"
        ) from error
    path = folder / remote.name
    path.chmod(0o644)  # pooch leaves it readable only by its owner
    return path


class _Progress:
    """A progress bar for pooch that calls `report` and stops downloads that are too large."""

    def __init__(self, remote: RemoteFile, report: ProgressCallback | None):
        self.remote, self.report = remote, report
        self.total = self.done = 0

    def update(self, size: int) -> None:
        self.done += size
        if max(self.total, self.done - CHUNK) > self.remote.size:
            raise OutputError(
                f"{self.remote.url}: the file is larger than the published "
                f"{self.remote.size} bytes, so it was removed"
            )
        if self.report:
            self.report(self.remote, min(self.done, self.remote.size))

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Do nothing; pooch requires this method."""


def _check_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise OutputError(f"{url}: this is not an https:// URL; only https is allowed")


def _check_redirect(response: Any, **_: Any) -> None:
    if response.is_redirect:
        _check_https(urljoin(response.url, response.headers["Location"]))


def _unpack(archive: Path, members: Mapping[str, str]) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        names = [
            name
            for name in opened.namelist()  # without folders, and files that macOS adds
            if not name.endswith(("/", ".DS_Store")) and "__MACOSX" not in name
        ]
        opened.extractall(archive.parent, names)
    for name in names:
        path = archive.parent / name
        if name in members and checksum(path) != members[name]:
            path.unlink()
            raise OutputError(
                f"{path}: this file in the archive differs from the published one and was removed"
            )
    return names
