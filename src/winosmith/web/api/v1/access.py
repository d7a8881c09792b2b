"""Who calls: the token's owner alone, as far as its scopes reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from winosmith.web.api import tokens
from winosmith.web.api.v1.faults import Denied
from winosmith.web.people.consent import missing

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
