"""Send requests to a chat server, and parse its replies and errors."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from winosmith.errors import InputError, require
from winosmith.records import parse_json
from winosmith.report import join_names

if TYPE_CHECKING:
    from winosmith.chat._client import Client


class Message(NamedTuple):
    """One turn of a conversation.

    Attributes:
        role: the speaker.
        content: the text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


Messages = Sequence[Message]
"""A conversation, starting with the oldest turn. The model writes the next turn."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat model's reply.

    Attributes:
        text: the text, which may be empty.
        tokens_in, tokens_out: numbers of tokens that the server reports, or None.
        finish: "stop", or "length" if the text was cut off. None if the server does not report it.
        first_token: the likeliest first tokens with natural log-probabilities, in descending order.
            Empty unless requested.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish: str | None = None
    first_token: tuple[tuple[str, float], ...] = ()


class ChatModel(Protocol):
    """A callable that continues a conversation."""

    def __call__(self, messages: Messages, /) -> Reply:
        """Return the model's reply."""
        ...


class ChatError(InputError):
    """A chat model can't be used. The message quotes the server and gives advice.

    Earlier replies are cached if the client has a cache.
    """


class BudgetError(ChatError):
    """The next request could exceed the budget, so it was not sent."""


UNLIMITED_TRIES = 1_000_000
"""Number of attempts if only the client's patience limits them."""


@dataclass(eq=False)
class RetryableError(Exception):
    """A failure that may be transient, so that a retry can help.

    Attributes:
        retry_after: number of seconds to wait, as requested by the server, or None.
        tries: maximum number of attempts.
        may_be_charged: whether the server may charge for the request.
    """

    reason: str
    retry_after: float | None = None
    tries: int = UNLIMITED_TRIES
    may_be_charged: bool = False


_MAX_QUOTE_LENGTH = 300
"""Maximum number of characters of a server's message to quote in an error."""

_BAD_REPLY_TRIES = 3
"""Number of attempts if the reply is not JSON (for example, an HTML page from a proxy)."""


def parse_reply(body: bytes) -> Reply:
    """Return the reply in the body of a chat completion.

    Raises:
        RetryableError: the body is not a chat completion in JSON.
        ChatError: the body is an error message from the server.
    """
    try:
        record = parse_json(body)
    except ValueError:
        raise _make_reply_error("not JSON", body) from None
    if isinstance(record, dict) and record.get("error"):
        raise ChatError(f"the server answers with an error: {get_server_message(record)}")
    try:
        choice = record["choices"][0]
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            text = "".join(part.get("text", "") for part in text)
        usage = record.get("usage") or {}
        content = (choice.get("logprobs") or {}).get("content")
        likeliest = content[0]["top_logprobs"] if content else ()
        first = [(str(token["token"]), float(token["logprob"])) for token in likeliest]
        text.encode()
        return Reply(
            text=text,
            tokens_in=_parse_token_count(usage.get("prompt_tokens")),
            tokens_out=_parse_token_count(usage.get("completion_tokens")),
            finish=str(choice["finish_reason"]) if choice.get("finish_reason") else None,
            first_token=tuple(sorted(first, key=lambda token: -token[1])),
        )
    except (LookupError, TypeError, AttributeError, ValueError):
        raise _make_reply_error("not a chat completion", body) from None


def _make_reply_error(fault: str, body: bytes) -> RetryableError:
    shown = shorten_to_line(body.decode("utf-8", "replace"), 80) or "(nothing)"
    return RetryableError(
        f"its reply is {fault}: {shown}", tries=_BAD_REPLY_TRIES, may_be_charged=True
    )


def _parse_token_count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def get_server_message(record: Any) -> str:
    while isinstance(record, dict):
        record = next(
            (record[key] for key in ("error", "message", "detail") if record.get(key)), ""
        )
    if isinstance(record, list):  # faults that a validator found
        record = "; ".join(
            get_server_message(part.get("msg") or part) for part in record if isinstance(part, dict)
        )
    return shorten_to_line(str(record or ""))


