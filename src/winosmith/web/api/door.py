"""The common parts of all operations: the caller, base schemas, and errors.

A caller is always the owner of the token. Errors are problem details (RFC 9457).
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

STATUS_TITLES: Mapping[int, Any] = {
    400: gettext_lazy("The request can’t be read."),
    401: gettext_lazy("A valid token is needed."),
    404: gettext_lazy("Nothing here is visible to you."),
    405: gettext_lazy("This method is not allowed here; see the header Allow."),
    422: gettext_lazy("A parameter is not as described."),
    500: gettext_lazy("The site failed."),
    503: gettext_lazy("The database is unavailable; try again in a moment."),
}
"""The title of each status code."""

_LOG = logging.getLogger("django.request")


class Denied(Exception):  # noqa: N818 - a decision, not an error
    """The token is missing or invalid. `challenge` follows RFC 6750 (section 3)."""

    def __init__(self, challenge: str):
        self.challenge = challenge
        super().__init__(challenge)


class MalformedError(RefusedError):
    """Parts of a request contradict each other; `faults` has the advice by part."""


def error_response(
    status: int,
    detail: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error as problem details.

    Args:
        status: The HTTP status code.
        detail: What is wrong, and what to do.
        errors: One entry per field: `where`, and `detail` as above.
        headers: Headers of the response.
    """
    body = {
        "type": f"/api/#status-{status}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail or str(STATUS_TITLES[status]),
        "errors": list(errors),
    }
    return JsonResponse(body, status=status, content_type=TYPE, headers=dict(headers or {}))


def register_handlers(api: Any) -> None:
    """Make an API return the site's errors in this format."""
    for error, handler in _HANDLERS.items():
        api.add_exception_handler(error, handler)


MAX_ERRORS = 100
"""Maximum number of reported errors in a request; 900 kB can contain 60,000."""


def _handle_malformed(request: HttpRequest, error: Any) -> HttpResponse:
    found = error.errors
    errors = [
        {"where": _error_location(one["loc"]), "detail": str(one["msg"])}
        for one in found[:MAX_ERRORS]
    ]
    said = ngettext(
        "%d part of the request does not match /api/openapi.json.",
        "%d parts of the request do not match /api/openapi.json.",
        len(found),
    )
    return error_response(422, said % len(found), errors)


def _error_location(place: Sequence[str | int]) -> str:
    parts = [str(part) for part in place]
    return ".".join(parts[:1] + parts[2:] if parts[0] == "body" else parts)


def _handle_refused(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [
        {"where": field, "detail": advice}
        for field, advices in error.faults.items()
        for advice in advices
    ]
    return error_response(422, _("This can’t be accepted; each error says what to change."), errors)


def _handle_unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    return error_response(503, headers={"Retry-After": str(AGAIN)})


def _handle_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """Log an internal error as Django does for pages; the response only states that it happened."""
    got_request_exception.send(sender=None, request=request)
    _LOG.error("Internal Server Error: %a", request.path, exc_info=error)  # %a: one line
    made = error_response(500)
    made._has_been_logged = True
    return made


_HANDLERS: dict[type[Exception], Any] = {
    Exception: _handle_failure,
    OperationalError: _handle_unavailable,
    InterfaceError: _handle_unavailable,
    SuspiciousOperation: lambda _request, _error: error_response(400),
    Http404: lambda _request, _error: error_response(404),
    HttpError: lambda _request, error: error_response(error.status_code),
    ValidationError: _handle_malformed,
    Denied: lambda _request, error: error_response(
        401, headers={"WWW-Authenticate": error.challenge}
    ),
    InputError: lambda _request, error: error_response(422, str(error)),
    RefusedError: _handle_refused,
}


Ref = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^/\x00-\x1f]+$")]
"""The id of a problem, a twin, or a model."""


class Response(BaseModel):
    """Base class of responses."""

    model_config = ConfigDict(from_attributes=True)


class RequestData(BaseModel):
    """Base class of requests; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class FieldError(Response):
    """An error in a field: where, and what to do."""

    where: str
    detail: str


class Error(Response):
    """An error, as problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError]


class Problem(Response):
    """A problem as in the downloads, which `winosmith` can read."""

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


def to_records(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return problems as everybody may see them; no edit reveals a parent that is not public.

    Args:
        rows: The problems, with twins and contributors loaded; the caller may see them.
    """
    found: Sequence[Row] = list(rows)
    return [problem_record(datum) for datum in as_public(found)]


if TYPE_CHECKING:
    from winosmith.web.api.models import Token
    from winosmith.web.people.models import Person


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: a token and its owner; a visitor has neither."""

    token: Token | None = None

    @property
    def person(self) -> Person | None:
        """Return the owner of the token."""
        return self.token.person if self.token else None


@dataclass(frozen=True, slots=True)
class _Gate:
    """Admits callers with a token, and visitors if `public`."""

    public: bool

    def __call__(self, request: HttpRequest) -> Caller:
        said = request.headers.get("Authorization")
        if said is None and self.public:
            return Caller()
        scheme, _space, text = (said or "").partition(" ")
        token = tokens.find_token(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Denied('Bearer error="invalid_token"' if said else "Bearer")
        return Caller(token)


def access(*, public: bool = False) -> dict[str, Any]:
    """Return the arguments of an operation's decorator that define who may call it.

    >>> # @router.get("/problems", response=Problems, **access(public=True))
    """
    wanted: list[dict[str, list[str]]] = [{"token": []}]
    described = {"security": [*wanted, {}] if public else wanted}
    return {"auth": _Gate(public), "openapi_extra": described}


def get_caller(request: HttpRequest) -> Caller:
    """Return the sender of an admitted request."""
    found: Caller = request.auth
    return found


def reader(request: HttpRequest) -> Person | None:
    """Return the person who reads; None for a visitor."""
    return get_caller(request).person


def get_owner(request: HttpRequest) -> Person:
    """Return the person who reads, for operations that need a token."""
    person = get_caller(request).person
    assert person is not None  # noqa: S101 - the gate lets no one else in
    return person
