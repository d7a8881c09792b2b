"""Asks an https address for a little text, within limits of time and size."""

from __future__ import annotations

import contextlib
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.parse import urlsplit

from winosmith._version import __version__
from winosmith.errors import InputError

__all__ = ["Fetch", "fetch_https"]

Fetch = Callable[[str], tuple[bytes, str]]
"""Returns the body and the media type of what an address answers; raises InputError."""

MOST_BYTES = 2_000_000
MOST_SECONDS = 5.0
CHUNK = 16 * 1024


class _SameSite(urllib.request.HTTPRedirectHandler):
    """Follows a redirect that stays with https, the host and the port; refuses every other."""

    def redirect_request(
        self, req: Any, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            fp.close()
            host = urlsplit(newurl).hostname
            raise InputError(f"{req.full_url} leads elsewhere ({host}); give the final address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@cache
def _opener(context: ssl.SSLContext | None = None) -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(context=context or ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SameSite(),
    ):
        opener.add_handler(handler)
    return opener


def fetch_https(
    url: str,
    *,
    context: ssl.SSLContext | None = None,
    most_bytes: int = MOST_BYTES,
    most_seconds: float = MOST_SECONDS,
) -> tuple[bytes, str]:
    """Return the body and the media type of what an https address answers.

    Args:
        url: https alone; a redirect may not leave the host.
        context: whom to trust; the system's certificates when None.
        most_bytes: a longer body is refused.
        most_seconds: for the connection, and for the whole answer.

    Raises:
        InputError: the address can't be reached, refuses, is too slow or too long.
    """
    if urlsplit(url).scheme != "https":
        raise InputError(f"topics come from https://… alone, not from {url!r}")
    until = time.monotonic() + most_seconds
    headers = {"User-Agent": f"winosmith/{__version__}", "Accept": "application/json, text/plain"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - https alone is opened
    try:
        with contextlib.closing(_opener(context).open(request, timeout=most_seconds)) as response:
            return _body(response, url, most_bytes, until), response.headers.get_content_type()
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(f"{url} answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise InputError(f"{url} can't be reached: {error.reason}") from None
    except (HTTPException, OSError) as error:
        raise InputError(f"{url} broke off: {error or type(error).__name__}") from None


def _body(response: HTTPResponse, url: str, most_bytes: int, until: float) -> bytes:
    parts, have = [], 0
    while part := response.read1(CHUNK):
        parts.append(part)
        have += len(part)
        if have > most_bytes:
            raise InputError(f"{url} answers more than {most_bytes:,} bytes")
        if time.monotonic() > until:
            raise InputError(f"{url} is too slow")
    return b"".join(parts)
