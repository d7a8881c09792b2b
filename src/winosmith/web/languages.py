"""In which language the pages speak to somebody: what the browser asks for, or what they chose.

`LocaleMiddleware` reads it: the cookie that is set here, then the browser's Accept-Language, then
English. The choice is the browser's, not the account's: it holds before anybody logs in, and no
table knows it.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

LONGEST = 1000
"""Characters of an address that somebody is led back to; a longer one leads to the first page."""


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """Offer the languages, or take a choice and lead back to where it was made.

    An empty choice takes the former one back: the browser's own wish counts again.
    """
    if request.method != "POST":
        return _page(request, request.GET.get("next", ""))
    wanted = request.POST.get("language")
    if wanted != "" and wanted not in dict(settings.LANGUAGES):
        return _page(
            request, request.POST.get("next", ""), _("Choose one of these languages."), 422
        )
    answer = HttpResponseRedirect(_way_back(request, request.POST.get("next", "")))
    if wanted:
        answer.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            wanted,
            max_age=settings.LANGUAGE_COOKIE_AGE,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite=settings.LANGUAGE_COOKIE_SAMESITE,
        )
    else:
        answer.delete_cookie(
            settings.LANGUAGE_COOKIE_NAME, samesite=settings.LANGUAGE_COOKIE_SAMESITE
        )
    return answer


def _page(request: HttpRequest, back: str, error: str = "", status: int = 200) -> HttpResponse:
    context = {
        "languages": settings.LANGUAGES,
        "chosen": request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "back": _way_back(request, back),
        "error": error,
    }
    return render(request, "language.html", context, status=status)


def _way_back(request: HttpRequest, asked: str) -> str:
    """Return an address of this site: the one asked for, or the first page's."""
    here = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if here and len(asked) <= LONGEST else resolve_url("read:home")
