"""Where a server is, whether it may be spoken to, and with which key."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

from winosmith.chat._errors import ChatError

__all__ = ["KEY_VARIABLE", "check_url", "find_key", "is_loopback"]

KEY_VARIABLE = "OPENAI_API_KEY"
"""Where the key is looked for, as the client libraries do."""


def is_loopback(url: str) -> bool:
    """Tell whether a URL leads to this machine.

    >>> is_loopback("http://localhost:8000/v1"), is_loopback("http://10.0.0.7:8000/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_url(url: str, *, insecure: bool) -> None:
    """Refuse an address that is none, that holds secrets, or over which anybody may listen.

    Raises:
        ChatError: what is wrong with it; a secret in it is not repeated.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ChatError("the base URL can't be read; it should read https://host/v1") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ChatError(
            "the base URL holds more than an address (a user, a password, a query); it should "
            f"read https://host/v1, and a key belongs in an environment variable ({KEY_VARIABLE})"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ChatError(f"the base URL {url!r} is none; it should read https://host/v1")
    if parts.scheme == "http" and not insecure and not is_loopback(url):
        raise ChatError(
            f"{url} is not encrypted, so the problems and the key could be read on the way; use "
            "https, a tunnel to this machine, or allow it expressly (insecure)"
        )


def find_key(url: str, variable: str | None) -> str | None:
    """Return the key for a server from the environment; None where none is meant for it.

    A variable that the user names goes to any server. `OPENAI_API_KEY`, when none is named, is
    sent by https only and not to this machine, where a server has no claim on it.

    Raises:
        ChatError: the named variable is not set, or what it holds is no key; it is not repeated.
    """
    if variable is None and (is_loopback(url) or not url.startswith("https:")):
        return None
    name = variable or KEY_VARIABLE
    key = os.environ.get(name, "").strip()
    if variable is not None and not key:
        raise ChatError(f"the environment variable {name} holds no key; set it, or name another")
    if not (key.isascii() and key.isprintable()):
        raise ChatError(f"the environment variable {name} holds characters that no key has")
    return key or None
