"""Views of the API: its entry point, its description, and error responses.

The entry point ignores sessions, so that it returns only public data, and returns all errors in one
format. The operations are loaded with the first request, so that they cost nothing on sites without
API users.
"""

from __future__ import annotations

import logging

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import conditional_page, require_safe

from winosmith.web import pages


@csrf_exempt  # so that every other method is answered with status 405
@conditional_page
@cache_control(private=True, no_cache=True)
def handle_request(request: HttpRequest, rest: str) -> HttpResponse:
    from winosmith.web.api.app import resolver
    from winosmith.web.api.schemas import make_error_response

    method = request.method
    if method not in ("GET", "HEAD"):
        return make_error_response(405, headers={"Allow": "GET, HEAD"})
    try:
        found = resolver.resolve(rest)
    except Resolver404:
        return make_error_response(404)
    request.method = "GET"  # django-ninja does not answer HEAD
    answer: HttpResponse = found.func(request, *found.args, **found.kwargs)
    request.method = method
    return answer


def handle_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
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
    page = HttpResponse(render_to_string("400.html", {"wrong": wrong}), status=400)
    return _convert_error_page(request, page, wrong)


_wrong_hosts: set[str] = set()
"""Invalid hosts that this process has logged: at most 20, because clients can send any number."""


def handle_error(request: HttpRequest) -> HttpResponse:
    """Return status 500 or 503: as JSON for the API, otherwise as a page."""
    return _convert_error_page(request, pages.handle_error(request))


def _convert_error_page(request: HttpRequest, page: HttpResponse, detail: str = "") -> HttpResponse:
    if not request.path.startswith("/api/v1/"):
        return page
    from winosmith.web.api.schemas import make_error_response

    headers = {name: value for name, value in page.items() if name == "Retry-After"}
    return make_error_response(page.status_code, detail, headers=headers)


@require_safe
def show_operations(request: HttpRequest) -> HttpResponse:
    from winosmith.web.api.app import api

    return api.docs.render_page(request, api)


@require_safe
@conditional_page
@cache_control(private=True, no_cache=True)
def send_description(request: HttpRequest) -> HttpResponse:
    from winosmith.web.api.app import build_api_description

    url = request.build_absolute_uri("/").rstrip("/")
    return JsonResponse({**build_api_description(), "servers": [{"url": url}]})
