"""A server's body as a `Reply`."""

from __future__ import annotations

import json
from typing import Any

from winosmith.chat._errors import Again, ChatError
from winosmith.chat._message import Reply

__all__ = ["read_reply", "readable", "said"]

_SHOWN = 300
"""Characters of a server's own words in a message."""

_NONSENSE_TRIES = 3
"""A proxy's page may stand in for a reply once or twice."""


def read_reply(body: bytes) -> Reply:
    """Return the reply that the body of a chat completion holds.

    Raises:
        Again: it is no JSON, or JSON of another kind.
        ChatError: it holds the server's own error.
    """
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
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
    told = ((str(entry["token"]), float(entry["logprob"])) for entry in content[0]["top_logprobs"])
    return tuple(sorted(told, key=lambda entry: -entry[1]))


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
