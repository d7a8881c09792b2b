"""The door of the API: it takes tokens, never cookies, and answers whatever happens in one form.

What is behind it is loaded with the first request: a site whose API nobody uses pays nothing.
"""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404
from django.utils.cache import (
    get_conditional_response,
    patch_cache_control,
    patch_vary_headers,
    set_response_etag,
)
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

_GONE = {
    re.compile(r"judging(/.*)?"): "/judge/",
    re.compile(r"moderation(/.*)?"): "/moderate/",
    re.compile(r"models/[^/]+/again"): "/models/",
}
"""Addresses that had operations once, and the page on which people alone do the same."""


@csrf_exempt  # who somebody is comes from the Authorization header, which no other site can send
def door(request: HttpRequest, rest: str) -> HttpResponse:
    """Answer a request of a program; HEAD as GET, without the body."""
    from winosmith.web.api.v1 import faults
    from winosmith.web.api.v1.app import resolver

    head = request.method == "HEAD"
    if head:
        request.method = "GET"
    try:
        found = resolver.resolve(rest)
    except Resolver404:
        for was, page in _GONE.items():
            if was.fullmatch(rest):
                return faults.answer(410, _("People do this, in a browser: %s") % page)
        return faults.answer(404)
    answer: HttpResponse = found.func(request, *found.args, **found.kwargs)
    if head:
        request.method = "HEAD"
    if answer.status_code == 405 and "problem" not in answer.headers["Content-Type"]:
        allowed = answer.headers["Allow"]
        answer = faults.answer(405, headers={"Allow": allowed})
    patch_vary_headers(answer, ("Authorization",))
    return _kept(request, answer)


def _kept(request: HttpRequest, answer: HttpResponse) -> Any:
    """Let a program ask whether what everyone may see has changed; the rest is kept nowhere."""
    read = request.method in ("GET", "HEAD") and answer.status_code == 200
    if not read or "Authorization" in request.headers:
        return answer
    patch_cache_control(answer, private=True, no_cache=True)
    set_response_etag(answer)
    return get_conditional_response(request, etag=answer.headers["ETag"], response=answer)