def shorten_to_line(text: str, max_length: int = _MAX_QUOTE_LENGTH) -> str:
    """Shorten untrusted text to one line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


_TRANSIENT_STATUSES = {408, 409, 425, 429}
_NOT_IMPLEMENTED = 501

_MAX_LISTED_MODELS = 8

_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum.{0,20}(length|tokens)|too (long|many tokens)"
    r"|exceeds? the available context",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(unsupported|not support|unknown|unrecogni[sz]ed|extra inputs|unexpected).{0,40}"
    r"|temperature|max_(completion_)?tokens|logprobs",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)


def is_transient(status: int, message: str) -> bool:
    """Return whether a retry may help, for example after "too many requests" or a server error."""
    if status == 429:
        return not _QUOTA.search(message)
    return status in _TRANSIENT_STATUSES or (status >= 500 and status != _NOT_IMPLEMENTED)


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Return the number of seconds in a `Retry-After` header, or None if it is invalid.

    Args:
        header: a number of seconds or an HTTP date (RFC 9110, section 10.2.3).
        now: current time in seconds since 1970.

    >>> parse_retry_after("7", 0.0), parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
    (7.0, 40.0)
    """
    if not header:
        return None
    from email.utils import parsedate_to_datetime

    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


MAX_BYTES = 4 << 20
"""Maximum size of a reply in bytes, enough for 100,000 tokens with log-probabilities."""

_CONNECT_TIMEOUT = 10.0
"""Maximum number of seconds to wait for a connection."""

_UNREACHED_TRIES = 4
"""Number of attempts, over about four seconds, if a server has never answered."""

_INTERNAL_TRIES = 6
"""Number of attempts if the server reports an internal error (500)."""


class Connection:
    """A client's connection to its server, which any number of threads can use."""

    def __init__(self, client: Client) -> None:
        self._openai = openai = require("openai", "chat")
        self.model, self.key_variable = client.model, client.key_variable
        self.timeout, is_local = client.timeout, is_loopback(client.base_url)
        self._reached = False  # whether the server has ever answered; see `_UNREACHED_TRIES`
        self._key = find_api_key(client.base_url, self.key_variable)
        self._client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=client.base_url,
            max_retries=0,  # `RequestBatch` waits as the server requests, and can be interrupted
            timeout=openai.Timeout(self.timeout, connect=min(_CONNECT_TIMEOUT, self.timeout)),
            http_client=_make_limited_client(openai, self.timeout, without_proxies=is_local),
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, messages: Messages, parameters: Mapping[str, Any]) -> Reply:
        """Send a request and return the reply.

        Raises:
            RetryableError: the failure may be transient.
            ChatError: the failure is permanent.
        """
        openai = self._openai
        turns = [message._asdict() for message in messages]
        try:
            completions = self._client.chat.completions.with_raw_response
            raw = completions.create(model=self.model, messages=turns, extra_body=dict(parameters))
            self._reached = True
            return parse_reply(raw.http_response.content)
        except openai.APIConnectionError as error:
            raise self._convert_connection_error(error) from None
        except openai.APIStatusError as error:
            self._reached = True
            raise self._convert_status_error(error) from None  # the chain might contain secrets
        except _ReplyTooLargeError:
            raise ChatError(f"its reply is larger than {MAX_BYTES:,} bytes") from None

    def _convert_connection_error(self, error: Exception) -> Exception:
        cause = error.__cause__ or error
        if isinstance(cause, _ReplyTooLargeError):
            return ChatError(f"its reply is larger than {MAX_BYTES:,} bytes")
        refused = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
        late = self._openai.APITimeoutError
        if (isinstance(error, late) and not refused) or isinstance(cause, late):
            return RetryableError(f"no reply within {self.timeout:g} s", may_be_charged=True)
        why = self._redact_key(str(cause)) or type(cause).__name__
        if refused and not self._reached:
            return RetryableError(
                f"no server answers ({why}); start one, or check the base URL",
                tries=_UNREACHED_TRIES,
            )
        return RetryableError(f"the connection broke ({why})", may_be_charged=not refused)

    def _convert_status_error(self, error: Any) -> Exception:
        status = int(error.status_code)
        try:
            body = parse_json(error.response.content)
        except ValueError:
            text = error.response.content.decode("utf-8", "replace")
            body = "" if text.lstrip().startswith("<") else text  # a proxy's page is not shown
        words = self._redact_key(get_server_message(body))
        refusal = f"HTTP {status}" + (f", {words}" if words else "")
        if is_transient(status, f"{words} {getattr(error, 'code', None)}"):
            after = parse_retry_after(error.response.headers.get("retry-after"), time.time())
            tries = _INTERNAL_TRIES if status == 500 else UNLIMITED_TRIES
            return RetryableError(refusal, retry_after=after, tries=tries)
        return ChatError(self._explain_refusal(status, words, refusal))

    def _explain_refusal(self, status: int, message: str, refusal: str) -> str:
        if status in (401, 403) and self._key:
            variable = self.key_variable or KEY_VARIABLE
            return f"the server rejects the key in {variable} ({refusal}); check the key"
        if status in (401, 403):
            return (
                f"the server requires a key ({refusal}); name the environment variable that "
                "contains it"
            )
        if status == 402 or _QUOTA.search(message):
            return f"the account has no credit left ({refusal}); add credit and try again"
        if 300 <= status < 400:
            return f"the server redirects the request ({refusal}); use the final URL"
        if status == 404:
            return self._explain_not_found(refusal)
        if status == 413 or _TOO_LONG.search(message):
            return (
                f"the prompt is too long for {self.model!r} ({refusal}); use fewer shots or a "
                "model with a longer context"
            )
        if _PARAMETER.search(message):
            return (
                f"the server does not support a parameter ({refusal}); set or remove parameters "
                "with `extra`, such as {'max_tokens': None, 'max_completion_tokens': 500}"
            )
        return f"the server refuses the request ({refusal})"

    def _explain_not_found(self, refusal: str) -> str:
        try:
            raw = self._client.models.with_raw_response.list()
            listed = parse_json(raw.http_response.content)["data"]
            models = sorted(self._redact_key(str(model["id"])) for model in listed)
        except (self._openai.OpenAIError, _ReplyTooLargeError, ValueError, LookupError, TypeError):
            return f"there is no chat model at this address ({refusal}); most base URLs end in /v1"
        if self.model in models:
            return f"the server lists {self.model!r}, but can't chat with it ({refusal})"
        near = difflib.get_close_matches(self.model, models, _MAX_LISTED_MODELS, 0.4)
        there = list(dict.fromkeys([*near, *models]))
        has = f"it has {join_names(there, _MAX_LISTED_MODELS)}" if there else "it has no models"
        return f"there is no model {self.model!r} ({refusal}); {has}"

    def _redact_key(self, text: str) -> str:
        return shorten_to_line(text.replace(self._key, "[the key]") if self._key else text)


