"""Pages for judging, and the public page about the judges' agreement."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge import trust, turns, votes
from winosmith.web.judge.models import Contest, Judge, Skip, Slot
from winosmith.web.pages import is_number, list_adjacent_pages
from winosmith.web.people import gates
from winosmith.web.people.addresses import get_client_address
from winosmith.web.people.models import Person

FormResult = tuple[dict[str, Any], Slot | None]
"""The result of a form, which is stored for repeated submissions, and the judge's current slot."""


@require_safe
@gates.judges_only
@gates.judging_consent_required
def show_turn(request: HttpRequest) -> HttpResponse:
    person: Person = request.user
    return _render_turn(request, person, turns.get_current_slot(person))


def _render_turn(request: HttpRequest, person: Person, slot: Slot | None) -> HttpResponse:
    if slot is not None:
        return _render_problem(request, slot)
    if person.hired:
        return _redirect(request, "market:work")
    judge = Judge.objects.filter(person=person).first()
    found = turns.make_idle_judge_context(person, judge)
    page = {
        **_make_common_context(person),
        **found,
        "held": trust.get_judge_on_hold(person),
        "training": trust.get_training_progress(judge) if found["left"] else None,
    }
    return render(request, "judge/start.html", page)


def _make_form_view(
    action: Callable[[HttpRequest, Person], FormResult],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a view that processes a form once and shows errors with the form.

    The view sends htmx the next part of the page. Without JavaScript, it redirects to the page.
    """

    @require_POST
    @gates.judges_only
    @gates.judging_consent_required
    @wraps(action)
    def view(request: HttpRequest) -> HttpResponse:
        person, slots = request.user, []

        def process() -> dict[str, Any]:
            result, slot = action(request, person)
            slots.append(slot)
            return result

        try:
            result = gates.process_form(request, person, process, _read_slot_ref(request))
        except InputError as error:
            is_lost = isinstance(error, turns.ProblemLostError)
            slot = None if is_lost else turns.get_current_slot(person)
            if slot is None or slot.ref != _read_slot_ref(request):
                page = {"reason": str(error), "comment": request.POST.get("comment", "")}
                return render(request, "judge/gone.html", page, status=409)
            return _render_problem(request, slot, error=str(error))
        if "to" in result or not request.htmx:
            return _redirect(request, result.get("to", "judge:turn"))
        shown = _render_turn(request, person, slots[0] if slots else turns.get_current_slot(person))
        shown.headers.setdefault("HX-Replace-Url", reverse("judge:turn"))
        return shown

    return view


@_make_form_view
def take_next(_request: HttpRequest, person: Person) -> FormResult:
    return {}, turns.lease_next_problem(person)


@_make_form_view
def submit_local(request: HttpRequest, person: Person) -> FormResult:
    choice = _parse_choice(request.POST.get("choice"))
    return {}, turns.store_local_answer(person, _read_slot_ref(request), choice)


@_make_form_view
def submit_answer(request: HttpRequest, person: Person) -> FormResult:
    gates.rate_limit(person, "judge", settings.RULES.answers_per_hour)
    slot = turns.store_answer(
        person,
        _read_slot_ref(request),
        _parse_choice(request.POST.get("choice")),
        ambiguous="ambiguous" in request.POST,
        associative="associative" in request.POST,
        comment=request.POST.get("comment", ""),
        address=get_client_address(request),
    )
    if slot.gold:  # the result is shown before the next problem
        return {"to": reverse("judge:checked", args=[slot.ref])}, None
    return {}, turns.lease_next_problem(person, person.judging)  # `store_answer` has locked the row


@_make_form_view
def skip_problem(request: HttpRequest, person: Person) -> FormResult:
    gates.rate_limit(person, "judge", settings.RULES.answers_per_hour)
    reason, comment = request.POST.get("reason", ""), request.POST.get("comment", "")
    turns.skip_problem(person, _read_slot_ref(request), reason, comment)
    return {}, turns.lease_next_problem(person)


@_make_form_view
def undo_answer(request: HttpRequest, person: Person) -> FormResult:
    return {}, turns.undo_answer(person, _read_slot_ref(request))


@require_safe
@gates.judges_only
@gates.judging_consent_required
def show_gold_result(request: HttpRequest, ref: str) -> HttpResponse:
    slot = get_object_or_404(trust.get_answered_gold(request.user), ref=ref)
    return _render_gold_result(request, slot)


@require_POST
@gates.judges_only
@gates.judging_consent_required
def contest_gold_answer(request: HttpRequest, ref: str) -> HttpResponse:
    person, text = request.user, request.POST.get("text", "")
    slot = get_object_or_404(trust.get_answered_gold(person), ref=ref)
    try:
        gates.process_form(request, person, lambda: trust.contest_gold(person, ref, text))
    except InputError as error:
        return _render_gold_result(request, slot, error=str(error))
    return redirect("judge:checked", ref=ref)


def _redirect(request: HttpRequest, target: str) -> HttpResponse:
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": resolve_url(target)})
    return redirect(target)


def _render_problem(request: HttpRequest, slot: Slot, *, error: str = "") -> HttpResponse:
    judge = getattr(request.user, "judging", None)  # cached after an answer
    page = {
        **_make_common_context(request.user),
        "held": judge is not None and judge.held is not None,
        "training": trust.get_training_progress(judge) if slot.gold else None,
        **turns.make_slot_context(slot, request.POST if error else {}),
        "error": error,
        "reasons": Skip.Reason.choices,
        "longest": turns.MAX_COMMENT_LENGTH,
    }
    return render(request, "judge/turn.html", page, status=422 if error else 200)


def _make_common_context(person: Person) -> dict[str, Any]:
    judged, last = turns.count_answers_and_find_undoable(person)
    return {
        "judged": judged,
        "undo": last,
        "undo_seconds": int(turns.UNDO_PERIOD.total_seconds()),
    }


def _render_gold_result(request: HttpRequest, slot: Slot, *, error: str = "") -> HttpResponse:
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
        "held": trust.get_judge_on_hold(slot.holder),
        "training": trust.get_training_progress(judge),
        "training_over": _get_training_outcome(judge, slot),
        "questions_left": turns.get_current_slot(slot.holder) is not None
        or trust.get_unread_questions(slot.holder).exists(),
        "text": request.POST.get("text", ""),
        "error": error,
    }
    return render(request, "judge/checked.html", page, status=422 if error else 200)


def _get_training_outcome(judge: Judge | None, slot: Slot) -> str:
    if judge is None or judge.since is None or slot.answered_at is None:
        return ""
    later = Slot.objects.filter(holder=slot.holder).answers(slot.answered_at)
    if slot.answered_at > judge.since or later.exists():
        return ""
    if judge.qualified == judge.since:
        return "passed"
    return "again" if trust.get_training_progress(judge) is not None else ""


def _read_slot_ref(request: HttpRequest) -> str:
    return request.POST.get("problem", "")


def _parse_choice(text: str | None) -> int | None:
    if not text:
        return None
    if not is_number(text, 2):
        raise InputError(_("Choose one of the options."))
    return int(text)


@require_safe
@gates.judges_only
def show_history(request: HttpRequest) -> HttpResponse:
    person: Person = request.user
    rows = Slot.objects.filter(holder=person, open=False).answers()
    rows = rows.select_related("problem").order_by("-answered_at", "-pk")
    page = Paginator(rows, turns.PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "rows": [(slot, turns.list_shown_options(slot)) for slot in page.object_list],
        "judged": turns.count_answers_and_find_undoable(person)[0],
        "held": trust.get_judge_on_hold(person),
        "page": list_adjacent_pages(page),
    }
    return render(request, "judge/history.html", context)


@require_safe
def show_agreement(request: HttpRequest) -> HttpResponse:
    return render(request, "judge/agreement.html", {"figures": votes.measure_agreement()})
