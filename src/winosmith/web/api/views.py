"""The door of the API, the page about it, its description for programs, and one's tokens.

The door takes tokens, never cookies, and answers whatever happens in one form. What is behind it is
loaded with the first request: a site whose API nobody uses pays nothing.
"""

from __future__ import annotations

import json
import logging
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import Resolver404
from django.utils import cache
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.api import models as rules
from winosmith.web.pages import is_number
from winosmith.web.people.gates import accounts_only, form_once
from winosmith.web.people.models import Person


@csrf_exempt  # who somebody is comes from the Authorization header, which no other site can send
def door(request: HttpRequest, rest: str) -> HttpResponse:
    """Answer a request of a program; HEAD as GET, without the body."""
    from winosmith.web.api.app import resolver
    from winosmith.web.api.door import answer as refuse

    head = request.method == "HEAD"
    if head:
        request.method = "GET"
    try:
        found = resolver.resolve(rest)
    except Resolver404:
        return refuse(404)
    answer: HttpResponse = found.func(request, *found.args, **found.kwargs)
    if head:
        request.method = "HEAD"
    if answer.status_code == 405 and "problem" not in answer.headers["Content-Type"]:
        allowed = answer.headers["Allow"]
        answer = refuse(405, headers={"Allow": allowed})
    cache.patch_vary_headers(answer, ("Authorization",))
    return _kept(request, answer)


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer what no area gets to see, with 400: a program as the API does, anybody else by a page.

    An address with NUL, a host that is not the site's, a form with too many fields.
    """
    wrong = _wrong_host(request) if isinstance(exception, DisallowedHost) else ""
    if not request.path.startswith("/api/v1/"):
        return HttpResponse(render_to_string("400.html", {"wrong": wrong}), status=400)
    from winosmith.web.api.door import answer as refuse

    return refuse(400, wrong)


def _wrong_host(request: HttpRequest) -> str:
    """Return what is wrong with a request for another host; the first hosts are logged."""
    host = ascii(request.headers.get("Host", "")[:100])
    if host not in _wrong_hosts and len(_wrong_hosts) < 20:
        _wrong_hosts.add(host)
        logging.getLogger(__name__).warning(
            "refused the Host header %s: `winosmith serve --public-url` names the site's host", host
        )
    return _(
        "The Host header of this request names a host that this site does not answer to. If you "
        "run the site, name its host by `winosmith serve --public-url`; the log shows this one."
    )


_wrong_hosts: set[str] = set()
"""Incorrect hosts that this process has logged: 20 at most, for anybody can send any number."""


def _kept(request: HttpRequest, answer: HttpResponse) -> Any:
    """Let a program ask whether what everyone may see has changed; the rest is kept nowhere."""
    read = request.method in ("GET", "HEAD") and answer.status_code == 200
    if not read or "Authorization" in request.headers:
        return answer
    cache.patch_cache_control(answer, private=True, no_cache=True)
    cache.set_response_etag(answer)
    return cache.get_conditional_response(request, etag=answer.headers["ETag"], response=answer)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show every operation on ninja's page, whose files this site serves itself."""
    from winosmith.web.api.app import api

    return api.docs.render_page(request, api)


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """Send the description of the API, OpenAPI 3.1; the same as long as the site is."""
    from winosmith.web.api.app import document

    told = {**document(), "servers": [{"url": request.build_absolute_uri("/").rstrip("/")}]}
    answer = HttpResponse(json.dumps(told), content_type="application/json")
    cache.patch_cache_control(answer, private=True, no_cache=True)
    cache.set_response_etag(answer)
    kept: HttpResponse = cache.get_conditional_response(
        request, etag=answer.headers["ETag"], response=answer
    )
    return kept


@require_http_methods(["GET", "HEAD", "POST"])
@accounts_only
def tokens(request: HttpRequest) -> HttpResponseBase:
    """Show one's tokens, and make a new one, whose text is shown this once."""
    person = cast(Person, request.user)
    if request.method != "POST":
        return _shown(request, person)
    made: list[str] = []
    days = request.POST.get("days", "")

    def act() -> dict[str, Any]:
        # No token works for 0 days: the form is refused.
        token, text = rules.make(
            person, request.POST.get("name", ""), int(days) if is_number(days, 5) else 0
        )
        made.append(text)  # of the text itself nothing is kept, not even with the form's key
        return {"token": token.pk}

    try:
        form_once(request, person, act)
    except InputError as error:
        return _shown(request, person, error=str(error), typed=request.POST, status=422)
    if not made:
        messages.info(
            request,
            _(
                "This token was already made, and is shown only once. If you "
                "have lost it, make another one."
            ),
        )
        return redirect("tokens:mine")
    return _shown(request, person, text=made[0])


@require_POST
@accounts_only
def revoke(request: HttpRequest, number: int) -> HttpResponseBase:
    """Let one of one's tokens work no more; again, it does nothing."""
    person = cast(Person, request.user)
    if not person.tokens.filter(pk=number).exists():
        raise Http404
    rules.revoke(person, number)
    messages.success(request, _("This token no longer works."))
    return redirect("tokens:mine")


@require_POST
@accounts_only
def revoke_all(request: HttpRequest) -> HttpResponseBase:
    """Let none of one's tokens work any more."""
    count = rules.revoke_all(cast(Person, request.user))
    said = ngettext("%d token no longer works.", "%d tokens no longer work.", count)
    messages.success(request, said % count)
    return redirect("tokens:mine")


def _shown(
    request: HttpRequest,
    person: Person,
    *,
    text: str = "",
    error: str = "",
    typed: Any = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "tokens": rules.tokens_of(person),
        "text": text,
        "error": error,
        "name": typed.get("name", "") if typed else "",
        "days": typed.get("days", "") if typed else rules.DAYS,
        "longest": rules.LONGEST,
    }
    return render(request, "api/tokens.html", context, status=status)
