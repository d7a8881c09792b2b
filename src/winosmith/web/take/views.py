"""The pages before a test: which there are, and what one agrees to."""

from __future__ import annotations

from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from winosmith.errors import InputError
from winosmith.web.people.gates import accounts_only, agreed
from winosmith.web.people.limits import spend
from winosmith.web.people.models import Person
from winosmith.web.problems.once import new_key, once
from winosmith.web.take.enrolling import LONGEST, enrol, may_take, next_sheet, unfinished
from winosmith.web.take.models import Round, Sitting
from winosmith.web.take.sheets import minutes

__all__ = ["about", "start"]

ENROLMENTS = 60
"""Times that somebody may begin a test within an hour; each shows them a sheet."""


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Show the tests that can be taken, and those that this person took."""
    person = _person(request)
    sittings = Sitting.objects.filter(subject__person=person) if person else Sitting.objects.none()
    page = {
        "rounds": [
            {"round": round_, **_size(round_)}
            for round_ in Round.objects.filter(state=Round.State.OPEN).order_by("-created")
        ],
        "out": unfinished(person) if person else None,
        "taken": sittings.exclude(state=Sitting.State.GIVEN)
        .select_related("subject__round", "sheet")
        .order_by("-pk"),
    }
    return render(request, "take/start.html", page)


def about(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show what a test is and what one agrees to by taking it; begin it."""
    round_ = Round.objects.filter(name=name).first()
    if round_ is None:
        raise Http404
    if request.method == "POST":
        return _begin(request, round_)
    return _about(request, round_)


@accounts_only
@agreed
def _begin(request: HttpRequest, round_: Round) -> HttpResponseBase:
    person = cast(Person, request.user)

    def act() -> dict[str, Any]:
        if not request.POST.get("agree"):
            raise InputError(_("Tick the box if you agree; without it there is no test."))
        spend(person, "enrol", ENROLMENTS)
        prefix = "declared-"
        told = {k[len(prefix) :]: v for k, v in request.POST.items() if k.startswith(prefix)}
        return {"ref": enrol(person, round_, {k: str(v) for k, v in told.items()}).ref}

    try:
        done, _new = once(person, request.POST.get("key", ""), request.path, act)
    except InputError as error:
        return _about(request, round_, error=str(error))
    return redirect("take:sheet", ref=done["ref"])


def _about(request: HttpRequest, round_: Round, *, error: str = "") -> HttpResponse:
    person = _person(request)
    page = {
        "round": round_,
        **_size(round_),
        "person": person,
        "hindrance": _hindrance(person, round_) if person else "",
        "out": unfinished(person) if person else None,
        "declared": [
            {**each, "value": request.POST.get(f"declared-{each['name']}", "")}
            for each in round_.declared
        ],
        "agreed": bool(request.POST.get("agree")),
        "again": person is not None and round_.subjects.filter(person=person).exists(),
        "longest": LONGEST,
        "key": new_key(),
        "error": error,
    }
    return render(request, "take/about.html", page, status=422 if error else 200)


def _hindrance(person: Person, round_: Round) -> str:
    """Return why a person can't begin a round's test now, or ""."""
    out = unfinished(person)
    if out is not None:
        return ""  # the page leads to it
    try:
        next_sheet(person, round_)
    except InputError as error:
        return str(error)
    return ""


def _person(request: HttpRequest) -> Person | None:
    person = request.user if request.user.is_authenticated else None
    return cast(Person, person) if may_take(person) else None


def _size(round_: Round) -> dict[str, int]:
    """Return how many questions the shortest and the longest sheet have, and their minutes."""
    counts = [len(sheet.record["items"]) for sheet in round_.sheets.all()]
    return {
        "fewest": min(counts),
        "most": max(counts),
        "shortest": minutes(min(counts)),
        "longest_minutes": minutes(max(counts)),
    }
