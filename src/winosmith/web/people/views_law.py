"""The pages of the law: what people agree to, and that they do."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from winosmith.errors import InputError
from winosmith.web.people.agree import agree, current_documents, missing
from winosmith.web.people.current import existing_writer, writer
from winosmith.web.people.gates import safe_next
from winosmith.web.people.limits import spend
from winosmith.web.people.models import Document

CONSENTS = 240
"""People without an account who may begin within an hour from one network."""


def consent(request: HttpRequest) -> HttpResponseBase:
    """Show the texts that somebody has yet to agree to; note that they do."""
    person = existing_writer(request)
    to = safe_next(request)
    if person is None and not settings.RULES.anonymous:
        return redirect("people:login")
    needed = missing(person)
    if not needed:
        return redirect(to)
    error = ""
    if request.method == "POST":
        error = _agreed(request)
        if not error:
            messages.success(request, _("Thank you. You can begin."))
            return redirect(to)
    context = {"documents": needed, "next": to, "error": error, "again": _asked_again(request)}
    return render(request, "people/consent.html", context, status=422 if error else 200)


def _agreed(request: HttpRequest) -> str:
    """Note that somebody agrees; return what is wrong with the form, or ""."""
    if not request.POST.get("agree"):
        return _("Tick the box if you agree; without it you can read, but not write.")
    keys = request.POST.getlist("shown")
    shown = {int(key) for key in keys if key.isdecimal() and len(key) <= 9}
    try:
        if existing_writer(request) is None:
            spend(request, "consent", CONSENTS)
        agree(writer(request), shown)
    except InputError as error:
        return str(error)
    return ""


def _asked_again(request: HttpRequest) -> bool:
    person = existing_writer(request)
    return person is not None and person.agreements.exists()


@require_safe
def texts(request: HttpRequest) -> HttpResponse:
    """Show the texts that hold now, and link the versions before them."""
    older = Document.objects.order_by("kind", "-version").defer("text")
    current = current_documents()
    context = {
        "documents": current,
        "older": [row for row in older if row.pk not in {now.pk for now in current}],
    }
    return render(request, "people/texts.html", context)


@require_safe
def text(request: HttpRequest, kind: str, version: int) -> HttpResponse:
    """Show one version of a text."""
    document = Document.objects.filter(kind=kind, version=version).first()
    if document is None:
        raise Http404
    return render(request, "people/text.html", {"document": document})
