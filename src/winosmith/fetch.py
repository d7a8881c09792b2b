"""Where the published data sets live (`fetch.toml`), and downloads that can be trusted.

Only HTTPS is used, redirects included; a download is checked against its SHA-256 where one is
known, and takes its name only when it is complete; archives are checked for paths and sizes before
they are unpacked. (pooch checks digests, but it bounds no size, and follows redirects to plain
HTTP.) The largest file has 3.4 MB: one that broke off begins again. `opener` is the one way to
other servers.
"""

from __future__ import annotations

import contextlib
import hashlib
import ssl
import stat
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException, HTTPMessage, HTTPResponse
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from winosmith._version import __version__
from winosmith.errors import OutputError
from winosmith.outputs import OutputFolder, write_aside
from winosmith.outputs import sha256 as checksum

__all__ = [
    "PUBLISHED",
    "USER_AGENT",
    "Fetched",
    "Published",
    "Remote",
    "download",
    "get",
    "opener",
    "published",
    "unpack",
]


@dataclass(frozen=True)
class Remote:
    """One file on a server.

    Attributes:
        url: its https address.
        sha256: what its bytes hash to; None when nobody has said.
        size: its length in bytes; None when it is not known.
    """

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_archive(self) -> bool:
        """Whether it is to be unpacked."""
        return self.name.endswith(".zip")


