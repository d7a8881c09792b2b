"""One request to a chat server: what goes to it, what comes back, what goes wrong on the way."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from winosmith.errors import InputError, require
from winosmith.records import parse_json
from winosmith.report import joined


class Message(NamedTuple):
    """One turn of a conversation.

    Attributes:
        role: who speaks.
        content: what is said.
    """

    role: Literal["system", "user", "assistant"]
    content: str


Messages = Sequence[Message]
"""A conversation, the oldest turn first; the model says what comes next."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model said.

    Attributes:
        text: empty when it said nothing.
        tokens_in, tokens_out: what the server counted; None when it tells no figures.
        finish: why it stopped: "stop", or "length" when its text was cut off; None when untold.
        first_token: the likeliest first tokens with their natural log-probabilities, the
            likeliest first; empty unless they were asked for.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish: str | None = None
    first_token: tuple[tuple[str, float], ...] = ()


class ChatModel(Protocol):
    """Continues a conversation."""

    def __call__(self, messages: Messages, /) -> Reply:
        """Return what the model says next."""
        ...


class ChatError(InputError):
    """A chat model can't be asked as it is; the message says what the server said, and what to do.

    What was received before is kept where the client has a cache.
    """


class BudgetError(ChatError):
    """The next request might exceed the budget, so it was not sent."""


OFTEN = 1_000_000
"""Attempts without a limit of their own; the client's patience ends them."""


class Again(Exception):  # noqa: N818 - a wish to try again, which the caller never sees
    """A failure that may pass.

    Attributes:
        reason: for the user, should it not pass.
        after: seconds that the server asks us to wait; None when it doesn't.
        tries: attempts in all, from which on it is not worth another.
        charged: whether the server may have done, and charged, the work.
    """

    def __init__(
        self, reason: str, *, after: float | None = None, tries: int = OFTEN, charged: bool = False
    ):
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.tries = tries
        self.charged = charged


_SHOWN = 300
"""Characters of a server's own words in a message."""

_NONSENSE_TRIES = 3
"""A proxy's page may take a reply's place once or twice."""


def read_reply(body: bytes) -> Reply:
    """Return the reply that the body of a chat completion holds.

    Raises:
        Again: it is no JSON, or JSON of another kind.
        ChatError: it holds the server's own error.
    """
    try:
        record = parse_json(body)
    except ValueError:
        raise _nonsense("no JSON", body) from None
    if isinstance(record, dict) and record.get("error"):
        raise ChatError(f"it answers with an error: {said(record)}")
    try:
        choice = record["choices"][0]
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            text = "".join(part.get("text", "") for part in text)
        usage = record.get("usage") or {}
        text.encode()
        return Reply(
            text=text,
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            finish=str(choice["finish_reason"]) if choice.get("finish_reason") else None,
            first_token=_first_token(choice.get("logprobs")),
        )
    except (LookupError, TypeError, AttributeError, ValueError):
        raise _nonsense("no chat completion", body) from None


def _nonsense(what: str, body: bytes) -> Again:
    shown = readable(body.decode("utf-8", "replace"), 80) or "(nothing)"
    return Again(f"what it sends is {what}: {shown}", tries=_NONSENSE_TRIES, charged=True)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _first_token(logprobs: Any) -> tuple[tuple[str, float], ...]:
    """Return the likeliest tokens at the reply's beginning; empty when the server tells none."""
    content = (logprobs or {}).get("content")
    if not content:
        return ()
    likeliest = (
        (str(entry["token"]), float(entry["logprob"])) for entry in content[0]["top_logprobs"]
    )
    return tuple(sorted(likeliest, key=lambda entry: -entry[1]))


def said(body: Any) -> str:
    """Return the server's own words for an error, whatever dialect it speaks."""
    while isinstance(body, dict):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    if isinstance(body, list):  # a validator's list of faults
        body = "; ".join(said(part.get("msg") or part) for part in body if isinstance(part, dict))
    return readable(str(body or ""))


def readable(text: str, most: int = _SHOWN) -> str:
    """Return text from outside on one line, cut, without characters that steer a terminal."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


_PASSING = {408, 409, 425, 429}
_NOT_IMPLEMENTED = 501

_MODELS_SHOWN = 8
"""Model names that a message lists at most."""

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


def is_passing(status: int, words: str) -> bool:
    """Return whether asking again may help: too many requests, or trouble on the server's side."""
    if status == 429:
        return not _QUOTA.search(words)
    return status in _PASSING or (status >= 500 and status != _NOT_IMPLEMENTED)


def again_after(header: str | None, now: float) -> float | None:
    """Return the seconds to wait that a `Retry-After` asks for; None when it is none.

    Args:
        header: seconds, or a date as HTTP writes it (RFC 9110, section 10.2.3).
        now: seconds since 1970, for the date.

    >>> again_after("7", 0.0), again_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
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


def explained(
    status: int,
    words: str,
    *,
    model: str,
    variable: str,
    has_key: bool,
    models: Sequence[str] | None,
) -> str:
    """Say what a refusal means.

    Args:
        status: the HTTP status.
        words: the server's own.
        model: what was asked for.
        variable: the environment variable in which a key is looked for.
        has_key: whether a key was sent.
        models: what the server lists; None when it lists nothing.
    """
    refusal = f"HTTP {status}" + (f", {words}" if words else "")
    if status in (401, 403):
        if has_key:
            return f"it refuses the key in {variable} ({refusal}); check that it is meant for it"
        return f"it wants a key ({refusal}); name the environment variable that holds it"
    if status == 402 or _QUOTA.search(words):
        return f"the account has nothing left ({refusal}); add credit, and go on"
    if 300 <= status < 400:
        return f"it sends us elsewhere ({refusal}), which is not followed; name that address itself"
    if status == 404:
        return _not_found(refusal, model, models)
    if status == 413 or _TOO_LONG.search(words):
        return (
            f"the prompt is too long for {model!r} ({refusal}); take fewer shots, or a model with "
            "room for more"
        )
    if _PARAMETER.search(words):
        return (
            f"it can't do with a parameter ({refusal}); `extra` sets others, and drops one that is "
            "None, such as {'max_tokens': None, 'max_completion_tokens': 500}"
        )
    return f"it refuses the request ({refusal})"


def _not_found(refusal: str, model: str, models: Sequence[str] | None) -> str:
    if models is None:
        return f"there is no chat model there ({refusal}); most base URLs end in /v1"
    if model in models:
        return f"it lists {model!r}, but can't chat with it ({refusal})"
    near = difflib.get_close_matches(model, models, _MODELS_SHOWN, 0.4)
    there = list(dict.fromkeys([*near, *models]))
    has = f"it has {joined(there, _MODELS_SHOWN)}" if there else "it has none at all"
    return f"there is no model {model!r} ({refusal}); {has}"


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
            listed = parse_json(raw.http_response.content)["data"]
            return sorted(self._safe(str(model["id"])) for model in listed)
        except (self._openai.OpenAIError, _TooMuchError, ValueError, LookupError, TypeError):
            return None

    def _safe(self, words: str) -> str:
        """Return a server's words without our key, should it repeat that."""
        return readable(words.replace(self._key, "[the key]") if self._key else words)


def _body(response: Any) -> Any:
    try:
        return parse_json(response.content)
    except ValueError:
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
    """Return whether a URL leads to this machine.

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
    """Return the key for a server from the environment; None if none is meant for it.

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
