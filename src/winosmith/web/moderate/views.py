"""Pages for moderators: the queue, a problem, actions, gold questions, the log, and people."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web import pages
from winosmith.web.jobs import MODERATOR_KINDS, Job
from winosmith.web.judge import trust
from winosmith.web.judge.models import Contest, mark_unpublished_seen
from winosmith.web.moderate import batches, people as members, queue as lists
from winosmith.web.moderate.decisions import ACTIONS, MAX_REASON, UNDO, ConflictError
from winosmith.web.moderate.models import Appointment, Batch
from winosmith.web.people.gates import moderators_only, process_form
from winosmith.web.people.models import Person, find_person, get_pseudonym
from winosmith.web.problems.models import Event, Problem, State


@require_safe
@moderators_only
def show_queue(request: HttpRequest) -> HttpResponse:
    asked = request.GET
    is_filtered = "state" in asked or "only" in asked or asked.get("by") or asked.get("family")
    where = lists.QueueFilters.read(asked.urlencode() if is_filtered else lists.TABS[0][0])
    shown, states = lists.get_page(where, asked.get("after", "")), where.get_states()
    mark_unpublished_seen(request.user, shown.problems)
    context = {
        "where": where,
        "query": where.make_query(),
        "here": request.get_full_path(),
        "page": shown,
        "rows": lists.list_problem_rows(request.user, shown.problems),
        "actions": [action for action in ACTIONS.values() if action.states & states],
        "tabs": [(tab, name, lists.QueueFilters.read(tab) == where) for tab, name in lists.TABS],
        "waiting": lists.count_pending(),
        "untrained": bool(settings.RULES.training_questions) and not trust.has_enough_gold(),
        "states": State.choices,
        "only": lists.ONLY_CHOICES.items(),
        "kinds": lists.KINDS.items(),
        "ages": lists.AGES.items(),
        "done": _get_finished_batch(request),
    }
    return render(request, "moderate/queue.html", context)


@require_safe
@moderators_only
def show_problem(request: HttpRequest, ref: str) -> HttpResponse:
    found = get_object_or_404(Problem.objects.select_related("twin__contributor"), ref=ref)
    context = lists.make_problem_context(request.user, found)
    halves = [row["problem"] for row in context["halves"]]
    mark_unpublished_seen(request.user, [*halves, *(context["family"] or {}).get("path", ())])
    context |= {"here": request.get_full_path(), "done": _get_finished_batch(request)}
    return render(request, "moderate/problem.html", context)


@require_safe
@moderators_only
def ask_reason(request: HttpRequest) -> HttpResponse:
    return _render_confirmation(request, batches.ActionRequest.read(request.GET))


@require_POST
@moderators_only
def apply_action(request: HttpRequest) -> HttpResponse:
    """Apply a confirmed action once; if the problem has changed, show its current state."""
    asked = batches.ActionRequest.read(request.POST)
    person = request.user
    try:
        result = process_form(request, person, lambda: {"mark": asked.apply(person).mark})
    except ConflictError as conflict:
        (row,) = lists.list_problem_rows(person, [conflict.problem])
        context = {
            "asked": asked,
            "error": conflict,
            "row": row,
            "reasons": asked.action.list_reasons(has_appeal=bool(row["appeal"])),
            "since": [lists.make_history_entry(event) for event in conflict.since],
        }
        return render(request, "moderate/conflict.html", context, status=409)
    except InputError as error:
        return _render_confirmation(request, asked, error)
    return redirect(_get_next_url(asked.return_path, result["mark"]))


@require_POST
@moderators_only
def undo_decisions(request: HttpRequest) -> HttpResponse:
    """Undo one decision or a whole batch; a repeated submission has no further effect."""
    mark, event = request.POST.get("batch", ""), request.POST.get("event", "")
    reason = request.POST.get("reason", "").strip() or _("It was done by mistake.")
    back = batches.get_return_path(request.POST.get("back", ""))

    def undo_selected() -> dict[str, Any]:
        if mark:
            whole = get_object_or_404(Batch, mark=mark)
            return {"mark": batches.undo_batch(request.user, whole, reason).mark}
        if not pages.is_number(event):
            raise Http404
        one = get_object_or_404(Event.objects.select_related("problem"), pk=int(event))
        return {"mark": batches.undo_decision(request.user, one, reason).mark}

    result = process_form(request, request.user, undo_selected)
    return redirect(_get_next_url(back, result["mark"]))


@require_safe
@moderators_only
def show_batch(request: HttpRequest, mark: str) -> HttpResponse:
    made = get_object_or_404(Batch.objects.select_related("actor", "undoes", "job"), mark=mark)
    events = Event.objects.filter(batch=mark).select_related("problem").order_by("pk")
    context = {
        "batch": made,
        "what": lists.get_kind_label(made.action),
        "events": events[:50],
        "undone_by": Batch.objects.filter(undoes=made).first(),
        "can_undo": not made.is_busy and made.done and made.action != UNDO,
        "back": reverse("moderate:batch", args=[mark]),
    }
    return render(request, "moderate/batch.html", context)


@moderators_only
def handle_job(request: HttpRequest, mark: str) -> HttpResponse:
    """Return a job's progress for a waiting page; for a POST request, stop or retry the job."""
    found = get_object_or_404(Job.objects.filter(kind__in=MODERATOR_KINDS), mark=mark)
    if request.method != "POST":
        part = "moderate/parts/progress.html"
        return pages.render_waiting_page(request, part, {"job": found}, found.is_busy)
    act = found.retry if request.POST.get("do") == "retry" else found.stop
    process_form(request, request.user, lambda: act(request.user))
    if judge := found.asked.get("name"):
        return redirect("moderate:person", judge)
    return redirect("moderate:batch", found.batch.mark)


