"""The pages on which people judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web._prepared import Given, Prepared
from winosmith.web.judge import gold
from winosmith.web.judge.answering import LONGEST, UNDO, Gone, undoable
from winosmith.web.judge.models import Contest, Judge, Skip, Slot
from winosmith.web.judge.nothing import why_nothing
from winosmith.web.judge.queue import next_slot
from winosmith.web.judge.showing import shown
from winosmith.web.judge.slots import answer, answer_local, current, skip, undo
from winosmith.web.judge.taking import go_on, in_a_test
from winosmith.web.people.gates import agreed, judges_only
from winosmith.web.people.limits import spend
from winosmith.web.people.models import Person
from winosmith.web.problems.once import new_key, once

__all__ = ["checked", "contest", "local", "pass_on", "take", "take_back", "turn", "whole"]

_JUDGED = Prepared(
    lambda: (
        Slot.objects.filter(holder=Given("person"), answered_at__isnull=False)
        .values("holder")
        .annotate(n=Count("pk"))
        .values_list("n")
    )
)


@require_GET
@judges_only
@agreed
def turn(request: HttpRequest) -> HttpResponse:
    """Show what the judge holds; else the way to the next problem, or why there is none."""
    person = _person(request)
    slot = current(person)
    if slot is not None:
        return _show(request, slot)
    if person.hired:
        return redirect("market:work")
    judge = Judge.objects.filter(person=person).first()
    paused = judge is not None and judge.paused is not None
    testing = in_a_test(person)
    left = not (paused or testing) and next_slot(person, judge.cursor if judge else 0) is not None
    page = {
        **_around(person),
        "paused": paused,
        "testing": testing,
        "left": left,
        "nothing": None if left or paused or testing else why_nothing(person),
        "local_first": settings.RULES.local_first,
        "minutes": settings.RULES.lease_minutes,
        "gold_every": settings.RULES.gold_every,
    }
    return render(request, "judge/start.html", page)


@require_POST
@judges_only
@agreed
def take(request: HttpRequest) -> HttpResponse:
    """Take the next problem."""
    return _act(request, lambda person: _next(person))


@require_POST
@judges_only
@agreed
def local(request: HttpRequest) -> HttpResponse:
    """Keep the answer from the local context."""

    def act(person: Person) -> dict[str, Any]:
        choice = _number(request.POST.get("choice"))
        answer_local(person, _ref(request), -1 if choice is None else choice)
        return {}

    return _act(request, act)


@require_POST
@judges_only
@agreed
def whole(request: HttpRequest) -> HttpResponse:
    """Keep the answer to the whole problem, and take the next one."""

    def act(person: Person) -> dict[str, Any]:
        spend(person, "judge", settings.RULES.answers_per_hour)
        slot = answer(
            person,
            _ref(request),
            _number(request.POST.get("choice")),
            ambiguous="ambiguous" in request.POST,
            associative="associative" in request.POST,
            comment=request.POST.get("comment", ""),
        )
        if slot.gold:
            return {"to": reverse("judge:checked", args=[slot.problem.ref])}
        return _next(person)

    return _act(request, act)


@require_POST
@judges_only
@agreed
def pass_on(request: HttpRequest) -> HttpResponse:
    """Pass the problem on, and take the next one."""

    def act(person: Person) -> dict[str, Any]:
        spend(person, "judge", settings.RULES.answers_per_hour)
        reason = request.POST.get("reason", "")
        skip(person, _ref(request), reason, request.POST.get("comment", ""))
        return _next(person)

    return _act(request, act)


@require_POST
@judges_only
@agreed
def take_back(request: HttpRequest) -> HttpResponse:
    """Take the last answer back; the problem is shown again."""

    def act(person: Person) -> dict[str, Any]:
        undo(person, _ref(request))
        return {}

    return _act(request, act)


@require_GET
@judges_only
@agreed
def checked(request: HttpRequest, ref: str) -> HttpResponse:
    """Tell at once how a gold question went, why, and that one may contest it."""
    slot = _told(request, ref)
    return _checked(request, slot)


@require_POST
@judges_only
@agreed
def contest(request: HttpRequest, ref: str) -> HttpResponse:
    """Let a judge say that the known answer is wrong."""
    slot = _told(request, ref)
    text = request.POST.get("text", "")

    def act() -> dict[str, Any]:
        gold.contest(_person(request), ref, text)
        return {}

    try:
        once(_person(request), request.POST.get("key", ""), act)
    except InputError as error:
        return _checked(request, slot, text=text, error=str(error), status=422)
    return redirect("judge:checked", ref=ref)


def _act(request: HttpRequest, act: Callable[[Person], dict[str, Any]]) -> HttpResponse:
    """Do what a form asks, once, and go on; what can't be done is said where it was typed."""
    person = _person(request)
    try:
        result, _new = once(person, request.POST.get("key", ""), lambda: act(person))
    except Gone as error:
        page = {"reason": str(error), "comment": request.POST.get("comment", "")}
        return render(request, "judge/gone.html", page, status=409)
    except InputError as error:
        slot = current(person)
        if slot is None or slot.problem.ref != _ref(request):
            page = {"reason": str(error), "comment": request.POST.get("comment", "")}
            return render(request, "judge/gone.html", page, status=409)
        return _show(request, slot, error=str(error), typed=request.POST, status=422)
    return redirect(result.get("to") or "judge:turn")


def _next(person: Person) -> dict[str, Any]:
    """Take the next problem together with the answer to the last one; none for who is paused."""
    go_on(person)
    return {}


def _show(
    request: HttpRequest, slot: Slot, *, error: str = "", typed: Any = None, status: int = 200
) -> HttpResponse:
    page = {
        **_around(_person(request)),
        **shown(slot, typed or {}),
        "error": error,
        "reasons": Skip.Reason.choices,
        "longest": LONGEST,
        "typed": typed,
    }
    return render(request, "judge/turn.html", page, status=status)


def _around(person: Person) -> dict[str, Any]:
    """Return what stands around each page: how many were judged, what can be taken back."""
    judged = _JUDGED.first(person=person.pk)
    return {
        "key": new_key(),
        "judged": judged[0] if judged else 0,
        "undo": undoable(person),
        "undo_key": new_key(),
        "skip_key": new_key(),
        "undo_seconds": int(UNDO.total_seconds()),
    }


def _told(request: HttpRequest, ref: str) -> Slot:
    slot = gold.told(_person(request), ref)
    if slot is None:
        raise Http404
    return slot


def _checked(
    request: HttpRequest, slot: Slot, *, text: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    problem = slot.problem
    judge = Judge.objects.filter(person=slot.holder).first()
    page = {
        "slot": slot,
        "problem": problem,
        "filled": problem.sentence.split("_", 1),
        "answer": problem.options[problem.answer or 0],
        "chosen": None if slot.choice is None else problem.options[slot.choice],
        "contest": Contest.objects.filter(slot=slot).first(),
        "paused": judge is not None and judge.paused is not None,
        "key": new_key(),
        "next_key": new_key(),
        "text": text,
        "error": error,
    }
    return render(request, "judge/checked.html", page, status=status)


def _person(request: HttpRequest) -> Person:
    return cast(Person, request.user)


def _ref(request: HttpRequest) -> str:
    return request.POST.get("problem", "")


def _number(text: str | None) -> int | None:
    """Return an option's index out of a form; None where none was chosen.

    Raises:
        InputError: it is none.
    """
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 3):
        raise InputError(_("Choose one of the options."))
    return int(text)
