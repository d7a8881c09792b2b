"""Download one file over HTTPS: resumed, checked, and complete or absent."""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from winosmith._version import __version__
from winosmith.errors import OutputError
from winosmith.outputs import sha256 as checksum

__all__ = ["download"]

_CHUNK = 64 * 1024
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")

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

    What has come so far is kept beside `path` as `path.part`, and the server is asked for the rest
    next time, unless its file has changed since (If-Range with the ETag or the date).

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
    path = Path(path)
    _check_https(url)
    part = path.with_name(f"{path.name}.part")
    with _told(url):
        _fetch_into(part, url, most_bytes, timeout, context, on_progress)
    found = checksum(part)
    if sha256 is not None and found != sha256:
        part.unlink()
        _note(part).unlink(missing_ok=True)
        raise OutputError(
            f"{url}: the file has the SHA-256 {found}, not {sha256} as published; it was changed "
            "or damaged on its way, and is not kept"
        )
    part.replace(path)
    _note(part).unlink(missing_ok=True)
    return found


def _check_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise OutputError(f"{url}: only https addresses are downloaded from")


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows redirects that stay with https."""

    def redirect_request(
        self, req: Any, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(context=context or ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _OnlyHttps(),
    ):
        opener.add_handler(handler)
    return opener


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
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
            "command again to go on from there"
        ) from error


def _fetch_into(
    part: Path,
    url: str,
    most_bytes: int,
    timeout: float,
    context: ssl.SSLContext | None,
    on_progress: Advance | None,
) -> None:
    """Bring the part to its full length."""
    have, validator = _held(part, url)
    headers = {"User-Agent": f"winosmith/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - https alone is opened
    try:
        response = _opener(context).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have and _total(error.headers) == have:
            error.close()
            return
        if error.code == 416:
            _drop(part)
        raise
    with response:
        start, total = _extent(response, have, url)
        if total is not None and total > most_bytes:
            raise OutputError(f"{url}: the file has {total} bytes; at most {most_bytes} are taken")
        _remember(part, url, response)
        with part.open("ab" if start else "wb") as file:
            have = _copy(response, file, start, total, most_bytes, url, on_progress)
    if total is not None and have != total:
        raise OutputError(
            f"{url}: the connection ended after {have} of {total} bytes; run the same command "
            "again to go on from there"
        )


def _copy(
    response: HTTPResponse,
    file: IO[bytes],
    have: int,
    total: int | None,
    most_bytes: int,
    url: str,
    on_progress: Advance | None,
) -> int:
    while chunk := response.read1(_CHUNK):  # what has come, even if the rest never does
        have += len(chunk)
        if have > most_bytes:
            raise OutputError(f"{url}: the file is longer than {most_bytes} bytes")
        file.write(chunk)
        file.flush()
        if on_progress:
            on_progress(have, total)
    return have


def _extent(response: HTTPResponse, have: int, url: str) -> tuple[int, int | None]:
    """Return from which byte on the server sends, and how many the file has in all."""
    if response.status == 206:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not found or found[1] is None or int(found[1]) != have:
            raise OutputError(f"{url}: the server sends another part than was asked for")
        return have, None if found[2] == "*" else int(found[2])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length and length.isdecimal() else None


def _total(headers: Any) -> int | None:
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    return int(found[2]) if found and found[2] != "*" else None


def _note(part: Path) -> Path:
    """Return the file that says which file of which server a part belongs to."""
    return part.with_name(f"{part.name}.json")


def _held(part: Path, url: str) -> tuple[int, str]:
    """Return how many bytes are here and their validator; 0 when they can't be gone on with."""
    try:
        note = json.loads(_note(part).read_text("utf-8"))
        if note["url"] == url and isinstance(note["validator"], str) and note["validator"]:
            return part.stat().st_size, note["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, ""


def _remember(part: Path, url: str, response: HTTPResponse) -> None:
    etag = response.headers.get("ETag", "")
    strong = "" if etag.startswith("W/") else etag
    validator = strong or response.headers.get("Last-Modified", "")
    _note(part).write_text(json.dumps({"url": url, "validator": validator}), "utf-8")


def _drop(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)
