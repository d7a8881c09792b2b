"""Writing calls that act once, however often a program sends them: `Idempotency-Key`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Header

from winosmith.web.api.v1.access import owner
from winosmith.web.api.v1.faults import Mismatch
from winosmith.web.people.models import Done
from winosmith.web.people.once import Reused, once

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern="^[0-9A-Za-z]{16,64}$",
        description="New for each act, the same when the same request is sent again: it acts once.",
    ),
]
"""16 to 64 letters and digits, made by the program: `secrets.token_hex(16)`."""


def acted(request: HttpRequest, key: str, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do something for the first request with this key; for the others return what came of it.

    Args:
        request: whose method, path and body the key belongs to from now on.
        key: of the header.
        act: does the writing, and returns what JSON can hold.

    Raises:
        Mismatch: another request was sent with this key.
    """
    try:
        kept, _new = once(owner(request), key, _print(request), lambda: {"result": act()})
    except Reused:
        raise _mismatch() from None
    return dict(kept["result"])


def done_before(request: HttpRequest, key: str) -> dict[str, Any] | None:
    """Return what came of this request the first time; None where it was not sent.

    Raises:
        Mismatch: another request was sent with this key.
    """
    found = Done.objects.filter(person=owner(request), key=key).first()
    if found is None:
        return None
    if found.result.get("form") != _print(request):
        raise _mismatch()
    return dict(found.result["result"])


def note(request: HttpRequest, key: str, result: dict[str, Any]) -> None:
    """Write down what comes of this request, in a transaction that does what it asks.

    Raises:
        Mismatch: another request was sent with this key.
    """
    acted(request, key, lambda: result)


def _mismatch() -> Mismatch:
    return Mismatch(_("This Idempotency-Key was sent with another request; make a new one."))


def _print(request: HttpRequest) -> str:
    said = f"{request.method} {request.get_full_path()}\n".encode() + request.body
    return hashlib.sha256(said).hexdigest()
