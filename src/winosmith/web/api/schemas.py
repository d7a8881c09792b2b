"""Schemas and errors of all API operations. Errors are problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy
from ninja import Schema
from pydantic import Field

from winosmith.problem import Lineage, Origin
from winosmith.records import make_problem_record
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.records import as_public

ERROR_CONTENT_TYPE = "application/problem+json"

STATUS_TITLES: Mapping[int, Any] = {
    400: gettext_lazy("The request can’t be read."),
    404: gettext_lazy("This does not exist, or it is not public."),
    405: gettext_lazy("The API is read-only; see the Allow header."),
    422: gettext_lazy("A parameter is not valid; each error states which one, and the reason."),
    500: gettext_lazy("The site has an internal error."),
    503: gettext_lazy("The database is unavailable; try again in a moment."),
}


def make_error_response(
    status: int,
    detail: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error as problem details.

    `detail` states the error and what to do about it. `errors` contains, for each parameter with an
    error, its location (`where`) and its own `detail`.
    """
    body = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail or str(STATUS_TITLES[status]),
        "errors": list(errors),
    }
    return JsonResponse(
        body, status=status, content_type=ERROR_CONTENT_TYPE, headers=dict(headers or {})
    )


def handle_invalid_parameters(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [
        {"where": ".".join(map(str, one["loc"])), "detail": str(one["msg"])} for one in error.errors
    ]
    return make_error_response(422, errors=errors)


Ref = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^/\x00-\x1f]+$")]
"""The id of a problem."""


class ParameterError(Schema):
    """An error in a parameter of the request."""

    where: str
    detail: str


class Error(Schema):
    """An error, as problem details (RFC 9457)."""

    title: str
    status: int
    detail: str
    errors: list[ParameterError]


class Problem(Schema):
    """A problem in the format of the downloads, which `winosmith` can read."""

    id: str
    sentence: str
    options: list[str]
    answer: int | None = None
    twin_id: str | None = None
    pronoun: str | None = None
    origin: Origin | None = None
    lineage: Lineage | None = None
    extra: dict[str, str | int | float | bool | None] = {}


def to_records(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return public problems as JSON records, without edits that would reveal a hidden parent.

    The problems' twins and contributors must be loaded.
    """
    return [make_problem_record(datum) for datum in as_public(list(rows))]
