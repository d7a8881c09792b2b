"""Views of the API: its entry point, its description, and the page of a person's tokens.

The entry point accepts tokens but no cookies, and returns all errors in one format. The operations
are loaded with the first request, so that they cost nothing on sites without API users.
"""

from __future__ import annotations

import logging
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import Resolver404
from django.utils import cache
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.api import models as rules
from winosmith.web.pages import is_number
from winosmith.web.people.gates import accounts_only, process_form


@csrf_exempt  # the Authorization header, which other sites can't send, identifies the caller
def handle_request(request: HttpRequest, rest: str) -> HttpResponse:
    from winosmith.web.api.app import resolver
    from winosmith.web.api.door import make_error_response as refuse

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
    return _make_conditional(request, answer)


def handle_bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return status 400 for a malformed request: as JSON for the API, otherwise as a page.

    Examples: a URL with NUL, a wrong Host header, a form with too many fields.
    """
    wrong = ""
    if isinstance(exception, DisallowedHost):
        host = ascii(request.headers.get("Host", "")[:100])
        if host not in _wrong_hosts and len(_wrong_hosts) < 20:
            _wrong_hosts.add(host)
            logging.getLogger(__name__).warning(
                "refused the Host header %s: set the site's URL with `winosmith serve "
                "--public-url`",
                host,
            )
        wrong = _(
            "This site does not answer requests for the host in this request's Host header. If you "
            "run the site, set its host with `winosmith serve --public-url`; the log shows this "
            "host."
        )
    if not request.path.startswith("/api/v1/"):
        return HttpResponse(render_to_string("400.html", {"wrong": wrong}), status=400)
    from winosmith.web.api.door import make_error_response as refuse

    return refuse(400, wrong)


_wrong_hosts: set[str] = set()
"""Invalid hosts that this process has logged: at most 20, because clients can send any number."""


def _make_conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Answer conditional requests for public responses; return other responses unchanged."""
    is_read = request.method in ("GET", "HEAD") and response.status_code == 200
    if not is_read or "Authorization" in request.headers:
        return response
    cache.patch_cache_control(response, private=True, no_cache=True)
    cache.set_response_etag(response)
    etag = response.headers["ETag"]
    return cast(HttpResponse, cache.get_conditional_response(request, etag=etag, response=response))


@require_safe
def show_operations(request: HttpRequest) -> HttpResponse:
    from winosmith.web.api.app import api

    return api.docs.render_page(request, api)


@require_safe
def send_description(request: HttpRequest) -> HttpResponse:
    from winosmith.web.api.app import build_api_description

    url = request.build_absolute_uri("/").rstrip("/")
    description = {**build_api_description(), "servers": [{"url": url}]}
    return _make_conditional(request, JsonResponse(description))


@require_http_methods(["GET", "HEAD", "POST"])
@accounts_only
def show_tokens(request: HttpRequest) -> HttpResponseBase:
    person = request.user
    if request.method != "POST":
        return _render_tokens(request)
    created: list[str] = []
    name, typed = request.POST.get("name", ""), request.POST.get("days", "")
    days = int(typed) if is_number(typed, 5) else 0  # `create_token` rejects 0 days

    def create() -> dict[str, Any]:
        token, text = rules.create_token(person, name, days)
        created.append(text)  # the text is never stored, not even with the form's key
        return {"token": token.pk}

    try:
        process_form(request, person, create)
    except InputError as error:
        return _render_tokens(request, error=str(error))
    if not created:
        text = _(
            "This token was already created, and a token is shown only once. If you have lost it, "
            "create another token."
        )
        messages.info(request, text)
        return redirect("tokens:mine")
    return _render_tokens(request, text=created[0])


@require_POST
@accounts_only
def revoke_one_token(request: HttpRequest, number: int) -> HttpResponseBase:
    person = request.user
    rules.revoke_token(person, get_object_or_404(person.tokens, pk=number).pk)
    messages.success(request, _("This token no longer works."))
    return redirect("tokens:mine")


@require_POST
@accounts_only
def revoke_every_token(request: HttpRequest) -> HttpResponseBase:
    count = rules.revoke_all_tokens(request.user)
    text = ngettext("%d token no longer works.", "%d tokens no longer work.", count)
    messages.success(request, text % count)
    return redirect("tokens:mine")


def _render_tokens(request: HttpRequest, *, text: str = "", error: str = "") -> HttpResponse:
    typed = request.POST if error else {"days": rules.DAYS}
    context = {
        "tokens": rules.list_tokens(request.user),
        "text": text,
        "error": error,
        "name": typed.get("name", ""),
        "days": typed.get("days", ""),
        "longest": rules.MAX_DAYS,
    }
    return render(request, "api/tokens.html", context, status=422 if error else 200)
