"""What every operation shares: who calls, the shapes, and what goes wrong.

A caller is the token's owner alone. Errors are problem details (RFC 9457).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from django.core.exceptions import SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel, ConfigDict, Field

from winosmith.errors import InputError
from winosmith.problem import Lineage, Origin
from winosmith.records import problem_record
from winosmith.web.api import models as tokens
from winosmith.web.pages import AGAIN
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.records import as_public

TYPE = "application/problem+json"

MEANINGS: Mapping[int, Any] = {
    400: gettext_lazy("The request can’t be read."),
    401: gettext_lazy("A valid token is needed."),
    404: gettext_lazy("Nothing here is visible to you."),
    405: gettext_lazy("This method is not allowed here; see the header Allow."),
    422: gettext_lazy("A parameter is not as described."),
    500: gettext_lazy("The site failed."),
    503: gettext_lazy("The database is unavailable; try again in a moment."),
}
"""What each status means, whatever was asked."""

_LOG = logging.getLogger("django.request")


class Denied(Exception):  # noqa: N818 - a decision, not a fault
    """There is no token, or none that works. `challenge` is RFC 6750's (section 3)."""

    def __init__(self, challenge: str):
        self.challenge = challenge
        super().__init__(challenge)


class MalformedError(RefusedError):
    """Parts of a request that contradict each other; `faults` has what to do, by part."""


def answer(
    status: int,
    detail: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error as problem details.

    Args:
        status: of HTTP.
        detail: what is wrong here, and what to do.
        errors: one for each field: `where`, and `detail` as above.
        headers: of the answer.
    """
    body = {
        "type": f"/api/#status-{status}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail or str(MEANINGS[status]),
        "errors": list(errors),
    }
    return JsonResponse(body, status=status, content_type=TYPE, headers=dict(headers or {}))


def join(api: Any) -> None:
    """Let an API answer each error of the site's rules in this form."""
    for error, handler in _HANDLERS.items():
        api.add_exception_handler(error, handler)


TOLD = 100
"""Faults of a request that are reported one by one; one of 900 kB may have 60,000."""


def _malformed(request: HttpRequest, error: Any) -> HttpResponse:
    """Tell how many parts of a request are not as the description says, and of the first ones."""
    found = error.errors
    errors = [{"where": _where(one["loc"]), "detail": str(one["msg"])} for one in found[:TOLD]]
    said = ngettext(
        "%d part of the request does not match /api/openapi.json.",
        "%d parts of the request do not match /api/openapi.json.",
        len(found),
    )
    return answer(422, said % len(found), errors)


def _where(place: Sequence[str | int]) -> str:
    """Return where something is, without the name that a body has in the code."""
    parts = [str(part) for part in place]
    return ".".join(parts[:1] + parts[2:] if parts[0] == "body" else parts)


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [
        {"where": field, "detail": advice}
        for field, advices in error.faults.items()
        for advice in advices
    ]
    return answer(422, _("This can’t be accepted; each error says what to change."), errors)


def _away(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(503, headers={"Retry-After": str(AGAIN)})


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """Tell the log of a fault, as Django does for pages; the program learns that there is one."""
    got_request_exception.send(sender=None, request=request)
    _LOG.error("Internal Server Error: %a", request.path, exc_info=error)  # %a: one line
    made = answer(500)
    made._has_been_logged = True
    return made


_HANDLERS: dict[type[Exception], Any] = {
    Exception: _failed,
    OperationalError: _away,
    InterfaceError: _away,
    SuspiciousOperation: lambda _request, _error: answer(400),
    Http404: lambda _request, _error: answer(404),
    HttpError: lambda _request, error: answer(error.status_code),
    ValidationError: _malformed,
    Denied: lambda _request, error: answer(401, headers={"WWW-Authenticate": error.challenge}),
    InputError: lambda _request, error: answer(422, str(error)),
    RefusedError: _refused,
}


Ref = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^/\x00-\x1f]+$")]
"""An id: of a problem, a twin, a model."""


class Shape(BaseModel):
    """What the API answers with."""

    model_config = ConfigDict(from_attributes=True)


class Asked(BaseModel):
    """What a program sends: nothing that the API does not know."""

    model_config = ConfigDict(extra="forbid")


class Fault(Shape):
    """One thing that is wrong: where, and what to do."""

    where: str
    detail: str


class Error(Shape):
    """An error, as problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault]


class Problem(Shape):
    """A problem as the downloads have it: `winosmith` reads it."""

    id: str
    sentence: str
    options: list[str]
    answer: int | None = None
    twin_id: str | None = None
    pronoun: str | None = None
    origin: Origin | None = None
    lineage: Lineage | None = None
    embargo: bool = False
    extra: dict[str, str | int | float | bool | None] = {}


def problems(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return problems as everyone may have them: no edit tells of a parent that is not public.

    Args:
        rows: with their twins and contributors; who asks may see them.
    """
    found: Sequence[Row] = list(rows)
    return [problem_record(datum) for datum in as_public(found)]


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
    """Lets those through who have a token; visitors too if `public`."""

    public: bool

    def __call__(self, request: HttpRequest) -> Caller:
        said = request.headers.get("Authorization")
        if said is None and self.public:
            return Caller()
        scheme, _space, text = (said or "").partition(" ")
        token = tokens.find(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Denied('Bearer error="invalid_token"' if said else "Bearer")
        return Caller(token)


def asks(*, public: bool = False) -> dict[str, Any]:
    """Return what an operation's decorator needs so that only those come in who may.

    >>> # @router.get("/problems", response=Problems, **asks(public=True))
    """
    wanted: list[dict[str, list[str]]] = [{"token": []}]
    described = {"security": [*wanted, {}] if public else wanted}
    return {"auth": _Gate(public), "openapi_extra": described}


def caller(request: HttpRequest) -> Caller:
    """Return who sent a request that has come in."""
    found: Caller = request.auth
    return found


def reader(request: HttpRequest) -> Person | None:
    """Return who reads; None for a visitor."""
    return caller(request).person


def owner(request: HttpRequest) -> Person:
    """Return who reads, if an operation is only for those with a token."""
    person = caller(request).person
    assert person is not None  # noqa: S101 - the gate lets no one else in
    return person
