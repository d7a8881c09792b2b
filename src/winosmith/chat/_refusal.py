"""What a server's refusal means, and what to do about it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

__all__ = ["again_after", "explained", "is_passing"]

_PASSING = {408, 409, 425, 429}
_NOT_IMPLEMENTED = 501

_SHOWN = 8
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
    """Tell whether asking again may help: too many requests, or trouble on the server's side."""
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
    told = f"HTTP {status}" + (f", {words}" if words else "")
    if status in (401, 403):
        if has_key:
            return f"it refuses the key in {variable} ({told}); check that it is meant for it"
        return f"it wants a key ({told}); name the environment variable that holds it"
    if status == 402 or _QUOTA.search(words):
        return f"the account has nothing left ({told}); add credit, and go on"
    if 300 <= status < 400:
        return f"it sends us elsewhere ({told}), which is not followed; name that address itself"
    if status == 404:
        return _not_found(told, model, models)
    if status == 413 or _TOO_LONG.search(words):
        return (
            f"the prompt is too long for {model!r} ({told}); take fewer shots, or a model with "
            "room for more"
        )
    if _PARAMETER.search(words):
        return (
            f"it can't do with a parameter ({told}); `extra` sets others, and drops one that is "
            "None, such as {'max_tokens': None, 'max_completion_tokens': 500}"
        )
    return f"it refuses the request ({told})"


def _not_found(told: str, model: str, models: Sequence[str] | None) -> str:
    if models is None:
        return f"there is no chat model there ({told}); most base URLs end in /v1"
    if model in models:
        return f"it lists {model!r}, but can't chat with it ({told})"
    near = difflib.get_close_matches(model, models, _SHOWN, 0.4)
    shown = list(dict.fromkeys([*near, *models]))[:_SHOWN]
    more = f" and {len(models) - len(shown):,} more" if len(models) > len(shown) else ""
    has = f"it has {', '.join(shown)}{more}" if shown else "it has none at all"
    return f"there is no model {model!r} ({told}); {has}"
