"""The pages of the queue: the list, one problem, what a reason is asked for, what was done."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web.judge.trust import enough_gold
from winosmith.web.moderate import batches, rows
from winosmith.web.moderate.actions import ACTIONS, UNDO
from winosmith.web.moderate.asking import Asked, Confirmed, back_to
from winosmith.web.moderate.deciding import Conflict
from winosmith.web.moderate.dossier import dossier
from winosmith.web.moderate.log import what_is_done
from winosmith.web.moderate.models import Batch
from winosmith.web.moderate.queue import AGES, KINDS, ONLY, TABS, Where, page, waiting
from winosmith.web.moderate.votes import note_read
from winosmith.web.people.gates import moderators_only
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.once import new_key, once

__all__ = ["act", "ask", "batch", "go_on", "problem", "queue", "undo"]


@require_GET
@moderators_only
def queue(request: HttpRequest) -> HttpResponse:
    """Show what came in or was decided, filtered, a page at a time."""
    where = Where.read(request.GET.urlencode() if "state" in request.GET or "only" in request.GET
                       or request.GET.get("by") or request.GET.get("family")
                       else TABS[0][0])  # fmt: skip
    shown = page(where, request.GET.get("after", ""))
    note_read(request.user, shown.problems)
    return render(
        request,
        "moderate/queue.html",
        {
            "where": where,
            "query": where.query(),
            "here": request.get_full_path(),
            "page": shown,
            "rows": rows.rows(request.user, shown.problems),
            "actions": [action for action in ACTIONS.values() if action.starts & where.states()],
            "tabs": [(query, label, Where.read(query) == where) for query, label in TABS],
            "waiting": waiting(),
            "untrained": bool(settings.RULES.training_questions) and not enough_gold(),
            "states": State.choices,
            "only": ONLY.items(),
            "kinds": KINDS.items(),
            "ages": AGES.items(),
            "done": _done(request),
        },
    )


@require_GET
@moderators_only
def problem(request: HttpRequest, ref: str) -> HttpResponse:
    """Show everything about a problem that a decision may rest on."""
    found = get_object_or_404(Problem.objects.select_related("twin__contributor"), ref=ref)
    told = dossier(request.user, found)
    note_read(request.user, [found, *(told["family"] or {}).get("path", ())])
    return render(
        request,
        "moderate/problem.html",
        {
            **told,
            "here": request.get_full_path(),
            "key": new_key(),
            "done": _done(request),
        },
    )


@require_GET
@moderators_only
def ask(request: HttpRequest) -> HttpResponse:
    """Ask for the reason, and tell what is about to be done to how many."""
    asked = Asked.read(request.GET)
    if asked.action is None:
        raise Http404
    return _ask(request, asked)


@require_POST
@moderators_only
def act(request: HttpRequest) -> HttpResponse:
    """Do what was confirmed, once; a problem that changed meanwhile is shown as it stands now."""
    asked, confirmed = Asked.read(request.POST), Confirmed.read(request.POST)
    action = asked.action
    if action is None:
        raise Http404
    try:
        result, _new = once(
            request.user,
            request.POST.get("key", ""),
            request.path,
            lambda: {"mark": confirmed.begin(request.user, action, asked).mark},
        )
    except Conflict as conflict:
        return _conflict(request, asked, confirmed, conflict)
    except InputError as error:
        return _ask(request, asked, confirmed, error)
    made = batches.go_on(Batch.objects.get(mark=result["mark"]))
    return redirect(_after(asked.back, made))


@require_POST
@moderators_only
def undo(request: HttpRequest) -> HttpResponse:
    """Take one decision or a whole batch back, once."""
    mark, event = request.POST.get("batch", ""), request.POST.get("event", "")
    reason = request.POST.get("reason", "").strip() or _("It was done by mistake.")
    back = back_to(request.POST.get("back", ""))

    def begin() -> dict[str, Any]:
        if mark:
            whole = get_object_or_404(Batch, mark=mark)
            return {"mark": batches.take_back(request.user, whole, reason).mark}
        if not (event.isascii() and event.isdigit() and len(event) <= 18):
            raise Http404
        one = get_object_or_404(Event.objects.select_related("problem"), pk=int(event))
        return {"mark": batches.undo_one(request.user, one, reason).mark}

    try:
        result, _new = once(request.user, request.POST.get("key", ""), request.path, begin)
    except InputError as error:
        return render(request, "moderate/refused.html", {"error": error, "back": back}, status=409)
    made = batches.go_on(Batch.objects.get(mark=result["mark"]))
    return redirect(_after(back, made))


@require_GET
@moderators_only
def batch(request: HttpRequest, mark: str) -> HttpResponse:
    """Show what was done at once, how far it came, and what was left alone."""
    made = get_object_or_404(Batch.objects.select_related("actor", "undoes"), mark=mark)
    events = Event.objects.filter(batch=mark).select_related("problem").order_by("pk")
    return render(
        request,
        "moderate/batch.html",
        {
            "batch": made,
            "what": what_is_done(made.action),
            "events": events[:50],
            "undone_by": Batch.objects.filter(undoes=made).first(),
            "can_undo": made.finished and made.done and made.action != UNDO,
            "key": new_key(),
            "back": reverse("moderate:batch", args=[mark]),
        },
    )


@require_POST
@moderators_only
def go_on(request: HttpRequest, mark: str) -> HttpResponse:
    """Go on with a batch that has not finished; its moderator or any other may."""
    batches.go_on(get_object_or_404(Batch, mark=mark))
    return redirect("moderate:batch", mark=mark)


def _ask(
    request: HttpRequest,
    asked: Asked,
    confirmed: Confirmed | None = None,
    error: InputError | None = None,
) -> HttpResponse:
    at = batches.stand()
    return render(
        request,
        "moderate/ask.html",
        {
            "asked": asked,
            "confirmed": confirmed,
            "error": error,
            "at": at,
            "count": asked.count(at),
            "rows": rows.rows(request.user, asked.problems()),
            "key": new_key(),
        },
        status=200 if error is None else 422,
    )


def _conflict(
    request: HttpRequest, asked: Asked, confirmed: Confirmed, conflict: Conflict
) -> HttpResponse:
    """Show what somebody else did and what one wanted to do, side by side."""
    problem = conflict.problem
    context = {
        "asked": asked,
        "confirmed": confirmed,
        "error": conflict,
        "row": rows.rows(request.user, [problem])[0],
        "since": [rows.entry(event) for event in conflict.since],
        "key": new_key(),
    }
    return render(request, "moderate/conflict.html", context, status=409)


def _after(back: str, made: Batch) -> str:
    """Return where a moderator goes on: to the list, or to what was left alone."""
    if not made.finished or made.left_count:
        return reverse("moderate:batch", args=[made.mark])
    return f"{back}{'&' if '?' in back else '?'}done={made.mark}"


def _done(request: HttpRequest) -> dict[str, Any] | None:
    """Return what was just done, for the line at the top with its undo."""
    made = Batch.objects.filter(mark=request.GET.get("done", ""), actor=request.user).first()
    if made is None:
        return None
    return {
        "batch": made,
        "what": what_is_done(made.action),
        "undo": made.action != UNDO and not Batch.objects.filter(undoes=made).exists(),
        "key": new_key(),
    }
