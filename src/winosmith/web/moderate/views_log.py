"""The pages of the audit log."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from winosmith.web.moderate.actions import ACTIONS, UNDO
from winosmith.web.moderate.log import Asked, lines, logged, what_is_done
from winosmith.web.moderate.models import Appointment
from winosmith.web.moderate.rows import entry
from winosmith.web.people.gates import moderators_only

__all__ = ["download", "log"]

SIZE = 50
"""Entries on a page."""

KINDS = ("submit", "verdict", "recount", "appeal", "revise", *ACTIONS, UNDO)
"""What the filter offers; another kind can be typed into the address."""


@require_GET
@moderators_only
def log(request: HttpRequest) -> HttpResponse:
    """Show what was done, the newest first."""
    asked = Asked.read(request.GET)
    query, before = logged(asked), request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) <= 18:
        query = query.filter(pk__lt=int(before))
    events = list(query[: SIZE + 1])
    kept = request.GET.copy()
    kept.pop("before", None)
    older = kept.copy()
    if len(events) > SIZE:
        older["before"] = events[SIZE - 1].pk
    return render(
        request,
        "moderate/log.html",
        {
            "asked": asked,
            "kinds": [(kind, what_is_done(kind)) for kind in KINDS],
            "entries": [entry(event) for event in events[:SIZE]],
            "older": older.urlencode() if len(events) > SIZE else "",
            "newest": kept.urlencode() if before else None,
            "query": kept.urlencode(),
            "appointments": Appointment.objects.select_related("person", "actor").order_by("-pk")[
                :20
            ],
        },
    )


@require_GET
@moderators_only
def download(request: HttpRequest) -> StreamingHttpResponse:
    """Stream what was done as CSV."""
    response = StreamingHttpResponse(
        lines(Asked.read(request.GET)), content_type="text/csv; charset=utf-8"
    )
    response.headers["Content-Disposition"] = 'attachment; filename="audit-log.csv"'
    return response
