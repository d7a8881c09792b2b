"""Everything that goes wrong, in one form: problem details as RFC 9457 has them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from ninja.errors import HttpError, ValidationError

from winosmith.errors import InputError
from winosmith.web.pages import AGAIN
from winosmith.web.people.gates import TooMany
from winosmith.web.problems.checks import Refused
from winosmith.web.write.rules import Stale

TYPE = "application/problem+json"

MEANINGS: Mapping[int, Any] = {
    400: gettext_lazy("The request can’t be read."),
    401: gettext_lazy("A token is needed, and this is none that works."),
    403: gettext_lazy("The token, or its owner, may not do this."),
    404: gettext_lazy("There is nothing here that you can see."),
    405: gettext_lazy("This is not done here; see Allow for what is."),
    409: gettext_lazy("Something has changed meanwhile; look again."),
    410: gettext_lazy("People do this, in a browser; the answer says on which page."),
    422: gettext_lazy("A rule is broken; nothing was written."),
    429: gettext_lazy("Too many in an hour; see Retry-After."),
    500: gettext_lazy("The site failed; nothing was written."),
    503: gettext_lazy("The database is away; try again in a moment."),
}
"""What each status means, whatever was asked."""

_LOG = logging.getLogger("django.request")


class Denied(Exception):  # noqa: N818 - it tells of a decision, not of a fault
    """The token is none that works (401), or it, or its owner, may not do this (403)."""

    def __init__(self, status: int, detail: str, error: str = "", scope: str = ""):
        self.status, self.detail, self.error, self.scope = status, detail, error, scope
        super().__init__(detail)

    @property
    def challenge(self) -> str:
        """How to come in, as RFC 6750 section 3 has it."""
        said = {"error": self.error, "scope": self.scope}
        parts = [f'{name}="{value}"' for name, value in said.items() if value]
        return f"Bearer {', '.join(parts)}".strip()


class Malformed(InputError):  # noqa: N818
    """Parts of a request that contradict each other; `faults` has what to do, by part."""

    def __init__(self, faults: dict[str, list[str]]):
        self.faults = faults
        super().__init__(" ".join(text for texts in faults.values() for text in texts))


class Mismatch(InputError):  # noqa: N818
    """An Idempotency-Key that another request was sent with."""


def answer(
    status: int,
    detail: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> HttpResponse:
    """Return an error as problem details.

    Args:
        status: of HTTP.
        detail: what is wrong here, and what to do.
        errors: one for each field: `where`, and `detail` as above.
        headers: of the answer.
        more: what else the body says.
    """
    body = {
        "type": f"/api/#status-{status}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail or str(MEANINGS[status]),
        "errors": list(errors),
        **more,
    }
    return JsonResponse(body, status=status, content_type=TYPE, headers=dict(headers or {}))


def join(api: Any) -> None:
    """Let an API answer each error of the site's rules in this form."""
    for error, handler in _HANDLERS.items():
        api.add_exception_handler(error, handler)


def _denied(request: HttpRequest, error: Denied) -> HttpResponse:
    headers = {"WWW-Authenticate": error.challenge} if error.error or error.status == 401 else {}
    return answer(error.status, error.detail, headers=headers)


def _missing(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(404)


def _unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(400)


def _http(request: HttpRequest, error: Any) -> HttpResponse:
    return answer(error.status_code)


def _malformed(request: HttpRequest, error: Any) -> HttpResponse:
    """Tell of each part of a request that is not as the description says."""
    errors = [{"where": _where(one["loc"]), "detail": str(one["msg"])} for one in error.errors]
    said = ngettext(
        "%d part of the request is not as /api/openapi.json says.",
        "%d parts of the request are not as /api/openapi.json says.",
        len(errors),
    )
    return answer(422, said % len(errors), errors)


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
    return answer(422, _("This can’t be taken as it is; each error says what to do."), errors)


def _broken(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(422, str(error))


def _changed(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(409, str(error))


def _too_many(request: HttpRequest, error: Any) -> HttpResponse:
    return answer(429, str(error), headers={"Retry-After": str(error.seconds)})


def _away(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(503, headers={"Retry-After": str(AGAIN)})


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """Tell the log of a fault, as Django does for pages; the program learns that there is one."""
    got_request_exception.send(sender=None, request=request)
    _LOG.error("Internal Server Error: %s", request.path, exc_info=error)
    made = answer(500)
    made._has_been_logged = True
    return made


_HANDLERS: dict[type[Exception], Any] = {
    Exception: _failed,
    OperationalError: _away,
    InterfaceError: _away,
    SuspiciousOperation: _unreadable,
    Http404: _missing,
    HttpError: _http,
    ValidationError: _malformed,
    Denied: _denied,
    InputError: _broken,
    TooMany: _too_many,
    Malformed: _refused,
    Refused: _refused,
    Stale: _changed,
}
