"""Pages for writing twins, and the pages of a person's own twins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge.submissions import get_own_halves, get_own_twin, withdraw_twin as withdraw
from winosmith.web.moderate import decisions
from winosmith.web.pages import format_clock, is_number, list_adjacent_pages
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.models import Twin
from winosmith.web.write import page as pages, rules
from winosmith.web.write.models import Draft

TOPICS_PER_TWIN = 5
"""Number of topics that a person may draw for each twin that they may write."""


@require_http_methods(["GET", "HEAD", "POST"])
@gates.consent_required
def show_start(request: HttpRequest) -> HttpResponse:
    error = ""
    if request.method == "POST":
        try:
            return redirect(_open_draft(request))
        except InputError as refused:
            error = str(refused)
    person = gates.get_current_writer(request)
    shown = [(one, rules.TwinInput.from_form(one.typed)) for one in rules.list_drafts(person)]
    context = {"drafts": shown, "counts": pages.count_problems(person), "error": error}
    return render(request, "write/start.html", context, status=422 if error else 200)


def _open_draft(request: HttpRequest) -> str:
    person, topic = gates.get_or_create_writer(request), rules.draw_topic()

    def start_draft() -> dict[str, str]:
        gates.rate_limit(request, "topic", TOPICS_PER_TWIN * settings.RULES.writes_per_hour)
        return {"draft": rules.start_draft(person, topic).ref}

    result, new = gates.process_once(person, request.POST.get("key", ""), request.path, start_draft)
    ref = str(result["draft"])
    exists = new or rules.get_draft(person, ref) or rules.find_submitted_twin(person, ref)
    return reverse("write:draft", args=[ref]) if exists else reverse("write:start")


@require_http_methods(["GET", "HEAD", "POST"])
def show_draft(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    found = rules.get_draft(person, ref)
    if found is None or person is None:
        return _redirect_to_twin(request, person, ref)
    if request.method != "POST":
        context = pages.make_draft_context(found, rules.TwinInput.from_form(found.typed), person)
        return render(request, "write/draft.html", context)
    typed, do = rules.TwinInput.from_form(request.POST), request.POST.get("do", "check")
    if do != "submit":
        _rate_limit_typing(request, "save")
    if do == "copy":
        first, _second = typed.sentences
        typed = replace(typed, sentences=(first, first), separated=(False, False))
    try:
        if do == "submit":
            return _submit_draft(request, person, found, typed)
        saved = rules.save_draft(found, typed, _parse_version(request))
        if do in ("topic", "words"):
            rules.redraw_topic(saved, "topic" if do == "topic" else "words")
    except rules.StaleDraftError as stale:
        context = pages.make_draft_context(found, typed, person, stored=stale.draft)
        return render(request, "write/draft.html", context, status=409)
    except RefusedError as refused:
        kept = _save_if_current(request, found, typed)
        context = pages.make_draft_context(kept, typed, person, faults=refused.faults)
        return render(request, "write/draft.html", context, status=422)
    except gates.RateLimitError:
        _save_if_current(request, found, typed)
        raise
    except InputError as refused:
        context = pages.make_draft_context(found, typed, person, error=str(refused))
        return render(request, "write/draft.html", context, status=422)
    place = "topic" if do in ("topic", "words") else "checks"
    return redirect(f"{reverse('write:draft', args=[ref])}#{place}")


@require_POST
def check_draft(request: HttpRequest, ref: str) -> HttpResponse:
    """Render the checklist for the form's input as part of the page; nothing is stored.

    If the twin was submitted in the meantime, the status is 204, and the page does not change.
    """
    person = gates.get_current_writer(request)
    found = rules.get_draft(person, ref)
    if person is None or found is None:
        if rules.find_submitted_twin(person, ref):
            return HttpResponse(status=204)
        raise Http404
    try:
        _rate_limit_typing(request, "check")
    except gates.RateLimitError as many:
        return gates.render_paused_part(request, many)
    context = pages.make_checks_context(found, rules.TwinInput.from_form(request.POST), person)
    return render(request, "write/checks.html", context)


@require_POST
def save_draft(request: HttpRequest, ref: str) -> HttpResponse:
    """Save a browser window's input; return its version, or the newer input of another window."""
    person = gates.get_current_writer(request)
    found = rules.get_draft(person, ref)
    if person is None:
        return JsonResponse({"reason": _("Not saved: you are logged out.")}, status=401)
    if found is None:
        twin = rules.find_submitted_twin(person, ref)
        where = reverse("write:twin", args=[twin]) if twin else reverse("write:start")
        return JsonResponse({"sent": bool(twin), "where": where}, status=410)
    typed = rules.TwinInput.from_form(request.POST)
    try:
        _rate_limit_typing(request, "save")
        saved = rules.save_draft(found, typed, _parse_version(request))
    except rules.StaleDraftError as stale:
        other = rules.TwinInput.from_form(stale.draft.typed)
        context = {"draft": found, "stored": stale.draft, "stored_typed": other, "typed": typed}
        return render(request, "write/conflict.html", context, status=409)
    except gates.RateLimitError as many:
        wait = _("Not saved: too many requests. Saving will be retried in %d minutes.")
        headers = {"Retry-After": str(many.seconds)}
        return JsonResponse({"reason": wait % many.minutes}, status=429, headers=headers)
    except InputError as refused:
        return JsonResponse({"reason": str(refused)}, status=422)
    message = format_html(_("Saved at {}."), format_clock(saved.saved))
    return JsonResponse({"version": saved.version, "said": message})


