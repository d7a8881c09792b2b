"""Who calls, the token's owner alone, as far as its scopes reach; and acting once for a key.

A writing call acts once, however often a program sends it with its `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Header

from winosmith.web.api import tokens
from winosmith.web.api.v1.faults import Denied, Mismatch
from winosmith.web.people.consent import missing
from winosmith.web.people.gates import Reused, once
from winosmith.web.people.models import Done

if TYPE_CHECKING:
    from winosmith.web.api.models import Token
    from winosmith.web.people.models import Person


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: a token and its owner; neither for a visitor."""

    token: Token | None = None

    @property
    def person(self) -> Person | None:
        """The owner."""
        return self.token.person if self.token else None


@dataclass(frozen=True, slots=True)
class _Gate:
    """Lets those through who may do what an operation does.

    Attributes:
        scope: what the token must be for; "" for any that works.
        public: a visitor without a token may, too.
        agreed: the owner must have agreed to the texts that hold now.
    """

    scope: str
    public: bool
    agreed: bool

    def __call__(self, request: HttpRequest) -> Caller:
        said = request.headers.get("Authorization")
        if said is None and self.public:
            return Caller()
        scheme, _space, text = (said or "").partition(" ")
        token = tokens.find(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Denied(401, "", "invalid_token" if said else "")
        if self.scope and self.scope not in token.scopes:
            detail = _("This token is not for “%s”; make one that is.") % self.scope
            raise Denied(403, detail, "insufficient_scope", self.scope)
        if self.agreed and missing(token.person):
            raise Denied(403, _("Log in and agree to the site’s texts first: /people/consent/"))
        return Caller(token)


def asks(scope: str = "", *, public: bool = False, agreed: bool = False) -> dict[str, Any]:
    """Return what an operation's decorator needs so that only those come in who may.

    >>> # @router.get("/problems", response=Problems, **asks("read", public=True))
    """
    wanted: list[dict[str, list[str]]] = [{"token": [scope] if scope else []}]
    described = {"security": [*wanted, {}] if public else wanted}
    return {"auth": _Gate(scope, public, agreed), "openapi_extra": described}


def caller(request: HttpRequest) -> Caller:
    """Return who sent a request that has come in."""
    found: Caller = request.auth
    return found


def reader(request: HttpRequest) -> Person | None:
    """Return who reads; None for a visitor."""
    return caller(request).person


def owner(request: HttpRequest) -> Person:
    """Return who acts, where an operation is for those with a token alone."""
    person = caller(request).person
    assert person is not None  # noqa: S101 - the gate lets no one else in
    return person


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
