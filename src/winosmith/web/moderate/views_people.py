"""The pages of the people: what they did, who judges, who is paused."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web.moderate import crowd, roles
from winosmith.web.moderate.contributors import person_of
from winosmith.web.moderate.models import Appointment
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.models import Person
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.problems.once import new_key, once

__all__ = ["appoint", "people", "person"]

GO_ON = "go-on"
"""What the form sends that goes on with a change of many votes."""


@require_GET
@moderators_only
def people(request: HttpRequest) -> HttpResponse:
    """Show people, the newest first; an admin finds an account by its name, too."""
    text = request.GET.get("who", "").strip()
    shown = crowd.page(only=request.GET.get("only", ""), before=request.GET.get("before", ""))
    if text:
        found = person_of(text)
        if found is None and request.user.is_superuser:
            found = Person.objects.filter(name=text).first()
        if found is not None:
            return redirect("moderate:person", name=pseudonym(found))
    context = {
        "page": shown,
        "text": text,
        "only": request.GET.get("only", ""),
        "kinds": crowd.ONLY.items(),
    }
    return render(request, "moderate/people.html", context)


@require_GET
@moderators_only
def person(request: HttpRequest, name: str) -> HttpResponse:
    """Show what somebody did on the site, and what the reader can change about them."""
    return _person(request, _found(name))


@require_POST
@moderators_only
def appoint(request: HttpRequest, name: str) -> HttpResponse:
    """Change what somebody may do, once."""
    other, kind = _found(name), request.POST.get("kind", "")

    def act() -> dict[str, int]:
        made = roles.appoint(request.user, other, kind, request.POST.get("reason", ""))
        return {"appointment": made.pk}

    try:
        if kind == GO_ON:
            return _gone_on(request, other)
        result, _new = once(
            request.user, request.POST.get("key", ""), f"{request.path} {kind}", act
        )
        made = Appointment.objects.select_related("person", "actor").get(pk=result["appointment"])
        roles.carry_out(made)
    except InputError as error:
        return _person(request, other, error, request.POST.get("reason", ""), kind)
    return redirect("moderate:person", name=name)


def _gone_on(request: HttpRequest, other: Person) -> HttpResponse:
    """Go on with what a moderator decided about many votes; any other one may, too."""
    waiting = roles.unfinished(other)
    if waiting is not None and roles.may_appoint(request.user, other):
        roles.carry_out(waiting[0])
    return redirect("moderate:person", name=pseudonym(other))


def _found(name: str) -> Person:
    found = person_of(name)
    if found is None:
        raise Http404
    return found


def _person(
    request: HttpRequest,
    other: Person,
    error: InputError | None = None,
    reason: str = "",
    kind: str = "",
) -> HttpResponse:
    context = {
        "one": crowd.member(other),
        "other": other,
        "named": other.name if request.user.is_superuser and not other.anonymous else "",
        "erasable": request.user.is_superuser and not other.erased,
        "own": other.pk == request.user.pk,
        "unfinished": roles.unfinished(other) if roles.may_appoint(request.user, other) else None,
        "possible": [(k.value, _label(k)) for k in roles.possible(request.user, other)],
        "appointments": other.appointments.select_related("actor").order_by("-pk"),
        "problems": f"{reverse('moderate:queue')}?state=&by={pseudonym(other)}",
        "error": error,
        "reason": reason,
        "kind": kind,
        "key": new_key(),
    }
    return render(request, "moderate/person.html", context, status=422 if error else 200)


def _label(kind: Appointment.Kind) -> str:
    """Return what the button of a change says."""
    return {
        "judge": _("Make a judge"),
        "no-judge": _("Take the role of a judge"),
        "moderator": _("Make a moderator"),
        "no-moderator": _("Take the role of a moderator"),
        "exclude": _("Take their votes out of the count"),
        "include": _("Count their votes again"),
        "pause": _("Pause as a judge"),
        "resume": _("Let judge again"),
    }[kind.value]
