"""Gates: decorators of views that let through only those who may."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from winosmith.web.people.consent import missing
from winosmith.web.people.models import Person
from winosmith.web.people.sessions import existing_writer

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_judge(person: Person | None) -> bool:
    """Tell whether somebody may judge: an account, and the role where the site asks for it."""
    if person is None or person.anonymous or not person.is_active or person.erased:
        return False
    return settings.RULES.open_judging or person.is_judge


def _has_account(person: Person) -> bool:
    return person.is_active and not person.anonymous


def accounts_only(view: View[P]) -> View[P]:
    """Let only people with an account through; others come to the log-in page first."""
    return _gate(view, _has_account)


def judges_only(view: View[P]) -> View[P]:
    """Let only those who may judge through."""
    return _gate(view, may_judge)


def moderators_only(view: View[P]) -> View[P]:
    """Let only moderators and admins through."""
    return _gate(view, lambda person: person.moderates)


def admins_only(view: View[P]) -> View[P]:
    """Let only admins through."""
    return _gate(view, lambda person: person.is_active and person.is_superuser)


def agreed(view: View[P]) -> View[P]:
    """Ask for consent before a contribution, and come back; a new version is asked again."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        person = existing_writer(request)
        if person is None and not settings.RULES.anonymous:
            return _go(request, "people:login")
        if missing(person):
            return _go(request, "people:consent")
        return view(request, *args, **kwargs)

    return gated


def _gate(view: View[P], may: Callable[[Person], bool]) -> View[P]:
    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _go(request, "people:login")
        if not may(request.user):
            return render(request, "403.html", status=403)
        return view(request, *args, **kwargs)

    return gated


def _go(request: HttpRequest, name: str) -> HttpResponse:
    """Send a browser to another page that leads back here, with or without htmx."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else _page_before(request)
    to = f"{reverse(name)}?{urlencode({'next': back})}"
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(status=204, headers={"HX-Redirect": to})
    return redirect(to)


def _page_before(request: HttpRequest) -> str:
    """Return the page of this site from which a form was sent; the start where it is unknown."""
    before = request.headers.get("Referer", "")
    return before if _is_ours(request, before) else reverse("read:home")


def _is_ours(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def safe_next(request: HttpRequest) -> str:
    """Return where a form leads afterwards: `next`, when it stays on this site, else the start."""
    to = request.POST.get("next") or request.GET.get("next") or ""
    # A word without a slash would be taken for the name of a page, and there may be none.
    return to if "/" in to and _is_ours(request, to) else reverse("read:home")
