"""The one way to other servers: HTTPS alone, and each redirect is asked about first."""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Callable
from functools import cache
from http.client import HTTPMessage
from typing import IO, Any

from winosmith._version import __version__

__all__ = ["USER_AGENT", "opener"]

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
