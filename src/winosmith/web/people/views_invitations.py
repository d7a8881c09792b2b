"""The page of invitations: links for new people, and for those who lost their password."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from winosmith.errors import InputError
from winosmith.web.people import invitations as rules
from winosmith.web.people.forms import InviteForm
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.models import Invitation, Person

DAY = 24 * 60


@moderators_only
def invitations(request: HttpRequest) -> HttpResponseBase:
    """Show the links that work, and make a new one, whose address is shown this once."""
    by = cast(Person, request.user)
    roles = [role for role in InviteForm.every_role() if rules.may_invite(by, role)]
    form = InviteForm(roles, request.POST or None)
    link = ""
    if request.method == "POST" and form.is_valid():
        try:
            link = request.build_absolute_uri(_made(by, form))
        except InputError as error:
            form.add_error("name" if form.cleaned_data.get("name") else None, str(error))
    return _shown(request, by, InviteForm(roles) if link else form, link)


def _made(by: Person, form: InviteForm) -> str:
    """Return the path of the link that the form asks for."""
    typed = form.cleaned_data
    if name := typed.get("name"):
        try:
            person = Person.objects.get_by_natural_key(name)
        except Person.DoesNotExist:
            raise InputError(_("There is no account with this name.")) from None
        return rules.reset(person, typed["days"] * DAY, by=by)
    return rules.invite([typed["role"]], typed["days"] * DAY, by=by)


def _shown(request: HttpRequest, by: Person, form: InviteForm, link: str) -> HttpResponse:
    rows = Invitation.objects.filter(used=None, expires__gt=timezone.now())
    if not by.is_superuser:
        rows = rows.filter(made_by=by)
    context = {
        "form": form,
        "link": link,
        "rows": rows.select_related("made_by", "person").order_by("-created")[:200],
    }
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "people/invitations.html", context, status=status)


@moderators_only
@require_POST
def take_back(request: HttpRequest, number: int) -> HttpResponse:
    """Let a link work no more: one's own, or as an admin any."""
    by = cast(Person, request.user)
    rows = Invitation.objects.all() if by.is_superuser else Invitation.objects.filter(made_by=by)
    invitation = rows.filter(pk=number).first()
    if invitation is None:
        raise Http404
    rules.take_back(invitation)
    messages.success(request, _("This link works no more."))
    return redirect("people:invitations")