class _ReplyTooLargeError(Exception):
    pass


def _make_limited_client(openai: Any, timeout: float, *, without_proxies: bool) -> Any:
    """Return an HTTP client with size and time limits."""

    class BoundedClient(openai.DefaultHttpxClient):  # type: ignore[misc]
        def send(self, request: Any, **settings: Any) -> Any:
            until = time.monotonic() + timeout
            response = super().send(request, **{**settings, "stream": True})
            body = bytearray()
            try:
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        raise _ReplyTooLargeError
                    if time.monotonic() > until:  # httpx's timeout is per chunk
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

    return BoundedClient(follow_redirects=False, trust_env=not without_proxies)


KEY_VARIABLE = "OPENAI_API_KEY"
"""Default environment variable for the key, as in other client libraries."""


def is_loopback(url: str) -> bool:
    """Return whether a URL refers to this machine.

    >>> is_loopback("http://localhost:8000/v1"), is_loopback("http://10.0.0.7:8000/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_url(url: str, *, insecure: bool) -> None:
    """Raise ChatError if a URL is invalid, contains secrets, or does not use encryption.

    The message does not show secrets in the URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ChatError("the base URL can't be read; it should look like https://host/v1") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ChatError(
            "the base URL contains a user, a password or a query; it should look like "
            f"https://host/v1, and a key belongs in an environment variable ({KEY_VARIABLE})"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ChatError(f"the base URL {url!r} is invalid; it should look like https://host/v1")
    if parts.scheme == "http" and not insecure and not is_loopback(url):
        raise ChatError(
            f"{url} is not encrypted, so others could read the problems and the key; use https, a "
            "tunnel to this machine, or allow unencrypted HTTP (insecure)"
        )


def find_api_key(url: str, variable: str | None) -> str | None:
    """Return the API key for a server from the environment, or None.

    A key in a variable that the user names is sent to any server. The default `OPENAI_API_KEY` is
    sent only over https, and only to other machines. ChatError is raised if the named variable is
    not set, or if its value can't be a key. The message does not show the value.
    """
    if variable is None and (is_loopback(url) or not url.startswith("https:")):
        return None
    name = variable or KEY_VARIABLE
    key = os.environ.get(name, "").strip()
    if variable is not None and not key:
        raise ChatError(f"the environment variable {name} is empty; set it or use another")
    if not (key.isascii() and key.isprintable()):
        raise ChatError(
            f"the environment variable {name} contains characters that are not allowed in a key"
        )
    return key or None
