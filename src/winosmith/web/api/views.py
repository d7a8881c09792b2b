"""The page about the API, and its description for programs."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_cache_control, set_response_etag
from django.views.decorators.http import require_safe

__all__ = ["description", "index"]


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show how the API is used, and every operation with what it takes and gives."""
    from winosmith.web.api.reference import reference
    from winosmith.web.api.v1.faults import MEANINGS

    context = {
        **reference(),
        "meanings": MEANINGS.items(),
        "address": request.build_absolute_uri("/api/v1"),
    }
    return render(request, "api/index.html", context)


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """Send the description of the API, OpenAPI 3.1; the same as long as the site is."""
    from winosmith.web.api.v1.document import document

    told = {**document(), "servers": [{"url": request.build_absolute_uri("/").rstrip("/")}]}
    answer = HttpResponse(json.dumps(told), content_type="application/json")
    patch_cache_control(answer, private=True, no_cache=True)
    set_response_etag(answer)
    kept: HttpResponse = get_conditional_response(
        request, etag=answer.headers["ETag"], response=answer
    )
    return kept