def _render_confirmation(
    request: HttpRequest, asked: batches.ActionRequest, error: InputError | None = None
) -> HttpResponse:
    at = batches.get_newest_event_and_problem()
    rows = lists.list_problem_rows(request.user, asked.get_selected_problems())
    appealed = all(row["appeal"] for row in rows) if rows else asked.filters.only == "appeal"
    context = {
        "asked": asked,
        "error": error,
        "at": at,
        "count": asked.count_problems(at),
        "rows": rows,
        "reasons": asked.action.list_reasons(has_appeal=appealed),
    }
    return render(request, "moderate/ask.html", context, status=422 if error else 200)


def _get_next_url(back: str, mark: str) -> str:
    """Return the batch's URL if it is running or has skipped problems, otherwise the list's URL."""
    made = Batch.objects.select_related("job").get(mark=mark)
    if made.is_busy or made.left_count:
        return reverse("moderate:batch", args=[made.mark])
    return f"{back}{'&' if '?' in back else '?'}done={made.mark}"


def _get_finished_batch(request: HttpRequest) -> dict[str, Any] | None:
    made = Batch.objects.filter(mark=request.GET.get("done", ""), actor=request.user).first()
    if made is None:
        return None
    return {
        "batch": made,
        "what": lists.get_kind_label(made.action),
        "undo": made.action != UNDO and not Batch.objects.filter(undoes=made).exists(),
    }


MAX_CONTESTS = 50
"""Maximum number of contests on the page, which shows the oldest first."""


@require_safe
@moderators_only
def show_contested_questions(request: HttpRequest) -> HttpResponse:
    return _render_contests(request)


@require_POST
@moderators_only
def settle_contest(request: HttpRequest, number: int) -> HttpResponse:
    one = get_object_or_404(Contest, pk=number)
    upheld, words = request.POST.get("upheld") == "1", request.POST.get("answer", "")
    if not 1 <= len(words.strip()) <= MAX_REASON:
        wrong = InputError(_("Answer the judge in 1 to %d characters.") % MAX_REASON)
        return _render_contests(request, wrong, one.pk, words, status=422)
    settle = partial(trust.settle_contest, one, request.user, upheld=upheld, answer=words)
    try:
        process_form(request, request.user, settle)
    except InputError as error:
        return _render_contests(request, error, one.pk, words, status=409)
    return redirect("moderate:contests")


def _render_contests(
    request: HttpRequest,
    error: InputError | None = None,
    number: int = 0,
    words: str = "",
    *,
    status: int = 200,
) -> HttpResponse:
    query = Contest.objects.select_related(
        "slot__problem__twin__contributor", "slot__problem__as_gold"
    )
    waiting = [
        {
            "contest": one,
            "row": lists.list_problem_rows(request.user, [one.slot.problem])[0],
            "chose": "" if one.slot.choice is None else one.slot.problem.options[one.slot.choice],
            "own": one.slot.holder_id == request.user.pk,
        }
        for one in query.filter(upheld=None).order_by("at")[:MAX_CONTESTS]
    ]
    mark_unpublished_seen(request.user, [one["contest"].slot.problem for one in waiting])
    context = {
        "waiting": waiting,
        "settled": query.exclude(upheld=None).order_by("-pk")[:20],
        "error": error,
        "number": number,
        "words": words,
    }
    return render(request, "moderate/contests.html", context, status=status)


PAGE_SIZE = 50

FILTER_KINDS = ("submit", "import", "verdict", "recount", "appeal", "revise", *ACTIONS, UNDO)
"""Kinds of events that the filter offers; moderators can enter other kinds in the URL."""


@require_safe
@moderators_only
def show_log(request: HttpRequest) -> HttpResponse:
    asked = lists.read_log_filters(request.GET)
    before = request.GET.get("before", "")
    events, older = pages.get_newest_rows(lists.filter_log(asked), before, PAGE_SIZE)
    parameters = request.GET.copy()
    parameters.pop("before", None)
    query = parameters.urlencode()
    appointments = Appointment.objects.select_related("person", "actor").order_by("-pk")
    context = {
        "asked": asked,
        "kinds": [(kind, lists.get_kind_label(kind)) for kind in FILTER_KINDS],
        "entries": [lists.make_history_entry(event) for event in events],
        "older": f"before={older}&{query}" if older else "",
        "newest": query if before else None,
        "appointments": appointments[:20],
    }
    return render(request, "moderate/log.html", context)