@require_POST
def discard_draft(request: HttpRequest, ref: str) -> HttpResponse:
    found = rules.get_draft(gates.get_current_writer(request), ref)
    if found is not None:
        rules.discard_draft(found)
        messages.info(request, _("The draft on “%s” has been discarded.") % found.topic)
    return redirect("write:start")


def _submit_draft(
    request: HttpRequest, person: Person, draft: Draft, typed: rules.TwinInput
) -> HttpResponse:
    if get_pending_documents(person):
        rules.save_draft(draft, typed, _parse_version(request))
        return redirect(f"{reverse('people:consent')}?{urlencode({'next': request.path})}")
    rules.check_saveable(draft, typed, _parse_version(request))
    ref = rules.submit_draft(
        person,
        typed,
        draft,
        precheck=lambda: gates.rate_limit(request, "write", settings.RULES.writes_per_hour),
    )
    messages.success(request, _("Thank you: the twin is submitted. This page shows its progress."))
    return redirect("write:twin", ref)


def _redirect_to_twin(request: HttpRequest, person: Person | None, ref: str) -> HttpResponse:
    twin = rules.find_submitted_twin(person, ref)
    if not twin:
        raise Http404
    messages.info(request, _("This twin was already submitted, and was not submitted again."))
    return redirect("write:twin", twin)


def _rate_limit_typing(request: HttpRequest, action: str) -> None:
    gates.rate_limit_typing(request, action, settings.RULES.writes_per_hour)


def _save_if_current(request: HttpRequest, draft: Draft, typed: rules.TwinInput) -> Draft:
    with suppress(InputError):
        return rules.save_draft(draft, typed, _parse_version(request))
    return draft


def _parse_version(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    return int(text) if is_number(text, 9) else -1


@require_safe
def show_twins(request: HttpRequest) -> HttpResponse:
    person = gates.get_current_writer(request)
    page = Paginator(pages.list_own_twins(person), pages.PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    places = pages.make_version_contexts(person, page.object_list)
    context = {
        "twins": [(twin, places.get(twin.pk)) for twin in page.object_list],
        "page": list_adjacent_pages(page),
        "counts": pages.count_problems(person),
    }
    return render(request, "write/mine.html", context)


@require_safe
def show_twin(request: HttpRequest, ref: str) -> HttpResponse:
    person, found = _get_own_twin(request, ref)
    return render(request, "write/twin.html", pages.make_twin_context(person, found))


@require_POST
def withdraw_twin(request: HttpRequest, ref: str) -> HttpResponse:
    def withdraw_and_confirm(person: Person, twin: Twin) -> str:
        withdraw(person, twin, request.POST.get("reason", "").strip()[:500])
        return _("The text is withdrawn: only you and the moderators can still see it.")

    return _apply(request, ref, withdraw_and_confirm)


@require_POST
def revise_twin(request: HttpRequest, ref: str) -> HttpResponse:
    person, found = _get_own_twin(request, ref)
    version = pages.make_version_context(person, found)
    if version is not None:
        return redirect("perturb:revise", version["problem"].ref)
    return redirect("write:draft", rules.open_revision(person, found).ref)


@require_POST
def appeal_decision(request: HttpRequest, ref: str) -> HttpResponse:
    def appeal(person: Person, twin: Twin) -> str:
        wanted = request.POST.get("problem", "")
        half = next((one for one in get_own_halves(person, twin) if one.ref == wanted), None)
        if half is None:
            raise InputError(_("This half is not part of the twin; open the page again."))
        decisions.appeal(person, half, request.POST.get("text", ""))
        return _("A moderator will read your appeal and answer here.")

    return _apply(request, ref, appeal)


def _apply(request: HttpRequest, ref: str, action: Callable[[Person, Twin], str]) -> HttpResponse:
    person, twin = _get_own_twin(request, ref)
    try:
        result = gates.process_form(request, person, lambda: {"said": action(person, twin)})
    except InputError as refused:
        context = pages.make_twin_context(person, twin, str(refused), request.POST)
        return render(request, "write/twin.html", context, status=422)
    messages.success(request, str(result["said"]))
    return redirect("write:twin", ref)


def _get_own_twin(request: HttpRequest, ref: str) -> tuple[Person, Twin]:
    person = gates.get_current_writer(request)
    if person is None:
        raise Http404
    return person, get_own_twin(person, ref)
