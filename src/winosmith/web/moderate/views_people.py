"""The pages of the people: what they did, who judges, whose votes wait."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web.judge.trust import CAREFUL, GOLD, mistaken, suspect
from winosmith.web.moderate import matrix
from winosmith.web.moderate import people as members
from winosmith.web.moderate.models import Appointment
from winosmith.web.moderate.people import person_of
from winosmith.web.pages import percent
from winosmith.web.people.gates import moderators_only, new_key, once
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.problems.models import Problem

GO_ON = "go-on"
"""What the form sends that goes on with a change of many votes."""

TOGETHER = "-together"
"""How a change ends that is about all who are held together."""

MOST = 50
"""Problems that the page of a person lists at most."""

SHOWN = 20
"""Pairs of judges that are told of in words; the table has all."""


@require_GET
@moderators_only
def people(request: HttpRequest) -> HttpResponse:
    """Show people, the newest first; an admin finds an account by its name, too."""
    text, found = _asked(request)
    if found is not None:
        return redirect("moderate:person", name=pseudonym(found))
    shown = members.page(only=request.GET.get("only", ""), before=request.GET.get("before", ""))
    context = {
        "page": shown,
        "text": text,
        "only": request.GET.get("only", ""),
        "kinds": members.ONLY.items(),
        "mistaken": _mistaken(),
    }
    return render(request, "moderate/people.html", context)


def _asked(request: HttpRequest) -> tuple[str, Person | None]:
    """Return whom the reader looks for, and whom they found."""
    text = request.GET.get("who", "").strip()
    found = person_of(text)
    if found is None and text and request.user.is_superuser:
        found = Person.objects.filter(name=text).first()
    return text, found


@require_GET
@moderators_only
def agreement(request: HttpRequest) -> HttpResponse:
    """Show how far judges agree pair by pair, and which pairs stand out."""
    text, found = _asked(request)
    context = {
        "matrix": matrix.matrix(found),
        "text": text,
        "who": "" if found is None else pseudonym(found),
        "least": matrix.LEAST,
        "most": matrix.MOST,
        "shown": SHOWN,
    }
    return render(request, "moderate/agreement.html", context)


@require_GET
@moderators_only
def agreement_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Send what that page shows as CSV."""
    response = StreamingHttpResponse(
        matrix.lines(matrix.matrix(_asked(request)[1])), content_type="text/csv; charset=utf-8"
    )
    response.headers["Content-Disposition"] = 'attachment; filename="agreement.csv"'
    return response


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

    def act() -> dict[str, list[int]]:
        people = [other]
        if kind.endswith(TOGETHER):
            people += members.together(other)
        said, reason = kind.removesuffix(TOGETHER), request.POST.get("reason", "")
        made = [members.appoint(request.user, one, said, reason) for one in people]
        return {"appointments": [one.pk for one in made]}

    try:
        if kind == GO_ON:
            return _gone_on(request, other)
        result, _new = once(
            request.user, request.POST.get("key", ""), f"{request.path} {kind}", act
        )
        rows = Appointment.objects.select_related("person", "actor")
        for made in rows.filter(pk__in=result["appointments"]).order_by("pk"):
            members.carry_out(made)
    except InputError as error:
        return _person(request, other, error, request.POST.get("reason", ""), kind)
    return redirect("moderate:person", name=name)


def _gone_on(request: HttpRequest, other: Person) -> HttpResponse:
    """Go on with what a moderator decided about many votes; any other one may, too."""
    waiting = members.unfinished(other)
    if waiting is not None and members.may_appoint(request.user, other):
        members.carry_out(waiting[0])
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
    one = members.member(other)
    held = one.judged.held
    suspects = suspect(held) if held is not None else Problem.objects.none()
    context = {
        "one": one,
        "other": other,
        "others": [pseudonym(who) for who in members.together(other)],
        "together": [(k, _label_together(k)) for k in ("resume", "discard")],
        "suspects": suspects.order_by("-pk")[:MOST],
        "suspect_count": suspects.count(),
        "mistaken": _mistaken() if held is not None and held.cause == GOLD else "",
        "named": other.name if request.user.is_superuser and not other.anonymous else "",
        "erasable": request.user.is_superuser and not other.erased,
        "own": other.pk == request.user.pk,
        "unfinished": members.unfinished(other)
        if members.may_appoint(request.user, other)
        else None,
        "possible": [(k.value, _label(k)) for k in members.possible(request.user, other)],
        "appointments": other.appointments.select_related("actor").order_by("-pk"),
        "problems": f"{reverse('moderate:queue')}?state=&by={pseudonym(other)}",
        "error": error,
        "reason": reason,
        "kind": kind,
        "key": new_key(),
    }
    return render(request, "moderate/person.html", context, status=422 if error else 200)


def _mistaken() -> str:
    """Return how seldom the bound on gold questions holds a careful judge, in words."""
    if not settings.RULES.hold_gold_percent:
        return ""
    return _(
        "A judge who gets %(careful)s of gold right is held for gold by mistake in %(mistaken)s "
        "of looks."
    ) % {
        "careful": percent(CAREFUL, 0),
        "mistaken": percent(mistaken(), 2),
    }


def _label_together(kind: str) -> str:
    """Return what the button of a change of all who are held together says."""
    if kind == "resume":
        return _("Let the votes of all of them count")
    return _("Discard the waiting votes of all of them")


def _label(kind: Appointment.Kind) -> str:
    """Return what the button of a change says."""
    return {
        "judge": _("Make a judge"),
        "no-judge": _("Take the role of a judge"),
        "moderator": _("Make a moderator"),
        "no-moderator": _("Take the role of a moderator"),
        "exclude": _("Take their votes out of the count"),
        "include": _("Count their votes again"),
        "pause": _("Hold as a judge"),
        "resume": _("Let their votes count"),
        "discard": _("Discard the votes that wait"),
    }[kind.value]
