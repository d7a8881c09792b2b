"""The pages on which people judge, and the public page about the agreement of judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge import trust, turns, votes
from winosmith.web.judge.models import Contest, Judge, Skip, Slot
from winosmith.web.pages import beside, is_number, percent
from winosmith.web.people.addresses import address
from winosmith.web.people.gates import agreed_to_judge, form_once, judges_only, rate_limit
from winosmith.web.people.models import Person

Done = tuple[dict[str, Any], Slot | None]
"""The result of a form, for a repeated submission, and the slot that the judge holds now."""


@require_safe
@judges_only
@agreed_to_judge
def turn(request: HttpRequest) -> HttpResponse:
    """Show the judge's problem; otherwise the way to the next one, or why there is none."""
    person: Person = request.user
    return _turn(request, person, turns.current_slot(person))


def _turn(request: HttpRequest, person: Person, slot: Slot | None) -> HttpResponse:
    if slot is not None:
        return _show(request, slot)
    if person.hired:
        return _go(request, "market:work")
    judge = Judge.objects.filter(person=person).first()
    found = turns.judging_status(person, judge)
    page = {
        **_around(person),
        **found,
        "held": trust.held_judge(person),
        "training": trust.training(judge) if found["left"] else None,
        "local_first": settings.RULES.local_first,
        "minutes": settings.RULES.lease_minutes,
        "gold_every": settings.RULES.gold_every,
    }
    return render(request, "judge/start.html", page)


def _acting(act: Callable[[HttpRequest, Person], Done]) -> Callable[[HttpRequest], HttpResponse]:
    """Make a view that carries out a form once and shows errors with the form.

    With scripts, a page sends its forms by htmx and gets the next part of the page at once; without
    them, a redirect leads there.
    """

    @require_POST
    @judges_only
    @agreed_to_judge
    @wraps(act)
    def view(request: HttpRequest) -> HttpResponse:
        person, held = request.user, []

        def acted() -> dict[str, Any]:
            result, slot = act(request, person)
            held.append(slot)
            return result

        try:
            result = form_once(request, person, acted, _slot_ref(request))
        except InputError as error:
            slot = None if isinstance(error, turns.ProblemLostError) else turns.current_slot(person)
            if slot is None or slot.ref != _slot_ref(request):
                page = {"reason": str(error), "comment": request.POST.get("comment", "")}
                return render(request, "judge/gone.html", page, status=409)
            return _show(request, slot, error=str(error), typed=request.POST, status=422)
        if "to" in result or not request.htmx:
            return _go(request, result.get("to", "judge:turn"))
        shown = _turn(request, person, held[0] if held else turns.current_slot(person))
        shown.headers.setdefault("HX-Replace-Url", reverse("judge:turn"))
        return shown

    return view


@_acting
def take(_request: HttpRequest, person: Person) -> Done:
    """Take the next problem."""
    return {}, turns.next_problem(person)


@_acting
def local(request: HttpRequest, person: Person) -> Done:
    """Keep the answer from the local context."""
    choice = _number(request.POST.get("choice"))
    return {}, turns.answer_local(person, _slot_ref(request), -1 if choice is None else choice)


@_acting
def whole(request: HttpRequest, person: Person) -> Done:
    """Keep the answer to the whole problem, and take the next one."""
    rate_limit(person, "judge", settings.RULES.answers_per_hour)
    slot = turns.answer(
        person,
        _slot_ref(request),
        _number(request.POST.get("choice")),
        ambiguous="ambiguous" in request.POST,
        associative="associative" in request.POST,
        comment=request.POST.get("comment", ""),
        address=address(request),
    )
    if slot.gold:  # which is talked about before the next problem comes
        return {"to": reverse("judge:checked", args=[slot.ref])}, None
    return {}, turns.next_problem(person, person.judging)  # which `answer` has locked


@_acting
def pass_on(request: HttpRequest, person: Person) -> Done:
    """Skip the problem, and take the next one."""
    rate_limit(person, "judge", settings.RULES.answers_per_hour)
    reason, comment = request.POST.get("reason", ""), request.POST.get("comment", "")
    turns.skip(person, _slot_ref(request), reason, comment)
    return {}, turns.next_problem(person)


