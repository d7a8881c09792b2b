"""The page about oneself: what is known, what was agreed to, and how to leave."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth import logout as log_out
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.people import erasure
from winosmith.web.people.accounts import enter, open_doors
from winosmith.web.people.agree import missing
from winosmith.web.people.current import existing_writer
from winosmith.web.people.forms import EraseForm
from winosmith.web.people.gates import admins_only
from winosmith.web.people.mine import data_about
from winosmith.web.people.models import Person
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.problems.models import Problem
from winosmith.web.problems.once import new_key, once


@require_safe
def me(request: HttpRequest) -> HttpResponseBase:
    """Show what the site knows of whoever is there; others come to the log-in page."""
    person = existing_writer(request)
    if person is None:
        return redirect("people:login")
    context = {
        "person": person,
        "pseudonym": pseudonym(person),
        "agreements": person.agreements.select_related("document").order_by("-at"),
        "missing": missing(person),
        "written": Problem.objects.filter(twin__contributor=person, gold=False).count(),
        "doors": open_doors(person),
        "key": new_key(),
    }
    return render(request, "people/me.html", context)


@require_safe
def data(request: HttpRequest) -> HttpResponseBase:
    """Send everything that the site holds about whoever is there, as a file."""
    person = existing_writer(request)
    if person is None:
        return redirect("people:login")
    response = JsonResponse(data_about(person), json_dumps_params={"indent": 2})
    response.headers["Content-Disposition"] = 'attachment; filename="about-me.json"'
    return response


@require_POST
def hide(request: HttpRequest) -> HttpResponseBase:
    """Withdraw everything that whoever is there wrote."""
    person = existing_writer(request)
    if person is None:
        return redirect("people:login")
    key = request.POST.get("key", "")
    try:
        done, _new = once(person, key, request.path, lambda: {"twins": erasure.hide(person)})
    except InputError as error:
        messages.error(request, str(error))
        return redirect("people:me")
    count = done["twins"]
    told = ngettext("%d text is hidden now.", "%d texts are hidden now.", count) % count
    messages.success(request, told)
    return redirect("people:me")


@sensitive_post_parameters()
def erase(request: HttpRequest) -> HttpResponseBase:
    """Erase whoever is there; an account with its password."""
    person = existing_writer(request)
    if person is None:
        return redirect("people:login")
    form = EraseForm(request.POST or None, with_password=person.has_usable_password())
    if request.method == "POST" and form.is_valid():
        known = not person.has_usable_password() or enter(
            request, person.name, form.cleaned_data["password"]
        )
        if not known:
            form.add_error("password", _("This is not your password."))
        elif _is_erased(form, person):
            log_out(request)
            return render(request, "people/erased.html")
    return _ask(request, form, person, own=True)


@admins_only
@sensitive_post_parameters()
def erase_other(request: HttpRequest, number: int) -> HttpResponseBase:
    """Erase somebody who asked an admin for it; the admin's password stands for the deed."""
    person = Person.objects.filter(pk=number, erased=None).first()
    if person is None:
        raise Http404
    admin = cast(Person, request.user)
    form = EraseForm(request.POST or None, with_password=True)
    if request.method == "POST" and form.is_valid():
        if enter(request, admin.name, form.cleaned_data["password"]) is None:
            form.add_error("password", _("This is not your password."))
        elif person.pk == admin.pk:
            form.add_error(None, _("Erase yourself from the page about you."))
        elif _is_erased(form, person):
            messages.success(request, _("They are erased."))
            return redirect("people:invitations")
    return _ask(request, form, person, own=False)


def _is_erased(form: EraseForm, person: Person) -> bool:
    try:
        erasure.erase(person, form.cleaned_data["texts"])
    except InputError as error:
        form.add_error(None, str(error))
    return form.is_valid()


def _ask(request: HttpRequest, form: EraseForm, person: Person, *, own: bool) -> HttpResponse:
    context = {"form": form, "person": person, "own": own}
    return render(request, "people/erase.html", context, status=422 if form.errors else 200)
