"""A line to one server: where it is, with which key, and one request, bounded in time and size."""

from __future__ import annotations

import ipaddress
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from winosmith.chat._answers import (
    OFTEN,
    Again,
    ChatError,
    Messages,
    Reply,
    again_after,
    explained,
    is_passing,
    read_reply,
    readable,
    said,
)
from winosmith.extras import require

MOST_BYTES = 4 << 20
"""A reply of 100,000 tokens with its log-probabilities has less; more is refused unread."""

_CONNECT = 10.0
"""Seconds until a server must have taken a connection."""

_UNREACHED_TRIES = 4
"""Attempts, over some four seconds, at a server that never answered: it is probably not there."""

_INTERNAL_TRIES = 6
"""Attempts at a request on which the server itself fails (500): it probably always will."""


@dataclass
class Line:
    """A line to one server, for any number of threads.

    Attributes:
        base_url, model, key_variable, timeout: as in `Client`.
        reached: whether the server has answered yet; see `_UNREACHED_TRIES`.
    """

    base_url: str
    model: str
    key_variable: str | None
    timeout: float
    reached: bool = False

    def __post_init__(self) -> None:
        self._openai = require("openai", "chat")
        self._key = find_key(self.base_url, self.key_variable)
        self._client = self._openai.OpenAI(
            api_key=self._key or "none",
            base_url=self.base_url,
            max_retries=0,  # ours wait as long as the server asks, and can be interrupted
            timeout=self._openai.Timeout(self.timeout, connect=min(_CONNECT, self.timeout)),
            http_client=_bounded(self._openai, self.timeout, direct=is_loopback(self.base_url)),
        )

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def ask(self, messages: Messages, parameters: Mapping[str, Any]) -> Reply:
        """Send one request and return its reply.

        Raises:
            Again: a failure that may pass.
            ChatError: one that won't.
        """
        openai = self._openai
        turns = [message._asdict() for message in messages]
        try:
            completions = self._client.chat.completions.with_raw_response
            raw = completions.create(model=self.model, messages=turns, extra_body=dict(parameters))
            self.reached = True
            return read_reply(raw.http_response.content)
        except openai.APIConnectionError as error:
            raise self._unconnected(error) from None
        except openai.APIStatusError as error:
            self.reached = True
            raise self._refused(error) from None  # the chain might hold what must not be shown
        except _TooMuchError:
            raise ChatError(f"its reply is larger than {MOST_BYTES:,} bytes") from None

    def _unconnected(self, error: Exception) -> Exception:
        cause = error.__cause__ or error
        if isinstance(cause, _TooMuchError):
            return ChatError(f"its reply is larger than {MOST_BYTES:,} bytes")
        refused = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
        late = self._openai.APITimeoutError
        if (isinstance(error, late) and not refused) or isinstance(cause, late):
            return Again(f"no reply within {self.timeout:g} s", charged=True)
        why = self._safe(str(cause)) or type(cause).__name__
        if refused and not self.reached:
            return Again(
                f"no server answers ({why}); start it, or check the base URL",
                tries=_UNREACHED_TRIES,
            )
        return Again(f"the connection broke ({why})", charged=not refused)

    def _refused(self, error: Any) -> Exception:
        status = int(error.status_code)
        words = self._safe(said(_body(error.response)))
        code = getattr(error, "code", None)
        if is_passing(status, f"{words} {code}"):
            after = again_after(error.response.headers.get("retry-after"), time.time())
            tries = _INTERNAL_TRIES if status == 500 else OFTEN
            refusal = f"HTTP {status}" + (f", {words}" if words else "")
            return Again(refusal, after=after, tries=tries)
        return ChatError(
            explained(
                status,
                words,
                model=self.model,
                variable=self.key_variable or KEY_VARIABLE,
                has_key=self._key is not None,
                models=self._models() if status == 404 else None,
            )
        )

    def _models(self) -> list[str] | None:
        """Return the names of the models that the server has; None when it doesn't tell."""
        try:
            raw = self._client.models.with_raw_response.list()
            listed = json.loads(raw.http_response.content)["data"]
            return sorted(self._safe(str(model["id"])) for model in listed)
        except (self._openai.OpenAIError, _TooMuchError, ValueError, LookupError, TypeError):
            return None

    def _safe(self, words: str) -> str:
        """Return a server's words without our key, should it repeat that."""
        return readable(words.replace(self._key, "[the key]") if self._key else words)


def _body(response: Any) -> Any:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        text = response.content.decode("utf-8", "replace")
        return "" if text.lstrip().startswith("<") else text  # a proxy's page says nothing here


class _TooMuchError(Exception):
    pass


def _bounded(openai: Any, timeout: float, *, direct: bool) -> Any:
    """Return an HTTP client that reads no more than MOST_BYTES, no longer than the timeout.

    Redirects are not followed, as they could lead anywhere; `direct` passes proxies by.
    """

    class Bounded(openai.DefaultHttpxClient):  # type: ignore[misc]
        def send(self, request: Any, **settings: Any) -> Any:
            until = time.monotonic() + timeout
            response = super().send(request, **{**settings, "stream": True})
            body = bytearray()
            try:
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        raise _TooMuchError
                    if time.monotonic() > until:  # its own timeout is for one piece, not for all
                        raise openai.APITimeoutError(request=request)
            finally:
                response.close()
            undone = ("content-encoding", "content-length", "transfer-encoding")
            headers = [
                pair for pair in response.headers.multi_items() if pair[0].lower() not in undone
            ]
            return type(response)(
                response.status_code, headers=headers, content=bytes(body), request=request
            )

    return Bounded(follow_redirects=False, trust_env=not direct)


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