@_acting
def take_back(request: HttpRequest, person: Person) -> Done:
    """Take the last answer back; the problem is shown again."""
    return {}, turns.undo(person, _slot_ref(request))


@require_safe
@judges_only
@agreed_to_judge
def checked(request: HttpRequest, ref: str) -> HttpResponse:
    """Show the result of a gold question at once, its explanation, and the form to contest it."""
    slot = _gold_answered(request, ref)
    return _show_checked(request, slot)


@require_POST
@judges_only
@agreed_to_judge
def contest(request: HttpRequest, ref: str) -> HttpResponse:
    """Store a judge's objection to the known answer."""
    slot = _gold_answered(request, ref)
    person, text = request.user, request.POST.get("text", "")
    try:
        form_once(request, person, lambda: trust.contest(person, ref, text))
    except InputError as error:
        return _show_checked(request, slot, text=text, error=str(error), status=422)
    return redirect("judge:checked", ref=ref)


def _go(request: HttpRequest, to: str) -> HttpResponse:
    """Lead to another page, with or without htmx."""
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": resolve_url(to)})
    return redirect(to)


def _show(
    request: HttpRequest, slot: Slot, *, error: str = "", typed: Any = None, status: int = 200
) -> HttpResponse:
    judge = getattr(request.user, "judging", None)  # known already after an answer
    page = {
        **_around(request.user),
        "held": judge is not None and judge.held is not None,
        **turns.slot_context(slot, typed or {}),
        "error": error,
        "reasons": Skip.Reason.choices,
        "longest": turns.LONGEST,
        "typed": typed,
    }
    return render(request, "judge/turn.html", page, status=status)


def _around(person: Person) -> dict[str, Any]:
    """Return the context of each page: how many problems were judged, and what can be undone."""
    judged, last = turns.count_judged(person)
    return {
        "judged": judged,
        "undo": last,
        "undo_seconds": int(turns.UNDO.total_seconds()),
    }


def _gold_answered(request: HttpRequest, ref: str) -> Slot:
    slot = trust.answered_gold(request.user, ref)
    if slot is None:
        raise Http404
    return slot


def _show_checked(
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
        "paused": trust.is_stopped(judge),
        "held": trust.held_judge(slot.holder),
        "training": trust.training(judge),
        "training_over": _training_over(judge, slot),
        "text": text,
        "error": error,
    }
    return render(request, "judge/checked.html", page, status=status)


def _training_over(judge: Judge | None, slot: Slot) -> str:
    """Return how the training ended with this answer: "passed", "again", or "" if it did not."""
    if judge is None or judge.since is None or slot.answered_at is None:
        return ""
    later = Slot.objects.filter(holder=slot.holder, answered_at__gt=slot.answered_at)
    if slot.answered_at > judge.since or later.exists():
        return ""
    if judge.qualified == judge.since:
        return "passed"
    return "again" if trust.training(judge) is not None else ""


def _slot_ref(request: HttpRequest) -> str:
    return request.POST.get("problem", "")


def _number(text: str | None) -> int | None:
    """Return an option's index from a form; None if none was chosen.

    Raises:
        InputError: it is not an index.
    """
    if not text:
        return None
    if not is_number(text, 2):
        raise InputError(_("Choose one of the options."))
    return int(text)


@require_safe
@judges_only
def judged(request: HttpRequest) -> HttpResponse:
    """Show the judge's answers, the newest first."""
    person: Person = request.user
    page = Paginator(turns.answers_of(person), turns.SIZE).get_page(request.GET.get("page"))
    context = {
        "rows": list(map(turns.answer_summary, page.object_list)),
        "judged": turns.count_judged(person)[0],
        "held": trust.held_judge(person),
        "page": beside(page),
    }
    return render(request, "judge/history.html", context)


@require_safe
def agreement(request: HttpRequest) -> HttpResponse:
    """Show the agreement of the site's judges."""
    found = votes.agreement()
    page = {"figures": found, "pairs": _percent(found.pairs)}
    if found.alpha is not None:
        page["undefined"] = votes.why_undefined(found.alpha.reason)
    if found.problems:
        page["valid"] = _percent(found.valid / found.problems)
        page["unanimous"] = _percent(found.unanimous / found.problems)
    if found.gold[1]:
        page["gold"] = _percent(found.gold[0] / found.gold[1])
    return render(request, "judge/agreement.html", page)


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)
