"""Common parts of all API operations: the caller, base schemas, and errors.

The token of a request identifies the caller. Errors are problem details (RFC 9457).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from django.core.exceptions import SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel, ConfigDict, Field

from winosmith.errors import InputError
from winosmith.problem import Lineage, Origin
from winosmith.records import make_problem_record
from winosmith.web.api import models as tokens
from winosmith.web.pages import RETRY_SECONDS
from winosmith.web.people.models import Person
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.records import as_public

ERROR_CONTENT_TYPE = "application/problem+json"

STATUS_TITLES: Mapping[int, Any] = {
    400: gettext_lazy("The request can’t be read."),
    401: gettext_lazy("A valid token is required."),
    404: gettext_lazy("This does not exist, or you can’t see it."),
    405: gettext_lazy("This method is not allowed here; see the Allow header."),
    422: gettext_lazy("A parameter is not valid."),
    500: gettext_lazy("The site has an internal error."),
    503: gettext_lazy("The database is unavailable; try again in a moment."),
}


class InvalidTokenError(Exception):
    """The token is missing or invalid; the message is the `WWW-Authenticate` header (RFC 6750)."""


class MalformedRequestError(RefusedError):
    """Parameters of a request are unknown or contradictory; `faults` maps their names to errors."""


def make_error_response(
    status: int,
    detail: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error as problem details.

    `detail` states the error and what to do about it. `errors` contains, for each field with an
    error, its location (`where`) and its own `detail`.
    """
    body = {
        "type": f"/api/#status-{status}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail or str(STATUS_TITLES[status]),
        "errors": list(errors),
    }
    return JsonResponse(
        body, status=status, content_type=ERROR_CONTENT_TYPE, headers=dict(headers or {})
    )


MAX_ERRORS = 100
"""Maximum number of errors reported for a request, because 900 kB can contain 60,000 errors."""


def _handle_malformed_request(request: HttpRequest, error: Any) -> HttpResponse:
    found = error.errors
    errors = []
    for one in found[:MAX_ERRORS]:
        path = [str(part) for part in one["loc"]]
        where = path[:1] + path[2:] if path[0] == "body" else path
        errors.append({"where": ".".join(where), "detail": str(one["msg"])})
    detail = ngettext(
        "%d part of the request does not match /api/openapi.json.",
        "%d parts of the request do not match /api/openapi.json.",
        len(found),
    )
    return make_error_response(422, detail % len(found), errors)


def _handle_refused(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [
        {"where": field, "detail": advice}
        for field, advices in error.faults.items()
        for advice in advices
    ]
    detail = _("The request was rejected; each error says what to change.")
    return make_error_response(422, detail, errors)


def _handle_unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    return make_error_response(503, headers={"Retry-After": str(RETRY_SECONDS)})


def _handle_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """Log an internal error as Django does for pages; the response contains no details."""
    got_request_exception.send(sender=None, request=request)
    log = logging.getLogger("django.request")
    log.error("Internal Server Error: %a", request.path, exc_info=error)  # %a: one line
    response = make_error_response(500)
    response._has_been_logged = True
    return response


HANDLERS: dict[type[Exception], Any] = {
    Exception: _handle_failure,
    OperationalError: _handle_unavailable,
    InterfaceError: _handle_unavailable,
    SuspiciousOperation: lambda _request, _error: make_error_response(400),
    Http404: lambda _request, _error: make_error_response(404),
    HttpError: lambda _request, error: make_error_response(error.status_code),
    ValidationError: _handle_malformed_request,
    InvalidTokenError: lambda _request, error: make_error_response(
        401, headers={"WWW-Authenticate": str(error)}
    ),
    InputError: lambda _request, error: make_error_response(422, str(error)),
    RefusedError: _handle_refused,
}
"""Functions that return the site's errors as problem details."""


Ref = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^/\x00-\x1f]+$")]
"""The id of a problem, a twin, or a model."""


class Response(BaseModel):
    """Base class of response schemas."""

    model_config = ConfigDict(from_attributes=True)


class RequestData(BaseModel):
    """Base class of request schemas, which reject unknown fields."""

    model_config = ConfigDict(extra="forbid")


class FieldError(Response):
    """An error in a field of the request."""

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
    """A problem in the format of the downloads, which `winosmith` can read."""

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
    """Return problems as JSON records, without edits that would reveal a non-public parent.

    The caller must be allowed to see the problems, and their twins and contributors must be loaded.
    """
    return [make_problem_record(datum) for datum in as_public(list(rows))]


def make_auth(*, public: bool = False) -> dict[str, Any]:
    """Return the decorator arguments with which an operation authenticates its caller by token.

    django-ninja stores the token as `request.auth`. If `public`, a request needs no token; without
    one, `request.auth` is True.

    >>> # @router.get("/problems", response=ProblemPage, **make_auth(public=True))
    """

    def authenticate(request: HttpRequest) -> tokens.Token | bool:
        header = request.headers.get("Authorization")
        if header is None and public:
            return True
        scheme, _space, text = (header or "").partition(" ")
        token = tokens.find_token(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise InvalidTokenError('Bearer error="invalid_token"' if header else "Bearer")
        return token

    security: list[dict[str, list[str]]] = [{"token": []}, {}] if public else [{"token": []}]
    return {"auth": authenticate, "openapi_extra": {"security": security}}


def get_reader(request: HttpRequest) -> Person | None:
    """Return the person who owns the request's token; None for a visitor."""
    return None if request.auth is True else request.auth.person


def get_owner(request: HttpRequest) -> Person:
    """Return the owner of the request's token, for operations that need a token."""
    return request.auth.person