GROUP_SUFFIX = "-together"
"""Suffix of actions on all accounts that share an address and are on hold."""

MAX_PROBLEMS = 50
"""Maximum number of problems on a person's page."""

CHANGE_LABELS = {
    "judge": gettext_lazy("Make a judge"),
    "no-judge": gettext_lazy("Remove the judge role"),
    "moderator": gettext_lazy("Make a moderator"),
    "no-moderator": gettext_lazy("Remove the moderator role"),
    "exclude": gettext_lazy("Exclude all of their votes"),
    "include": gettext_lazy("Count their votes again"),
    "pause": gettext_lazy("Put their votes on hold and stop their judging"),
    "resume": gettext_lazy("Approve their votes"),
    "discard": gettext_lazy("Discard their votes on hold and stop their judging"),
}


@require_safe
@moderators_only
def list_people(request: HttpRequest) -> HttpResponse:
    """Show people, newest first; admins can also find an account by its name."""
    text, found = _find_person(request)
    if found is not None:
        return redirect("moderate:person", name=get_pseudonym(found))
    only = request.GET.get("only", "")
    shown, older = members.get_member_page(only=only, before=request.GET.get("before", ""))
    context = {
        "members": shown,
        "older": older,
        "text": text,
        "only": only,
        "kinds": [(name, label) for name, (label, _condition) in members.MEMBER_FILTERS.items()],
    }
    return render(request, "moderate/people.html", context)


def _find_person(request: HttpRequest) -> tuple[str, Person | None]:
    text = request.GET.get("who", "").strip()
    found = find_person(text)
    if found is None and text and request.user.is_superuser:
        found = Person.objects.filter(name=text).first()
    return text, found


@require_safe
@moderators_only
def show_agreement(request: HttpRequest) -> HttpResponse:
    text, found = _find_person(request)
    context = {
        "pairs": members.list_pairs(found),
        "text": text,
        "who": "" if found is None else get_pseudonym(found),
        "least": members.MIN_SHARED,
        "most": members.MAX_JUDGES,
    }
    return render(request, "moderate/agreement.html", context)


@require_safe
@moderators_only
def show_person(request: HttpRequest, name: str) -> HttpResponse:
    return _render_person(request, _get_person(name))


@require_POST
@moderators_only
def change_person(request: HttpRequest, name: str) -> HttpResponse:
    other, kind = _get_person(name), request.POST.get("kind", "")
    change = kind.removesuffix(GROUP_SUFFIX)

    def change_all() -> None:
        others = members.get_people_held_as_group(other) if change != kind else []
        possible = [
            one for one in others if change in members.get_possible_changes(request.user, one)
        ]
        for one in (other, *possible):
            members.change_person(request.user, one, change, request.POST.get("reason", ""))

    try:
        process_form(request, request.user, change_all, kind)
    except InputError as error:
        return _render_person(request, other, error, request.POST.get("reason", ""))
    return redirect("moderate:person", name=name)


def _get_person(name: str) -> Person:
    found = find_person(name)
    if found is None:
        raise Http404
    return found


def _render_person(
    request: HttpRequest, other: Person, error: InputError | None = None, reason: str = ""
) -> HttpResponse:
    one = members.list_members([other])[0]
    held = one["judged"].held
    suspects = trust.get_suspect_problems(held) if held is not None else Problem.objects.none()
    mistaken = ""
    if held is not None and held.cause == trust.GOLD and settings.RULES.hold_gold_percent:
        mistaken = _(
            "A careful judge, who answers %(careful)s of the gold questions correctly, "
            "is put on hold by mistake in %(mistaken)s of checks."
        ) % {
            "careful": pages.to_percent(trust.CAREFUL_ACCURACY, 0),
            "mistaken": pages.to_percent(trust.compute_false_hold_rate(), 2),
        }
    possible = members.get_possible_changes(request.user, other)
    context = {
        "one": one,
        "other": other,
        "others": [get_pseudonym(who) for who in members.get_people_held_as_group(other)],
        "together": [
            ("resume", _("Approve the votes of all of them")),
            ("discard", _("Discard the votes of all of them")),
        ],
        "suspects": suspects.order_by("-pk")[:MAX_PROBLEMS],
        "suspect_count": suspects.count(),
        "mistaken": mistaken,
        "named": other.name if request.user.is_superuser and not other.anonymous else "",
        "erasable": request.user.is_superuser and not other.erased,
        "own": other.pk == request.user.pk,
        "unfinished": members.get_unfinished_decisions(other),
        "possible": [(change.value, CHANGE_LABELS[change]) for change in possible],
        "appointments": other.appointments.select_related("actor").order_by("-pk"),
        "problems": f"{reverse('moderate:queue')}?state=&by={get_pseudonym(other)}",
        "error": error,
        "reason": reason,
    }
    return render(request, "moderate/person.html", context, status=422 if error else 200)
