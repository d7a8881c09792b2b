"""The report and the files of a round; and what it left out of one's own."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.views.decorators.http import require_safe

from winosmith.web.people.current import existing_writer
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.limits import spend_reading
from winosmith.web.rounds.flags import flagged, newest, told
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.reports import FILES, POLICY, build_report, lines, report
from winosmith.web.rounds.views import seen_by

__all__ = ["build_page", "file", "mine", "page"]

SIZE = 20
"""Flags on a page."""

MOST = 240
"""Files and reports an hour for one network or account, those of downloads among them."""


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show the report of a round, under a policy of its own."""
    round_ = _done(request, name)
    spend_reading(request, "download", MOST)
    return _apart(HttpResponse(report(round_)))


@require_safe
@moderators_only
def build_page(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show moderators the report of the round's build, as it was written then."""
    path = build_report(_done(request, name))
    if path is None:
        raise Http404
    return _apart(FileResponse(path.open("rb"), content_type="text/html; charset=utf-8"))


@require_safe
def file(request: HttpRequest, name: str, which: str) -> HttpResponseBase:
    """Send what the round kept, or what it left out with the reasons, of what is public now."""
    round_ = _done(request, name)
    if which not in FILES:
        raise Http404
    spend_reading(request, "download", MOST)
    parts = () if request.method == "HEAD" else lines(round_, kept=FILES[which])
    response = StreamingHttpResponse(parts, content_type="application/x-ndjson")
    response.headers["Content-Disposition"] = f'attachment; filename="{round_.name}-{which}"'
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """Show what the round that was published last left out of what one wrote, and why."""
    person, round_ = existing_writer(request), newest()
    rows = flagged(person, round_) if person and round_ else ()
    shown = Paginator(rows, SIZE).get_page(request.GET.get("page"))
    context = {
        "round": round_,
        "flags": [told(place, place.problem) for place in shown.object_list],
        "count": shown.paginator.count,
        "page": {
            "newer": f"page={shown.number - 1}" if shown.has_previous() else "",
            "older": f"page={shown.number + 1}" if shown.has_next() else "",
        },
    }
    return render(request, "rounds/mine.html", context)


def _done(request: HttpRequest, name: str) -> Round:
    round_ = seen_by(request, name)
    if round_.state != Round.State.DONE:
        raise Http404
    return round_


def _apart(response: HttpResponseBase) -> HttpResponseBase:
    """Let a report have its own styles, and nothing of this site."""
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Robots-Tag"] = "noindex"
    return response