@dataclass(frozen=True)
class Published:
    """A data set that others have published.

    Attributes:
        name: what `winosmith data get` takes.
        title: what it is, with its size.
        licence: as its authors state it.
        home: the page or paper that presents it.
        remotes: the files to download.
        members: what files inside an archive hash to, by path, where it is known.
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
"""The data sets that `winosmith data` knows, from `fetch.toml`."""

_MOST_FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Fetched:
    """One file that is here now.

    Attributes:
        path: where it is.
        sha256: what its bytes hash to.
        checked: whether that was compared with a published checksum, its own or its archive's.
    """

    path: Path
    sha256: str
    checked: bool


def get(
    data: Published,
    folder: str | Path,
    *,
    context: ssl.SSLContext | None = None,
    on_progress: Callable[[Remote, int, int | None], None] | None = None,
) -> tuple[Fetched, ...]:
    """Download the files of a data set into a folder, and unpack archives there.

    The folder is new, empty, or one that this function wrote for the same data set: finished
    files stay.

    Args:
        data: what to get; see `published`.
        folder: where to.
        context: whom to trust; the system's certificates when None.
        on_progress: called with the file, the bytes so far and the bytes in all.

    Raises:
        OutputError: as `download` and `unpack`, or the folder holds something else.
    """
    folder = Path(folder)
    opened = OutputFolder.open(folder, {"data": data.name, "from": [r.url for r in data.remotes]})
    for remote in data.remotes:
        if opened.finished(remote.name):
            continue
        target = folder / remote.name
        if not (target.is_file() and remote.sha256 == checksum(target)):
            download(
                remote.url,
                target,
                sha256=remote.sha256,
                most_bytes=remote.size or _MOST_FILE_BYTES,
                context=context,
                on_progress=_progress_of(remote, on_progress),
            )
        if remote.is_archive:
            for path in unpack(target, folder, most_bytes=_MOST_FILE_BYTES):
                _check_member(data, path, path.relative_to(folder).as_posix())
                opened.add(path.relative_to(folder).as_posix())
        opened.add(remote.name)  # last: an archive in the manifest is one that was unpacked
    checked = all(remote.sha256 for remote in data.remotes)
    known = {remote.name: bool(remote.sha256) for remote in data.remotes}
    return tuple(
        Fetched(folder / name, digest, known.get(name, checked))
        for name, digest in sorted(opened.files.items())
    )


def _progress_of(
    remote: Remote, on_progress: Callable[[Remote, int, int | None], None] | None
) -> Callable[[int, int | None], None] | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(remote, done, total)


def _check_member(data: Published, path: Path, name: str) -> None:
    wanted = data.members.get(name)
    if wanted is not None and checksum(path) != wanted:
        path.unlink()
        raise OutputError(
            f"{path}: this file of the archive is not the published one, and is not kept"
        )


_CHUNK = 64 * 1024

Advance = Callable[[int, int | None], None]


def download(
    url: str,
    path: str | Path,
    *,
    sha256: str | None = None,
    most_bytes: int = 1 << 30,
    timeout: float = 30.0,
    context: ssl.SSLContext | None = None,
    on_progress: Advance | None = None,
) -> str:
    """Download a file; return its SHA-256 as 64 hexadecimal digits.

    Args:
        url: an https address; anything else is refused, in redirects too.
        path: the file to write; it appears when it is complete and checked.
        sha256: what its bytes must hash to; not checked when None.
        most_bytes: a longer file is refused.
        timeout: seconds to wait for the server to answer or to go on.
        context: whom to trust; the system's certificates when None.
        on_progress: called with the bytes so far and the bytes in all (None when not told).

    Raises:
        OutputError: the address is not https, the server can't be reached or refuses, the file is
            too long, cut short, or has another checksum.
    """
    _check_https(url)
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - https alone is opened
    with _as_output_error(url):
        response = opener(_stays_https, context).open(request, timeout=timeout)
    with response, write_aside(path, "wb") as file, _as_output_error(url):
        found = _copy(response, file, most_bytes, url, on_progress)
        if sha256 is not None and found != sha256:
            raise OutputError(
                f"{url}: the file has the SHA-256 {found}, not {sha256} as published; it was "
                "changed or damaged on its way, and is not kept"
            )
    return found


USER_AGENT = f"winosmith/{__version__}"

Redirects = Callable[[str, str], None]
"""Raises where a redirect from the first address to the second may not be followed."""


class _AskedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows the redirects that are allowed; closes the connection of others."""

    def __init__(self, check: Redirects) -> None:
        self._check = check

    def redirect_request(
        self, req: Any, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        try:
            self._check(req.full_url, newurl)
        except BaseException:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@cache
def opener(
    check: Redirects, context: ssl.SSLContext | None = None
) -> urllib.request.OpenerDirector:
    """Return what opens https addresses, and no others; proxies are the environment's.

    Args:
        check: is called before a redirect with the address that was asked and the one that it
            leads to; what it raises is raised.
        context: whom to trust; the system's certificates when None.

    >>> opener(print).open("file:///etc/hostname")
    Traceback (most recent call last):
    ...
    urllib.error.URLError: <urlopen error unknown url type: file>
    """
    made = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(context=context or ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _AskedRedirects(check),
    ):
        made.add_handler(handler)
    return made


def _check_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise OutputError(f"{url}: only https addresses are downloaded from")


@contextlib.contextmanager
def _as_output_error(url: str) -> Iterator[None]:
    """Turn what can go wrong on the way into one error that says what to do."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise OutputError(f"{url}: the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OutputError(f"{url}: can't be reached: {error.reason}") from error
    except (HTTPException, ssl.SSLError, TimeoutError, ConnectionError) as error:
        raise OutputError(
            f"{url}: the connection broke off ({error or type(error).__name__}); run the same "
            "command again"
        ) from error


def _stays_https(_: str, newurl: str) -> None:
    _check_https(newurl)


def _copy(
    response: HTTPResponse, file: IO[bytes], most_bytes: int, url: str, on_progress: Advance | None
) -> str:
    """Write down what a server sends; return its SHA-256."""
    length = response.headers.get("Content-Length")
    total = int(length) if length and length.isdecimal() else None
    if total is not None and total > most_bytes:
        raise OutputError(f"{url}: the file has {total} bytes; at most {most_bytes} are taken")
    digest, have = hashlib.sha256(), 0
    while chunk := response.read1(_CHUNK):
        have += len(chunk)
        if have > most_bytes:
            raise OutputError(f"{url}: the file is longer than {most_bytes} bytes")
        digest.update(chunk)
        file.write(chunk)
        if on_progress:
            on_progress(have, total)
    if total is not None and have != total:
        raise OutputError(
            f"{url}: the connection ended after {have} of {total} bytes; run the same command again"
        )
    return digest.hexdigest()


_MEMBER_CHUNK = 1 << 20


def unpack(
    archive: str | Path, folder: str | Path, *, most_bytes: int = 1 << 30, most_files: int = 10_000
) -> list[Path]:
    """Unpack a zip archive into a folder; return the files, sorted.

    Everything is checked before anything is written: no path may lead out of the folder, nothing
    but plain files and folders is taken, and the sizes that the archive states may not pass the
    limits. While unpacking, no file may be longer than stated. What macOS adds is left out.

    Raises:
        OutputError: the archive is damaged, encrypted, or breaks a rule.
    """
    archive, folder = Path(archive), Path(folder)
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if _is_wanted(member)]
            _check_members(members, archive, most_bytes, most_files)
            return sorted(_extract(opened, member, folder) for member in members)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise OutputError(f"{archive}: this archive can't be unpacked: {error}") from error


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    return not (member.is_dir() or "__MACOSX" in name.parts or name.name == ".DS_Store")


def _check_members(
    members: list[zipfile.ZipInfo], archive: Path, most_bytes: int, most_files: int
) -> None:
    if len(members) > most_files:
        raise OutputError(
            f"{archive}: it holds {len(members)} files; at most {most_files} are taken"
        )
    total = sum(member.file_size for member in members)
    if total > most_bytes:
        raise OutputError(f"{archive}: it holds {total} bytes; at most {most_bytes} are taken")
    seen: set[str] = set()
    for member in members:
        reason = _fault_of(member, seen)
        if reason:
            raise OutputError(
                f"{archive}: its file {member.filename!r} {reason}; nothing is unpacked"
            )
        seen.add(member.filename.casefold())


def _fault_of(member: zipfile.ZipInfo, seen: set[str]) -> str | None:
    name = member.filename
    parts = PurePosixPath(name).parts
    mode = stat.S_IFMT(member.external_attr >> 16)
    if not parts or ".." in parts or name.startswith("/") or "\\" in name or ":" in name:
        return "has a path that leads out of the folder"
    if any(ord(character) < 32 for character in name):
        return "has a control character in its name"
    if mode not in (0, stat.S_IFREG):
        return "is no plain file"
    if member.flag_bits & 1:
        return "is encrypted"
    return "occurs twice" if name.casefold() in seen else None


def _extract(opened: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> Path:
    target = folder / member.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with opened.open(member) as packed, write_aside(target, "wb") as file:
        while chunk := packed.read(_MEMBER_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise OutputError(f"{member.filename!r} is longer than its archive states")
            file.write(chunk)
    return target
