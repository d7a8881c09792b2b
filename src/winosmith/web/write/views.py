"""The pages on which twins are written."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import time_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from winosmith.errors import InputError
from winosmith.web.people.consent import has_agreed
from winosmith.web.people.gates import (
    TooMany,
    agreed,
    existing_writer,
    new_key,
    once,
    rate_limit,
    writer,
)
from winosmith.web.people.models import Person
from winosmith.web.problems.checks import Refused
from winosmith.web.write import drafts, rules
from winosmith.web.write.checking import Typed
from winosmith.web.write.drafts import Stale
from winosmith.web.write.mine import counts
from winosmith.web.write.models import Draft
from winosmith.web.write.page import checked, page

STARTS = 5
"""Topics that may be drawn for each twin that may be written."""


@require_http_methods(["GET", "HEAD", "POST"])
@agreed
def start(request: HttpRequest) -> HttpResponse:
    """Show how to write a twin, and one's drafts; or draw a topic and open a draft on it."""
    error = ""
    if request.method == "POST":
        try:
            return redirect(_begun(request))
        except InputError as refused:
            error = str(refused)
    person = existing_writer(request)
    shown = [(one, Typed.of(one.typed)) for one in drafts.drafts_of(person)]
    context = {"drafts": shown, "counts": counts(person), "error": error, "key": new_key()}
    return render(request, "write/start.html", context, status=422 if error else 200)


def _begun(request: HttpRequest) -> str:
    """Open a draft on a new topic, once for a form; return where it is written.

    Sent again, the form leads to the same draft: to the twin that came of it, or back to the start
    where it was discarded.

    Raises:
        InputError: the form has no key, the site has no topics, or the person too many drafts.
    """
    person, topic = writer(request), drafts.draw()

    def act() -> dict[str, str]:
        rate_limit(request, "topic", STARTS * settings.RULES.writes_per_hour)
        return {"draft": drafts.start(person, topic).ref}

    result, new = once(person, request.POST.get("key", ""), request.path, act)
    ref = str(result["draft"])
    there = new or drafts.draft_of(person, ref) is not None or rules.sent(person, ref)
    return reverse("write:draft", args=[ref]) if there else reverse("write:start")


@require_http_methods(["GET", "HEAD", "POST"])
def draft(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a draft to whoever writes it, and do what its buttons say."""
    person = existing_writer(request)
    found = drafts.draft_of(person, ref)
    if found is None or person is None:
        return _sent_already(request, person, ref)
    if request.method != "POST":
        return _shown(request, page(found, Typed.of(found.typed), person))
    typed, do = Typed.of(request.POST), request.POST.get("do", "check")
    if do == "copy":
        typed = _copied(typed)
    try:
        drafts.stop_if_long(typed)
        _stop_if_stale(request, found, typed)
        if do == "submit":
            return _submit(request, person, found, typed)
        saved = drafts.save(found, typed, _version(request))
        if do in ("topic", "words"):
            drafts.redraw(saved, "topic" if do == "topic" else "words")
    except Stale as stale:
        return _shown(request, page(found, typed, person, stored=stale.draft), 409)
    except Refused as refused:
        kept = drafts.save(found, typed, _version(request))
        return _shown(request, page(kept, typed, person, faults=refused.faults), 422)
    except TooMany:
        drafts.save(found, typed, _version(request))
        raise
    except InputError as refused:
        return _shown(request, page(found, typed, person, error=str(refused)), 422)
    place = "topic" if do in ("topic", "words") else "checks"
    return redirect(f"{reverse('write:draft', args=[ref])}#{place}")


@require_POST
def check(request: HttpRequest, ref: str) -> HttpResponse:
    """Return the checklist for what the form holds, as a part of the page; nothing is written.

    A check that was on its way when the twin was sent changes nothing on the page (204).
    """
    person = existing_writer(request)
    found = drafts.draft_of(person, ref)
    if person is None or found is None:
        if rules.sent(person, ref):
            return HttpResponse(status=204)
        raise Http404
    return render(request, "write/checks.html", checked(found, Typed.of(request.POST), person))


@require_POST
def save(request: HttpRequest, ref: str) -> HttpResponse:
    """Save what a window holds; tell the version, or what another window saved meanwhile."""
    person = existing_writer(request)
    found = drafts.draft_of(person, ref)
    if found is None:
        twin = rules.sent(person, ref)
        where = reverse("write:twin", args=[twin]) if twin else reverse("write:start")
        return JsonResponse({"sent": bool(twin), "where": where}, status=410)
    typed = Typed.of(request.POST)
    try:
        saved = drafts.save(found, typed, _version(request))
    except Stale as stale:
        other = Typed.of(stale.draft.typed)
        context = {"draft": found, "stored": stale.draft, "stored_typed": other, "typed": typed}
        return render(request, "write/conflict.html", context, status=409)
    except InputError as refused:
        return JsonResponse({"reason": str(refused)}, status=422)
    at = time_format(timezone.localtime(saved.saved), "H:i")
    return JsonResponse({"version": saved.version, "said": _("Saved at %s.") % at})


@require_POST
def discard(request: HttpRequest, ref: str) -> HttpResponse:
    """Throw a draft away; again, it does nothing."""
    found = drafts.draft_of(existing_writer(request), ref)
    if found is not None:
        drafts.discard(found)
        messages.info(request, _("The draft on “%s” is gone.") % found.topic)
    return redirect("write:start")


def _submit(request: HttpRequest, person: Person, found: Draft, typed: Typed) -> HttpResponse:
    if not has_agreed(person):
        drafts.save(found, typed, _version(request))
        return redirect(f"{reverse('people:consent')}?{urlencode({'next': request.path})}")
    twin = rules.submit(
        person,
        typed,
        found.ref,
        topic=found.topic,
        anchors=found.anchors,
        revises=found.revises,
        before=lambda: rate_limit(request, "write", settings.RULES.writes_per_hour),
    )
    messages.success(request, _("Thank you: the twin is sent. Here you see what becomes of it."))
    return redirect("write:twin", twin.ref)


def _sent_already(request: HttpRequest, person: Person | None, ref: str) -> HttpResponse:
    """Lead from a draft that was sent to the twin that came of it."""
    twin = rules.sent(person, ref)
    if not twin:
        raise Http404
    messages.info(request, _("This twin was sent already; nothing was sent twice."))
    return redirect("write:twin", twin)


def _stop_if_stale(request: HttpRequest, found: Draft, typed: Typed) -> None:
    if found.version != _version(request) and Typed.of(found.typed) != typed:
        raise Stale(found)


def _version(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _copied(typed: Typed) -> Typed:
    """Return the second half as a copy of the first, to be changed."""
    first, _second = typed.sentences
    return Typed(typed.domain, typed.options, (first, first), typed.answers)


def _shown(request: HttpRequest, context: dict[str, object], status: int = 200) -> HttpResponse:
    return render(request, "write/draft.html", context, status=status)
